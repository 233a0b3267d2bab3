/**
 * Reads the XML files of a ZIP archive with a limit on their decompressed size, and writes a ZIP archive without compression. The sizes
 * that an archive declares are compared with the actual ones, not trusted.
 */
import { crc32 } from 'node:zlib'
import { fromBufferPromise } from 'yauzl'
import type { Entry, ZipFile } from 'yauzl'
import { inMebibytes, maxInflatedBytes, DocumentRefused } from './limits.ts'

export type Archive = {
  /** The names of all files in the archive. */
  names: Set<string>
  /** The XML files by name, at most `maxInflatedBytes` together. */
  xml: Map<string, Buffer>
}

// A Word document has about twenty files, and perhaps as many images; an archive of 20 MiB can list 400,000.
const maxEntries = 10_000

/** Throws DocumentRefused. */
export async function readArchive(bytes: Uint8Array): Promise<Archive> {
  const archive: Archive = { names: new Set(), xml: new Map() }
  let left = maxInflatedBytes
  try {
    const zip = await fromBufferPromise(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), { lazyEntries: true })
    if (zip.entryCount > maxEntries)
      throw new DocumentRefused(`This DOCX file is an archive with ${zip.entryCount} files, which is too many for a document.`)
    for await (const entry of zip.eachEntry()) {
      archive.names.add(entry.fileName)
      if (!/\.(?:xml|rels)$/i.test(entry.fileName)) continue
      if (entry.isEncrypted()) throw new DocumentRefused('This DOCX file is protected by a password. Save it without a password.')
      const file = await inflate(zip, entry, left)
      left -= file.length
      archive.xml.set(entry.fileName, file)
    }
    return archive
  } catch (error) {
    if (error instanceof DocumentRefused) throw error
    // Errors of yauzl: wrong sizes, a truncated entry, an unknown compression method.
    throw new DocumentRefused('This DOCX file is damaged: it is not a valid ZIP archive.', { cause: error })
  }
}

async function inflate(zip: ZipFile, entry: Entry, most: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of await zip.openReadStreamPromise(entry)) {
    size += piece.length
    if (size > most)
      throw new DocumentRefused(
        `This DOCX file decompresses to more than ${inMebibytes(maxInflatedBytes)}, which no document needs. Split it into smaller ones.`,
      )
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** Bit 11: names are UTF-8. */
const utf8Names = 0x0800
const version = 20

/** Returns a ZIP archive of these files without compression. */
export function storedArchive(files: Map<string, Buffer>): Buffer {
  const local: Buffer[] = []
  const central: Buffer[] = []
  let offset = 0
  for (const [name, data] of files) {
    const path = Buffer.from(name)
    // The fields that both headers share: version, flags, method, time, date, checksum, both sizes, length of the name, no extra field.
    const facts = Buffer.alloc(26)
    facts.writeUInt16LE(version, 0)
    facts.writeUInt16LE(utf8Names, 2)
    facts.writeUInt32LE(crc32(data), 10)
    facts.writeUInt32LE(data.length, 14)
    facts.writeUInt32LE(data.length, 18)
    facts.writeUInt16LE(path.length, 22)
    // Comment, disk number and attributes: all zero. Then the offset.
    const place = Buffer.alloc(14)
    place.writeUInt32LE(offset, 10)
    local.push(Buffer.from('PK\x03\x04', 'latin1'), facts, path, data)
    central.push(Buffer.from('PK\x01\x02', 'latin1'), uint16(version), facts, place, path)
    offset += 30 + path.length + data.length
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(files.size, 4)
  end.writeUInt16LE(files.size, 6)
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...local, directory, Buffer.from('PK\x05\x06', 'latin1'), end])
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}
