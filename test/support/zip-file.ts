/** Creates ZIP archives for tests, including invalid ones: the metadata of an entry may be wrong. */
import { crc32, deflateRawSync } from 'node:zlib'

export type ZipEntry = {
  name: string
  data: Buffer
  /** The declared uncompressed size; the real one by default. */
  saidSize?: number
  /** Marked as encrypted. */
  encrypted?: boolean
}

export function zipFile(entries: ZipEntry[]): Buffer {
  const [local, central]: [Buffer[], Buffer[]] = [[], []]
  let offset = 0
  for (const { name, data, saidSize = data.length, encrypted = false } of entries) {
    const [path, packed] = [Buffer.from(name), deflateRawSync(data)]
    const facts = Buffer.concat([
      ...[20, encrypted ? 1 : 0, 8, 0, 0].map((value) => number(value, 2)),
      ...[crc32(data), packed.length, saidSize].map((value) => number(value, 4)),
      number(path.length, 2),
      number(0, 2),
    ])
    local.push(number(0x04034b50, 4), facts, path, packed)
    central.push(number(0x02014b50, 4), number(20, 2), facts, number(0, 10), number(offset, 4), path)
    offset += 30 + path.length + packed.length
  }
  const directory = Buffer.concat(central)
  const counts = [number(0, 4), number(entries.length, 2), number(entries.length, 2)]
  return Buffer.concat([
    ...local,
    directory,
    number(0x06054b50, 4),
    ...counts,
    number(directory.length, 4),
    number(offset, 4),
    number(0, 2),
  ])
}

const number = (value: number, bytes: number): Buffer => {
  const buffer = Buffer.alloc(bytes)
  if (bytes <= 6) buffer.writeUIntLE(value, 0, bytes)
  return buffer
}

const types =
  '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
const relations =
  '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>'

/** The entries that make an archive a DOCX file, with one document. */
export function docxEntries(document: string | Buffer): ZipEntry[] {
  return [
    { name: '[Content_Types].xml', data: Buffer.from(types) },
    { name: '_rels/.rels', data: Buffer.from(relations) },
    { name: 'word/document.xml', data: Buffer.from(document as string) },
  ]
}

export const wordDocument = (paragraphs: string): string =>
  `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${paragraphs}</w:body></w:document>`
