/**
 * Converts DOCX to Markdown. A DOCX file is a ZIP archive of XML files. The converter gets a new archive with exactly the bytes that were
 * counted during decompression, because two ZIP readers may disagree on what an archive contains. The XML is rewritten before, so that the
 * converter leaves out as little as possible; what has no text is counted. Images are not read.
 */
import mammoth from 'mammoth'
import { fragmentToMarkdown } from './html.ts'
import { DocumentRefused } from './limits.ts'
import { refuseDeepXml } from './nesting.ts'
import type { Warnings } from './warnings.ts'
import { rewriteBody } from './word/body.ts'
import type { BodyOptions } from './word/body.ts'
import { withoutMarks, writeLists } from './word/list-marks.ts'
import { Numbering } from './word/numbering.ts'
import { tokensOf } from './word/xml-tokens.ts'
import { readArchive, storedArchive } from './zip.ts'

/** Throws DocumentRefused. */
export async function readDocx(bytes: Uint8Array, warnings: Warnings): Promise<string> {
  const { names, xml } = await readArchive(bytes)
  if (!names.has('[Content_Types].xml') || ![...names].some((name) => name.startsWith('word/'))) throw new DocumentRefused(notWord(names))
  // The converter builds a tree of any of them.
  for (const data of xml.values()) refuseDeepXml(decodeXml(data))
  try {
    rewriteParts(xml, warnings)
    const { value } = await mammoth.convertToHtml(
      { buffer: storedArchive(xml) },
      // The converter does not treat Word's Title style as a heading by default.
      { includeEmbeddedStyleMap: false, styleMap: ["p[style-name='Title'] => h1:fresh"] },
    )
    const withStates = value.replace(/<input type="checkbox"( checked="checked")? ?\/>/g, (_, checked?: string) =>
      checked ? '[x]' : '[ ]',
    )
    return writeLists(fragmentToMarkdown(withStates, warnings))
  } catch (error) {
    if (error instanceof DocumentRefused) throw error
    // For example, XML that is not well-formed. Exceeding the limits of the process does not throw but ends the process.
    throw new DocumentRefused('This DOCX file is damaged and cannot be read.', { cause: error })
  }
}

/** Parts are found by what they are: a file may give them any name. */
function rewriteParts(xml: Map<string, Buffer>, warnings: Warnings): void {
  const parts = new Map([...xml].flatMap(([name, data]) => (name.startsWith('word/') ? [[name, rootOf(data)]] : [])))
  const named = (root: string): string[] => [...parts].filter(([, found]) => found === root).map(([name]) => name)
  const textOf = (name: string | undefined): string =>
    name === undefined ? '' : withoutMarks(withUsualPrefixes(decodeXml(xml.get(name)!)))
  const numbering = new Numbering(textOf(named('w:numbering')[0]), textOf(named('w:styles')[0]))
  const options: BodyOptions = { numbering, warnings }
  const beside = (root: string): string => besideText(named(root).map(textOf), options)
  const [headers, footers] = [beside('w:hdr'), beside('w:ftr')]
  for (const name of named('w:document')) {
    const body = rewriteBody(tokensOf(textOf(name)), options)
    const [start, end] = [/<w:body(?:\s[^<>]*)?>/.exec(body), body.lastIndexOf('</w:body>')]
    if (!start || end === -1) continue
    const begin = start.index + start[0].length
    xml.set(name, Buffer.from(`${body.slice(0, begin)}${headers}${body.slice(begin, end)}${footers}${body.slice(end)}`))
  }
  for (const root of ['w:footnotes', 'w:endnotes'])
    for (const name of named(root)) xml.set(name, Buffer.from(rewriteBody(tokensOf(textOf(name)), options)))
  // The numbers are in the text now. Without its rules, the converter makes no lists of its own.
  for (const name of named('w:numbering'))
    xml.set(name, Buffer.from('<w:numbering xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"/>'))
}

