/**
 * Turns a document of any supported kind into chunks: bytes in, clean text out, each chunk with its headings or the page of its PDF. Runs
 * in the process of extract-process.ts, and knows no store and no agent.
 */
import type { DocumentWarning } from '../../document-warnings.ts'
import { cleanText } from '../clean-text.ts'
import { chunkDocument } from '../knowledge/chunk.ts'
import type { Chunk } from '../knowledge/chunk.ts'
import { decodeText } from './decode.ts'
import { kindOf } from './kind.ts'
import type { Named } from './kind.ts'
import { inMebibytes, maxChunks, maxTextBytes, maxTitle, DocumentRefused } from './limits.ts'
import { Warnings } from './warnings.ts'

export type Source = Named & {
  bytes: Uint8Array
  /** The document was sent as text, so its kind is not detected. */
  isText: boolean
}

/** `title`: the title that the document itself contains, or null. */
export type Extracted = { title: string | null; chunks: Chunk[]; warnings: DocumentWarning[] }

type Read = { title: string | null; sections: { name: string; text: string }[] }

/** Throws DocumentRefused with the reason. `onProgress` is called with the share that is done, from 0 to 1. */
export async function extractDocument(source: Source, onProgress: (share: number) => void): Promise<Extracted> {
  if (source.bytes.length === 0) throw new DocumentRefused('This document is empty.')
  const warnings = new Warnings()
  const { title: rawTitle, sections } = await read(source, warnings, onProgress)
  const title = rawTitle && readable(rawTitle.slice(0, maxTitle))
  const size = sections.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  if (size > maxTextBytes)
    throw new DocumentRefused(`This document contains more than ${inMebibytes(maxTextBytes)} of text. Split it into smaller documents.`)
  const chunks: Chunk[] = []
  // The title is shown next to the headings of a passage, so it is left out of the headings.
  const wayTo = (headings: string): string =>
    headings === title ? '' : headings.startsWith(`${title} › `) ? headings.slice(title!.length + 3) : headings
  for (const { name, text } of sections) {
    for (const chunk of chunkDocument(readable(text))) chunks.push({ headings: name || wayTo(chunk.headings), text: chunk.text })
    if (chunks.length > maxChunks)
      throw new DocumentRefused(`This document has more than ${maxChunks} passages. Split it into smaller documents.`)
  }
  if (chunks.length === 0) throw new DocumentRefused('This document contains no text.')
  return { title, chunks, warnings: warnings.list() }
}

// A soft hyphen, a byte order mark within a text and a word joiner are not shown, and a search would not find the word around them.
const invisible = /[\u00ad\ufeff\u2060]/g
// A zero-width space as well, except where it is all that separates the words: in Thai, Lao, Burmese and Khmer.
const zeroWidthSpace = /(?<![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])\u200b(?![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])/g

const readable = (text: string): string => cleanText(text).replace(invisible, '').replace(zeroWidthSpace, '')

/** Each reader is loaded with the first document of its kind: the PDF reader alone takes 20 MB, and many agents only have Markdown. */
async function read(source: Source, warnings: Warnings, onProgress: (share: number) => void): Promise<Read> {
  const { bytes, mediaType } = source
  switch (source.isText ? 'text' : kindOf(bytes, source)) {
    case 'text':
      return { title: null, sections: [{ name: '', text: decodeText({ bytes, mediaType, isHtml: false }, warnings) }] }
    case 'html': {
      const { readPage } = await import('./html.ts')
      const { title, markdown } = readPage(decodeText({ bytes, mediaType, isHtml: true }, warnings), warnings)
      // Readability removes a heading that repeats the title. It is added again, because searches look for the words of the title too.
      const text = title === null || markdown.trim() === '' || /^# /m.test(markdown) ? markdown : `# ${title}\n\n${markdown}`
      return { title, sections: [{ name: '', text }] }
    }
    case 'docx': {
      const { readDocx } = await import('./docx.ts')
      return { title: null, sections: [{ name: '', text: await readDocx(bytes, warnings) }] }
    }
    case 'pdf': {
      const { readPdf } = await import('./pdf.ts')
      const { title, pages } = await readPdf(bytes, warnings, onProgress)
      return { title, sections: pages.map((text, index) => ({ name: `Page ${index + 1}`, text })) }
    }
  }
}
