/**
 * Detects the kind of a file: by its bytes where they are distinctive, otherwise by its name and content type, since all kinds of text look
 * alike. A file that is not what its name says is refused with both kinds in the message, so that a renamed image is not indexed as text.
 */
import { DocumentRefused } from './limits.ts'

export type Kind = 'text' | 'html' | 'pdf' | 'docx'

export type Named = {
  /** As the client or server sent it, including parameters. */
  mediaType: string | null
  fileName: string | null
}

const extensions: Record<string, Kind> = {
  md: 'text',
  markdown: 'text',
  txt: 'text',
  text: 'text',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  pdf: 'pdf',
  docx: 'docx',
}
const mediaTypes: Record<string, Kind> = {
  'text/markdown': 'text',
  'text/plain': 'text',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'application/pdf': 'pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
}
const words: Record<Kind, string> = { text: 'a text file', html: 'an HTML page', pdf: 'a PDF', docx: 'a DOCX file' }
const known = 'Documents are Markdown, text, HTML, PDF or DOCX.'

/** The first bytes of other kinds of files that people often send by mistake. Decoding as text refuses most others. */
const strangers: { begins: string; is: string }[] = [
  { begins: '\x89PNG\r\n', is: 'a PNG image' },
  { begins: '\xff\xd8\xff', is: 'a JPEG image' },
  { begins: 'GIF8', is: 'a GIF image' },
  { begins: 'II*\0', is: 'a TIFF image' },
  { begins: 'MM\0*', is: 'a TIFF image' },
  { begins: 'RIFF', is: 'an image or a recording' },
  { begins: '\x7fELF', is: 'a program' },
  { begins: 'MZ\x90\0', is: 'a program' },
  { begins: '\x1f\x8b', is: 'a gzip archive' },
  { begins: 'Rar!', is: 'a RAR archive' },
  { begins: '7z\xbc\xaf', is: 'a 7z archive' },
  { begins: '{\\rtf', is: 'an RTF file' },
  { begins: '%!PS', is: 'a PostScript file' },
]
const zip = 'PK\x03\x04'
// Word, Excel and PowerPoint files from before 2007, and encrypted newer ones.
const oldOffice = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'
// PDF readers accept some bytes before the signature, which mail programs sometimes add.
const pdfWithin = 1024

/** Throws DocumentRefused if the file is not a document, or not what its name or content type says. */
export function kindOf(bytes: Uint8Array, reported: Named): Kind {
  const called = calledKind(reported)
  const stranger = strangeKind(bytes)
  if (stranger !== undefined)
    throw new DocumentRefused(
      called ? `${callsIt(reported)} ${words[called]}, but it is ${stranger}. ${known}` : `This is ${stranger}. ${known}`,
    )
  const is = ownKind(bytes, called)
  if (called === undefined || called === is) return is ?? called ?? 'text'
  if (is !== undefined)
    throw new DocumentRefused(`${callsIt(reported)} ${words[called]}, but it is ${words[is]}. Send it with the right file name.`)
  if (called === 'pdf' || called === 'docx')
    throw new DocumentRefused(`${callsIt(reported)} ${words[called]}, but its content is something else.`)
  return called
}

/** Returns what name and content type say. The name comes first, because browsers send Markdown as `application/octet-stream`. */
function calledKind({ mediaType, fileName }: Named): Kind | undefined {
  const extension = extensionOf(fileName)
  return (extension === undefined ? undefined : extensions[extension]) ?? mediaTypes[mediaType?.split(';')[0]!.trim().toLowerCase() ?? '']
}

const callsIt = ({ fileName }: Named): string =>
  extensions[extensionOf(fileName) ?? ''] ? 'According to its name, this file is' : 'According to its content type, this file is'

function extensionOf(fileName: string | null): string | undefined {
  return /\.([^./\\]+)$/.exec(fileName ?? '')?.[1]?.toLowerCase()
}

function strangeKind(bytes: Uint8Array): string | undefined {
  const found = strangers.find(({ begins }) => startsWith(bytes, begins))
  if (found) return found.is
  if (!startsWith(bytes, oldOffice)) return undefined
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(Buffer.from('EncryptedPackage', 'utf16le'))
    ? 'an Office file encrypted with a password; save it without one'
    : 'an Office file in the format before 2007; save it as DOCX'
}

/** Returns the kind that the bytes prove; undefined for all kinds of text. */
function ownKind(bytes: Uint8Array, called: Kind | undefined): Kind | undefined {
  if (startsWith(bytes, zip)) return 'docx'
  if (startsWith(bytes, '%PDF-')) return 'pdf'
  // A file declared as text may mention `%PDF-`.
  if (called !== 'pdf' && called !== undefined) return undefined
  return Buffer.from(bytes.subarray(0, pdfWithin)).includes('%PDF-') ? 'pdf' : undefined
}

function startsWith(bytes: Uint8Array, begins: string): boolean {
  return Buffer.from(bytes.subarray(0, begins.length)).toString('latin1') === begins
}
