/**
 * Cuts a document into the pieces that are found and shown: along its headings, then paragraphs, then sentences, then words. Pure.
 * Nothing is lost: the pieces, one after the other, hold every character of the document but white space between them.
 */

/** `headings`: the way to the piece, as `Returns › Deadlines`; empty above the first heading. */
export type Chunk = { headings: string; text: string }

// In UTF-8 bytes, as the budget of passages is: about a paragraph or two, so that two or three fit a budget of 1,500 tokens in any script.
const maxBytes = 1_200
// A piece this long is whole enough: the next paragraph begins another one, and the pieces of a long text come out even.
const enoughBytes = 800
// The way to a chunk is kept with each of them; a heading of this many characters is a paragraph in disguise.
const maxHeading = 120
// Where a long text is cut, best first: after a line, a sentence, a word.
const breaks = [/\n/g, /[.!?…]\s|[。！？]/g, /\s/g]

type Block = { headings: string; text: string; isHeading: boolean }

export function chunkDocument(document: string): Chunk[] {
  const chunks: Chunk[] = []
  let open: Chunk | undefined
  let onlyHeadings = true
  for (const { headings, text, isHeading } of blocksOf(document)) {
    // A heading begins a chunk, unless there is nothing but headings above it in the open one.
    const joins: boolean =
      open !== undefined && (isHeading ? onlyHeadings : bytes(open.text) < enoughBytes) && bytes(open.text) + 2 + bytes(text) <= maxBytes
    if (open && !joins) chunks.push(open)
    onlyHeadings = isHeading && (onlyHeadings || !joins)
    open = { headings, text: open && joins ? `${open.text}\n\n${text}` : text }
  }
  return open ? [...chunks, open] : chunks
}

/** The document's headings and paragraphs in order, each at most `maxBytes` long. */
function* blocksOf(document: string): Generator<Block> {
  const path: string[] = []
  let paragraph: string[] = []
  let fenced = false
  const block = (text: string, isHeading: boolean): Block[] =>
    cut(text.trim()).map((piece) => ({ headings: path.filter(Boolean).join(' › '), text: piece, isHeading }))
  for (const line of document.split(/\r\n|\n|\r/)) {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced
    const level = fenced ? 0 : (/^#{1,6}(?=\s|$)/.exec(line)?.[0].length ?? 0)
    if (level === 0 && line.trim() !== '') {
      paragraph.push(line)
      continue
    }
    yield* block(paragraph.join('\n'), false)
    paragraph = []
    if (level === 0) continue
    path[level - 1] = line.slice(level).trim().slice(0, maxHeading)
    path.length = level
    yield* block(line, true)
  }
  yield* block(paragraph.join('\n'), false)
}

/** Pieces of at most `maxBytes`, none of them empty; the cut falls into the second half of a piece, or else between two characters. */
function cut(text: string): string[] {
  const pieces: string[] = []
  let rest = text
  while (rest !== '') {
    const fits = rest.slice(0, fittingLength(rest))
    const end = fits.length === rest.length ? fits.length : (lastBreak(fits) ?? fits.length)
    pieces.push(rest.slice(0, end).trim())
    rest = rest.slice(end).trim()
  }
  return pieces
}

/** How much of the text, in UTF-16 units and whole characters, has at most `maxBytes` bytes. */
function fittingLength(text: string): number {
  if (text.length <= maxBytes && bytes(text) <= maxBytes) return text.length
  let length = 0
  let size = 0
  for (const character of text) {
    size += bytes(character)
    if (size > maxBytes) break
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