const rootOf = (data: Buffer): string | undefined => /<(\w[\w:.-]*)/.exec(withUsualPrefixes(decodeXml(data.subarray(0, maxRoot))))?.[1]

// In bytes. The first tag declares about thirty namespaces.
const maxRoot = 16_384
const usual: [string, RegExp][] = [
  [
    'w',
    /\sxmlns:([\w-]+)\s*=\s*["'](?:http:\/\/schemas\.openxmlformats\.org\/wordprocessingml\/2006\/main|http:\/\/purl\.oclc\.org\/ooxml\/wordprocessingml\/main)["']/,
  ],
  [
    'm',
    /\sxmlns:([\w-]+)\s*=\s*["'](?:http:\/\/schemas\.openxmlformats\.org\/officeDocument\/2006\/math|http:\/\/purl\.oclc\.org\/ooxml\/officeDocument\/math)["']/,
  ],
  ['mc', /\sxmlns:([\w-]+)\s*=\s*["']http:\/\/schemas\.openxmlformats\.org\/markup-compatibility\/2006["']/],
]

/** Programs that write XML with a general library call the namespaces `ns0`, `ns1` … */
function withUsualPrefixes(xml: string): string {
  let renamed = xml
  for (const [prefix, declared] of usual) {
    const found = declared.exec(renamed.slice(0, maxRoot))?.[1]
    if (found === undefined || found === prefix) continue
    renamed = renamed.replace(new RegExp(`(</?|\\sxmlns:|\\s)${found}(?=[:=])`, 'g'), `$1${prefix}`)
  }
  return renamed
}

/** XML files are UTF-8, or UTF-16 with a byte order mark. */
function decodeXml(data: Buffer): string {
  const isWide = (data[0] === 0xff && data[1] === 0xfe) || (data[0] === 0xfe && data[1] === 0xff)
  const text = new TextDecoder(isWide ? (data[0] === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8').decode(data)
  return isWide ? text.replace(/^<\?xml[^>]*\?>/, '') : text
}

// "Page 2 of 7", in some languages, and what is left of it without the numbers.
const onlyPageNumber =
  /^[\W\d_]*(?:(?:page|seite|página|pagina|pág|side|sida|strona|strana|p|s)[\W\d_]*)?(?:(?:of|von|de|di|sur|af|av|z)[\W\d_]*)?$/iu

/** Returns the content of headers or footers, each text once: most repeat on the first, odd and even pages. */
function besideText(parts: string[], options: BodyOptions): string {
  const seen = new Set<string>()
  return (
    parts
      .map(contentOf)
      .filter((content) => {
        const text = content.replace(/<[^<>]*>/g, '').trim()
        const isNew = !onlyPageNumber.test(text) && !seen.has(text)
        seen.add(text)
        return isNew
      })
      // The document may not declare the prefixes of other attributes.
      .map((content) => rewriteBody(tokensOf(content), { ...options, isBeside: true }).replace(/\s(?!w:|xml:)[\w-]+:[\w-]+="[^"]*"/g, ''))
      .join('')
  )
}

/** Returns what is between the first start tag and the last end tag of a header or footer. */
function contentOf(part: string): string {
  const start = /<w:(?:hdr|ftr)(?:\s[^<>]*)?>/.exec(part)
  const end = Math.max(part.lastIndexOf('</w:hdr>'), part.lastIndexOf('</w:ftr>'))
  return start && end !== -1 ? part.slice(start.index + start[0].length, end) : ''
}

function notWord(names: Set<string>): string {
  const has = (start: string): boolean => [...names].some((name) => name.startsWith(start))
  if (has('xl/')) return 'This is an Excel workbook, not a DOCX file. Save what is to be known as text or DOCX.'
  if (has('ppt/')) return 'This is a PowerPoint presentation, not a DOCX file. Save it as PDF.'
  if (has('META-INF/') && has('content.xml')) return 'This is an OpenDocument file. Save it as DOCX.'
  return 'This is a ZIP archive, not a DOCX file. Send the documents that are in it one by one.'
}
