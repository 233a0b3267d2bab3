/** What commands know about the files that the admin API takes as documents. */
import { createHash } from 'node:crypto'

/** The file names that the server recognizes. */
export const documentEndings = /\.(md|markdown|txt|text|html?|pdf|docx)$/i

/**
 * Names that multipart/form-data cannot carry unchanged. It encodes `"` and line breaks as %22, %0D and %0A, but does not encode a literal
 * %22, so the server cannot tell them apart. Of a name with a backslash, the server keeps only the part after it, because some clients send
 * a path.
 */
export const notInForms = /["\\\r\n]/

/** The number of bytes and their SHA-256 in hex, which the API returns as `source_sha256`. */
export function digestOf(bytes: Uint8Array): { bytes: number; sha256: string } {
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
}
