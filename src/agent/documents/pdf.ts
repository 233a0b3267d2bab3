/**
 * Converts PDF to text, page by page. A PDF contains positioned glyphs and no words: the library assembles lines, and this module assembles
 * paragraphs by the distance between lines. The values of a form are read where they are on the page. Images and fonts are not rendered,
 * and scripts are not run. A page without text stays empty.
 */
import { getDocumentProxy } from 'unpdf'
import { addFields, noteAnnotations } from './pdf-annotations.ts'
import type { Annotation, Item } from './pdf-annotations.ts'
import { CharacterMaps } from './pdf-data.ts'
import { maxPages, DocumentRefused } from './limits.ts'
import { countPictures, imagesIn } from './pdf-pictures.ts'
import { realTitle } from './real-title.ts'
import type { Warnings } from './warnings.ts'

export type Pages = { title: string | null; pages: string[] }

type Line = { text: string; y: number; height: number }

// In line heights. The lines of a paragraph are 1.1 to 1.5 apart.
const paragraphGap = 1.6
// The library gives characters of a font without a table of its letters one of these, or their own code.
// oxlint-disable-next-line no-control-regex
const unknown = /[\ufffd\ue000-\uf8ff\0-\x08\x0e-\x1f]/g
// Word and others use characters of symbol fonts for bullets.
const symbolBullet = /[\uf0a7\uf0b7\uf0d8\uf0a8\uf076\uf0fc]/g
// TeX's bitmap fonts have no table of their letters, and ligatures at these codes, in its older and its newer encoding.
const ligatures: Record<string, string> = {
  '\x0b': 'ff',
  '\x0e': 'ffi',
  '\x0f': 'ffl',
  '\x1b': 'ff',
  '\x1c': 'fi',
  '\x1d': 'fl',
  '\x1e': 'ffi',
  '\x1f': 'ffl',
}
// oxlint-disable-next-line no-control-regex
const texLigature = /(?<=\p{L})[\x0b\x0e\x0f\x1b-\x1f]|[\x0b\x0e\x0f\x1b-\x1f](?=\p{L})/gu
// A few signs of a decorative font do not matter.
const toleratedUnknown = 0.02
const maxUnknown = 0.4

/** Throws DocumentRefused. `onPage` is called after each page with the share that is done, from 0 to 1. */
export async function readPdf(bytes: Uint8Array, warnings: Warnings, onPage: (share: number) => void): Promise<Pages> {
  try {
    // Before the library takes the bytes away.
    const images = imagesIn(bytes)
    const document = await getDocumentProxy(bytes, readerOptions)
    if (document.numPages > maxPages)
      throw new DocumentRefused(`This PDF has ${document.numPages} pages. The limit is ${maxPages}. Split it into smaller documents.`)
    const pages: string[] = []
    const sizes: { width: number; height: number }[] = []
    warnings.add('embedded_files', (await document.getAttachments())?.size ?? 0)
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number)
      const { items } = await page.getTextContent()
      const annotations = (await page.getAnnotations()) as Annotation[]
      const [left = 0, bottom = 0, right = 0, top = 0] = page.view
      sizes.push({ width: right - left, height: top - bottom })
      page.cleanup()
      noteAnnotations(annotations, warnings)
      pages.push(
        paragraphs(addFields(items.filter((item) => 'str' in item) as Item[], annotations))
          .replace(symbolBullet, '•')
          .replace(texLigature, (code) => ligatures[code] ?? code),
      )
      onPage(number / document.numPages)
    }
    checkText(pages, document.isPureXfa, warnings)
    warnings.add('pictures', countPictures(images, sizes))
    return { title: titleOf((await document.getMetadata()).info), pages }
  } catch (error) {
    if (error instanceof DocumentRefused) throw error
    if (error instanceof Error && error.name === 'PasswordException')
      throw new DocumentRefused('This PDF is protected by a password. Save it without a password.')
    throw new DocumentRefused('This PDF is damaged and cannot be read.', { cause: error })
  }
}

const readerOptions = {
  verbosity: 0,
  useSystemFonts: false,
  disableFontFace: true,
  BinaryDataFactory: CharacterMaps,
  // Not an address: the reader only asks for data if it is not empty.
  cMapUrl: 'character-maps/',
  cMapPacked: true,
  useWorkerFetch: false,
}

function checkText(pages: string[], isForm: boolean, warnings: Warnings): void {
  if (isForm)
    throw new DocumentRefused(
      'This PDF is a form in the XFA format, whose text only some programs show. Print it to a new PDF and send that.',
    )
  const empty = pages.filter((page) => page.trim() === '').length
  if (empty === pages.length)
    throw new DocumentRefused('This PDF contains no text: its pages are images or empty. Run text recognition (OCR) on it first.')
  warnings.add('pages_without_text', empty)
  const [characters, strange] = [/\S/g, unknown].map((pattern) => pages.reduce((sum, page) => sum + (page.match(pattern)?.length ?? 0), 0))
  if (strange! > characters! * maxUnknown)
    throw new DocumentRefused(
      'This PDF cannot be read: its fonts do not say which letters they show. Run text recognition (OCR) on it, or export it again.',
    )
  if (strange! > characters! * toleratedUnknown) warnings.add('unknown_characters', strange)
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
