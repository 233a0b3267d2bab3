/**
 * Splits a document into the chunks that are searched and shown: at headings first, then at paragraphs, rows of a table, sentences and
 * words. Together the chunks contain every character of the document except the white space between them. Each further chunk of a table
 * repeats the table's header.
 */
import { blocksOf as tablesOf, fittingHeader } from './table.ts'

/** `headings`: the path of headings above the chunk, such as `Returns › Deadlines`; empty above the first heading. */
export type Chunk = { headings: string; text: string }

// In UTF-8 bytes, as the budget for passages is. About a paragraph or two: two or three chunks fit a budget of 1,500 tokens in any script.
const maxBytes = 1_200
// A chunk of this size is complete: the next paragraph starts another one, so that the chunks of a long text get similar sizes.
const enoughBytes = 800
// In characters. The path of headings is stored with each chunk, and a longer heading is usually a paragraph marked as one.
const maxHeading = 120
// In bytes. A chunk has more room for the rows of a table than for its header.
const maxHeader = 400
// Where a long text is split, in order of preference: after a line, a sentence, a word.
const breaks = [/\n/g, /[.!?…]\s|[。！？]/g, /\s/g]

type Block = { headings: string; text: string; isHeading: boolean }

export function chunkDocument(document: string): Chunk[] {
  const chunks: Chunk[] = []
  let open: Chunk | undefined
  let onlyHeadings = true
  for (const { headings, text, isHeading } of blocksOf(document)) {
    // A heading starts a new chunk, unless the current one contains only headings.
    const joins: boolean =
      open !== undefined && (isHeading ? onlyHeadings : bytes(open.text) < enoughBytes) && bytes(open.text) + 2 + bytes(text) <= maxBytes
    if (open && !joins) chunks.push(open)
    onlyHeadings = isHeading && (onlyHeadings || !joins)
    open = { headings, text: open && joins ? `${open.text}\n\n${text}` : text }
  }
  return open ? [...chunks, open] : chunks
}

/** Yields the headings and paragraphs of the document in order, each at most `maxBytes` long. */
function* blocksOf(document: string): Generator<Block> {
  const path: string[] = []
  let paragraph: string[] = []
  let fenced = false
  const at = (pieces: string[], isHeading: boolean): Block[] =>
    pieces.map((text) => ({ headings: path.filter(Boolean).join(' › '), text, isHeading }))
  const paragraphs = (lines: string[]): Block[] =>
    at(
      fenced
        ? cut(lines.join('\n').trim())
        : tablesOf(lines).flatMap(({ header, lines: rows }) => (header.length > 0 ? cutTable(header, rows) : cut(rows.join('\n').trim()))),
      false,
    )
  for (const line of document.split(/\r\n|\n|\r/)) {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced
    const level = fenced ? 0 : (/^#{1,6}(?=\s|$)/.exec(line)?.[0].length ?? 0)
    if (level === 0 && line.trim() !== '') {
      paragraph.push(line)
      continue
    }
    yield* paragraphs(paragraph)
    paragraph = []
    if (level === 0) continue
    path[level - 1] = line.slice(level).trim().slice(0, maxHeading)
    path.length = level
    yield* at(cut(line.trim()), true)
  }
  yield* paragraphs(paragraph)
}

/** Splits a table between rows into pieces of at most `maxBytes`, each with the header. A row that is too long is cut like any text. */
function cutTable(header: string[], rows: string[]): string[] {
  const repeated = fittingHeader(header, maxHeader)
  const room = maxBytes - bytes(repeated) - 1
  // The first piece has the whole header, however long it is.
  const whole = header.join('\n')
  const pieces = bytes(whole) > maxHeader ? cut(whole.trim()) : []
  const first = pieces.length === 0 ? whole : repeated
  let open = ''
  const end = (): void => {
    if (open !== '')
      pieces.push(
        [pieces.length === 0 ? first : repeated, open]
          .filter((part) => part !== '')
          .join('\n')
          .trim(),
      )
    open = ''
  }
  for (const row of rows.flatMap((line) => cut(line.trim(), room))) {
    if (open !== '' && bytes(open) + 1 + bytes(row) > room) end()
    open = open === '' ? row : `${open}\n${row}`
  }
  end()
  return pieces.length === 0 ? cut(whole.trim()) : pieces
}

/**
 * Splits a text into non-empty pieces of at most `most` bytes, at a break in the second half of the piece, or else between two characters.
 */
function cut(text: string, most = maxBytes): string[] {
  const pieces: string[] = []
  let rest = text
  while (rest !== '') {
    const fits = rest.slice(0, fittingLength(rest, most))
    const end = fits.length === rest.length ? fits.length : (lastBreak(fits) ?? fits.length)
    pieces.push(rest.slice(0, end).trim())
    rest = rest.slice(end).trim()
  }
  return pieces
}

/** Returns how many UTF-16 code units of the text, in whole characters, fit into `most` bytes. */
function fittingLength(text: string, most: number): number {
  if (text.length <= most && bytes(text) <= most) return text.length
  let length = 0
  let size = 0
  for (const character of text) {
    size += bytes(character)
    if (size > most) break
    length += character.length
  }
  return length
}

function lastBreak(text: string): number | undefined {
  for (const pattern of breaks) {
    const last = [...text.matchAll(pattern)].at(-1)
    const end = last ? last.index + last[0].length : 0
    if (end > text.length / 2) return end
  }
  return undefined
}

const bytes = (text: string): number => Buffer.byteLength(text)
