/**
 * Converts DOCX to Markdown. A DOCX file is a ZIP archive of XML files. The converter gets a new archive with exactly the bytes that were
 * counted during decompression, because two ZIP readers may disagree on what an archive contains. Images are not read.
 */
import mammoth from 'mammoth'
import { fragmentToMarkdown } from './html.ts'
import { DocumentRefused } from './limits.ts'
import { readArchive, storedArchive } from './zip.ts'

/** Throws DocumentRefused. */
export async function readDocx(bytes: Uint8Array): Promise<string> {
  const { names, xml } = await readArchive(bytes)
  if (!names.has('[Content_Types].xml') || ![...names].some((name) => name.startsWith('word/'))) throw new DocumentRefused(notWord(names))
  const noPicture = mammoth.images.imgElement(() => Promise.resolve({ src: '' }))
  try {
    const { value } = await mammoth.convertToHtml(
      { buffer: storedArchive(xml) },
      // The converter does not treat Word's Title style as a heading by default.
      { convertImage: noPicture, includeEmbeddedStyleMap: false, styleMap: ["p[style-name='Title'] => h1:fresh"] },
    )
    return fragmentToMarkdown(value)
  } catch (error) {
    // For example, XML that is nested too deeply. Exceeding the limits of the process does not throw but ends the process.
    throw new DocumentRefused('This DOCX file is damaged and cannot be read.', { cause: error })
  }
}

function notWord(names: Set<string>): string {
  const has = (start: string): boolean => [...names].some((name) => name.startsWith(start))
  if (has('xl/')) return 'This is an Excel workbook, not a DOCX file. Save what is to be known as text or DOCX.'
  if (has('ppt/')) return 'This is a PowerPoint presentation, not a DOCX file. Save it as PDF.'
  if (has('META-INF/') && has('content.xml')) return 'This is an OpenDocument file. Save it as DOCX.'
  return 'This is a ZIP archive, not a DOCX file. Send the documents that are in it one by one.'
}
