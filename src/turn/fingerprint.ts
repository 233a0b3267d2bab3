/** `idempotency.fingerprint`: decides whether two requests are the same. Pure. */
import { hash } from 'node:crypto'

/**
 * SHA-256 of the length-prefixed validated fields, 32 bytes. Key order, white space and escapes of the body do not matter, nor does the
 * endpoint. There is no Unicode normalization.
 */
export function fingerprint(externalUserId: string, message: string): Uint8Array {
  const user = Buffer.from(externalUserId)
  // mutant: idempotency.fingerprint
  const text = Buffer.from(message)
  const lengths = Buffer.alloc(8)
  lengths.writeUInt32BE(user.length, 0)
  lengths.writeUInt32BE(text.length, 4)
  // Converted from hex, because a digest requested as bytes takes three times as long.
  return Buffer.from(hash('sha256', Buffer.concat([lengths, user, text]), 'hex'), 'hex')
}
