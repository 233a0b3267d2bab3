/**
 * Finds the tables of a Markdown text and splits long ones between their rows, so that each piece starts with the header of its table:
 * a row of numbers says nothing without the names of its columns. Reads tables with pipes and grids of `+---+`.
 */

/** `header`: the lines to repeat; empty if the text is not a table. */
export type Block = { header: string[]; lines: string[] }

const delimiterCell = String.raw`\s*:?-+:?\s*`
const delimiter = new RegExp(
  String.raw`^\s*(?:\|${delimiterCell}(?:\|${delimiterCell})*\|?|${delimiterCell}(?:\|${delimiterCell})+\|?)\s*$`,
)
// In Emacs Org, a cross separates the columns.
const orgDelimiter = /^\s*\|-+(?:\+-+)*\|\s*$/
const gridLine = /^\s*\+(?:[-=:]+\+)+\s*$/
const gridHeaderEnd = /^\s*\+(?:[=:]+\+)+\s*$/
const gridRow = /^\s*[|+].*[|+]\s*$/

/** Splits the lines of a paragraph, which has no blank line, into texts and tables, in order. */
export function blocksOf(lines: string[]): Block[] {
  const blocks: Block[] = []
  let text: string[] = []
  const end = (): void => {
    if (text.length > 0) blocks.push({ header: [], lines: text })
    text = []
  }
  for (let at = 0; at < lines.length;) {
    const table = pipeTable(lines, at) ?? gridTable(lines, at)
    if (!table) {
      text.push(lines[at++]!)
      continue
    }
    end()
    blocks.push(table)
    at += table.header.length + table.lines.length
  }
  end()
  return blocks
}

/** Every line below the header belongs to the table, as in GitHub's Markdown: the caller splits at blank lines and headings. */
function pipeTable(lines: string[], at: number): Block | undefined {
  const [names, rule] = [lines[at]!, lines[at + 1]]
  // Most lines of a document have no pipe, and a line of dashes alone underlines a heading.
  if (rule === undefined || !names.includes('|') || !rule.includes('|') || !(delimiter.test(rule) || orgDelimiter.test(rule)))
    return undefined
  return { header: [names, rule], lines: lines.slice(at + 2) }
}

function gridTable(lines: string[], at: number): Block | undefined {
  if (!gridLine.test(lines[at]!)) return undefined
  let end = at + 1
  while (end < lines.length && gridRow.test(lines[end]!)) end++
  const headerEnd = lines.slice(at + 1, end).findIndex((line) => gridHeaderEnd.test(line))
  if (headerEnd === -1) return undefined
  return { header: lines.slice(at, at + headerEnd + 2), lines: lines.slice(at + headerEnd + 2, end) }
}

/**
 * Returns the header with at most this many bytes. A longer one is shortened cell by cell, so that each column keeps the start of its name.
 */
export function fittingHeader(header: string[], maxBytes: number): string {
  const whole = header.join('\n')
  if (Buffer.byteLength(whole) <= maxBytes) return whole
  const cells = (header.find((line) => line.includes('|')) ?? '')
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
  // Three characters for a cell of the rule, four for the spaces and pipes of both lines.
  const perCell = Math.floor((maxBytes - 4) / cells.length) - 7
  if (perCell < 2) return ''
  const names = cells.map((cell) => firstBytes(cell.trim(), perCell))
  return `| ${names.join(' | ')} |\n|${' - |'.repeat(cells.length)}`
}

function firstBytes(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text
  let kept = ''
  let size = 0
  for (const character of text) {
    size += Buffer.byteLength(character)
    if (size > most) break
    kept += character
  }
  return kept.trim()
}
