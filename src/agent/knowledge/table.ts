/**
 * Finds the tables of a Markdown text and splits long ones between their rows, so that each piece starts with the header of its table:
 * a row of numbers says nothing without the names of its columns. Reads tables with pipes, grids of `+---+`, and HTML.
 */

/** `header`: the lines to repeat; empty if the text is not a table. `lines`: its rows; one of HTML may have several lines. */
export type Block = { header: string[]; lines: string[] }

const delimiterCell = String.raw`\s*:?-+:?\s*`
const delimiter = new RegExp(
  String.raw`^\s*(?:\|${delimiterCell}(?:\|${delimiterCell})*\|?|${delimiterCell}(?:\|${delimiterCell})+\|?)\s*$`,
)
// In Emacs Org, a cross separates the columns.
const orgDelimiter = /^\s*\|-+(?:\+-+)*\|\s*$/
const gridLine = /^\s*\+(?:[-=:]+\+)+\s*$/
const gridHeaderEnd = /^\s*\+(?:[=:]+\+)+\s*$/
// In characters. What is longer is no row of names.
const maxHtmlHeader = 10_000
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
    const table = pipeTable(lines, at) ?? gridTable(lines, at) ?? htmlTable(lines, at)
    if (!table) {
      text.push(lines[at++]!)
      continue
    }
    end()
    blocks.push(table)
    at += [...table.header, ...table.lines].join('\n').split('\n').length
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

/** As it is written in a Markdown file: each row starts in a line of its own, and a table in a cell belongs to its row. */
function htmlTable(lines: string[], at: number): Block | undefined {
  if (!/^\s*<table[\s>]/i.test(lines[at]!)) return undefined
  // The first one starts with the table.
  const rows: string[][] = [[]]
  let depth = 0
  let isInRow = false
  for (const line of lines.slice(at)) {
    const starts = depth === 1 && /^\s*<tr[\s>]/i.test(line)
    if (starts && isInRow) rows.push([])
    isInRow ||= starts
    rows.at(-1)!.push(line)
    depth += (line.match(/<table[\s>]/gi)?.length ?? 0) - (line.match(/<\/table>/gi)?.length ?? 0)
    if (depth <= 0) break
  }
  const [header, ...rest] = rows
  const size = header!.reduce((sum, line) => sum + line.length, 0)
  // Its lines are text then: each of them could start a table that is looked through to the end.
  if (size > maxHtmlHeader || cellsOf(header!.join('\n')).length === 0) return { header: [], lines: rows.flat() }
  return { header: header!, lines: rest.map((row) => row.join('\n')) }
}

/** The texts of the cells of HTML. */
const cellsOf = (html: string): string[] =>
  [...html.matchAll(/<t[hd](?:\s[^>]*)?>(.*?)(?=<\/?t[hdr](?:\s[^>]*)?>|$)/gis)].map(([, cell]) => cell!.replace(/<[^>]*>/g, ' ').trim())

/**
 * Returns the header with at most this many bytes. A longer one is shortened cell by cell, so that each column keeps the start of its name.
 */
export function fittingHeader(header: string[], maxBytes: number): string {
  const whole = header.join('\n')
  if (Buffer.byteLength(whole) <= maxBytes) return whole
  const isHtml = header[0]!.trimStart().startsWith('<')
  const cells = isHtml ? cellsOf(whole) : pipeCells(header)
  // Three characters for a cell of the rule, four for the spaces and pipes of both lines.
  const perCell = Math.floor((maxBytes - 4) / cells.length) - 7
  if (perCell < 2) return ''
  const names = cells.map((cell) => firstBytes(cell.trim(), perCell))
  return `| ${names.join(' | ')} |\n|${' - |'.repeat(cells.length)}`
}

const pipeCells = (header: string[]): string[] =>
  (header.find((line) => line.includes('|')) ?? '')
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)

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
