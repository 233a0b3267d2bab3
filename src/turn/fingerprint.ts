/** `idempotency.fingerprint`: what makes two requests the same one. Pure. */
import { hash } from 'node:crypto'

/**
 * SHA-256 over the length-prefixed, validated fields: key order, white space and escapes of the body do not matter, nor does the transport.
 * No Unicode normalisation. 32 bytes.
 */
export function fingerprint(externalUserId: string, message: string): Uint8Array {
  const user = Buffer.from(externalUserId)
  const text = Buffer.from(message)
  const lengths = Buffer.alloc(8)
  lengths.writeUInt32BE(user.length, 0)
  lengths.writeUInt32BE(text.length, 4)
  // In hex and back: asked for as bytes a digest takes three times as long.
  return Buffer.from(hash('sha256', Buffer.concat([lengths, user, text]), 'hex'), 'hex')
}
