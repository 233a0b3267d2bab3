/**
 * A document to the chunks that are found and shown, whatever its kind: bytes in, clean text in pieces out, each with the way to it (headings, or
 * the page of a PDF). Runs in the process of extract-process.ts; knows no store and no agent.
 */
import { cleanText } from '../clean-text.ts'
import { chunkDocument } from '../knowledge/chunk.ts'
import type { Chunk } from '../knowledge/chunk.ts'
import { decodeText } from './decode.ts'
import { kindOf } from './kind.ts'
import type { Told } from './kind.ts'
import { inMebibytes, maxChunks, maxTextBytes, DocumentRefused } from './limits.ts'

export type Source = Told & {
  bytes: Uint8Array
  /** It came as text and is nothing else, whatever it looks like. */
  isText: boolean
}

/** `title`: what the document calls itself, where it does. */
export type Extracted = { title: string | null; chunks: Chunk[] }

type Read = { title: string | null; sections: { name: string; text: string }[] }

/** Throws DocumentRefused with the reason. `onProgress` is told the share that is done, 0 to 1. */
export async function extractDocument(source: Source, onProgress: (share: number) => void): Promise<Extracted> {
  if (source.bytes.length === 0) throw new DocumentRefused('This document is empty.')
  const { title, sections } = await read(source, onProgress)
  const size = sections.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  if (size > maxTextBytes)
    throw new DocumentRefused(`This document contains more than ${inMebibytes(maxTextBytes)} of text. Split it into smaller documents.`)
  const chunks: Chunk[] = []
  // The title is told beside the way to a passage, and need not stand in it too.
  const wayTo = (headings: string): string =>
    headings === title ? '' : headings.startsWith(`${title} › `) ? headings.slice(title!.length + 3) : headings
  for (const { name, text } of sections) {
    for (const chunk of chunkDocument(cleanText(text))) chunks.push({ headings: name || wayTo(chunk.headings), text: chunk.text })
    if (chunks.length > maxChunks)
      throw new DocumentRefused(`This document has more than ${maxChunks} passages. Split it into smaller documents.`)
  }
  if (chunks.length === 0) throw new DocumentRefused('This document contains no text.')
  return { title: title && cleanText(title), chunks }
}

/** Each reader is loaded with the first document of its kind: that of PDF alone takes 20 MB, and many an agent knows nothing but Markdown. */
async function read(source: Source, onProgress: (share: number) => void): Promise<Read> {
  const { bytes, mediaType } = source
  switch (source.isText ? 'text' : kindOf(bytes, source)) {
    case 'text':
      return { title: null, sections: [{ name: '', text: decodeText({ bytes, mediaType, isHtml: false }) }] }
    case 'html': {
      const { readPage } = await import('./html.ts')
      const { title, markdown } = readPage(decodeText({ bytes, mediaType, isHtml: true }))
      // The reader of articles takes a heading out that says the same as the title; the words of a title are looked for too.
      const text = title === null || /^# /m.test(markdown) ? markdown : `# ${title}\n\n${markdown}`
      return { title, sections: [{ name: '', text }] }
    }
    case 'docx': {
      const { readDocx } = await import('./docx.ts')
      return { title: null, sections: [{ name: '', text: await readDocx(bytes) }] }
    }
    case 'pdf': {
      const { readPdf } = await import('./pdf.ts')
      const { title, pages } = await readPdf(bytes, onProgress)
      return { title, sections: pages.map((text, index) => ({ name: `Page ${index + 1}`, text })) }
    }
  }
}
