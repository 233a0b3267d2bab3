/**
 * Converts PDF to text, page by page. A PDF contains positioned glyphs and no words: the library assembles lines, and this module assembles
 * paragraphs by the distance between lines. Images and fonts are not rendered, and scripts are not run. A page without text stays empty.
 */
import { getDocumentProxy } from 'unpdf'
import { maxPages, DocumentRefused } from './limits.ts'
import { realTitle } from './real-title.ts'

export type Pages = { title: string | null; pages: string[] }

type Line = { text: string; y: number; height: number }
type Item = { str: string; hasEOL: boolean; height: number; transform: number[] }

// In line heights. The lines of a paragraph are 1.1 to 1.5 apart.
const paragraphGap = 1.6

/** Throws DocumentRefused. `onPage` is called after each page with the share that is done, from 0 to 1. */
export async function readPdf(bytes: Uint8Array, onPage: (share: number) => void): Promise<Pages> {
  try {
    const document = await getDocumentProxy(bytes, { verbosity: 0, useSystemFonts: false, disableFontFace: true })
    if (document.numPages > maxPages)
      throw new DocumentRefused(`This PDF has ${document.numPages} pages. The limit is ${maxPages}. Split it into smaller documents.`)
    const pages: string[] = []
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number)
      const { items } = await page.getTextContent()
      page.cleanup()
      pages.push(paragraphs(items.filter((item) => 'str' in item)))
      onPage(number / document.numPages)
    }
    if (pages.every((page) => page.trim() === ''))
      throw new DocumentRefused('This PDF contains no text: its pages are images or empty. Run text recognition (OCR) on it first.')
    return { title: titleOf((await document.getMetadata()).info), pages }
  } catch (error) {
    if (error instanceof DocumentRefused) throw error
    if (error instanceof Error && error.name === 'PasswordException')
      throw new DocumentRefused('This PDF is protected by a password. Save it without a password.')
    throw new DocumentRefused('This PDF is damaged and cannot be read.', { cause: error })
  }
}

const titleOf = (info: object): string | null => realTitle('Title' in info && typeof info.Title === 'string' ? info.Title : null)

function paragraphs(items: Item[]): string {
  let text = ''
  let above: Line | undefined
  for (const line of linesOf(items)) {
    const apart = above && (above.y - line.y > paragraphGap * Math.max(line.height, above.height) || line.y > above.y)
    if (!above) text = line.text
    else if (apart) text += `\n\n${line.text}`
    // Joins a word that was hyphenated at the end of a line, so that a search finds it.
    else if (/\p{L}-$/u.test(text) && /^\p{Ll}/u.test(line.text)) text = text.slice(0, -1) + line.text
    else text += `\n${line.text}`
    above = line
  }
  return text
}

function* linesOf(items: Item[]): Generator<Line> {
  let open: Line | undefined
  for (const { str, hasEOL, height, transform } of items) {
    if (str !== '') {
      open = open ? { ...open, text: open.text + str, height: Math.max(open.height, height) } : { text: str, y: transform[5] ?? 0, height }
    }
    if (!hasEOL || !open) continue
    if (open.text.trim() !== '') yield { ...open, text: open.text.trim() }
    open = undefined
  }
  if (open && open.text.trim() !== '') yield { ...open, text: open.text.trim() }
}
