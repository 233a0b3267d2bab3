/**
 * Encrypts the secrets of providers and tools at rest with AES-256-GCM, bound to their place and to the server they are for. Never stores or
 * logs a secret, not even in an error. Format 1, in bytes: version 1 · key ID 8 · nonce 12 · ciphertext · tag 16.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/**
 * An encrypted secret cannot be decrypted: its key is missing, it belongs to another place or server, or it is damaged. The message is for
 * the operator and contains no secret.
 */
export class UnsealError extends Error {}

export interface Sealer {
  /**
   * Encrypts with the first key. `boundTo` names the place of the secret and the server that it is sent to. The result can only be decrypted
   * with the same name.
   */
  seal(text: string, boundTo: string): Uint8Array
  /** Decrypts with the key that it was encrypted with. Throws UnsealError. */
  open(sealed: Uint8Array, boundTo: string): string
}

const formatVersion = 1
const keyBytes = 32
// 64 bits are enough to distinguish a few keys, and reveal nothing about them.
const keyIdBytes = 8
// 96 bits, as GCM recommends. Random nonces stay safe for 2^32 encryptions with one key (NIST SP 800-38D, 8.3).
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + keyIdBytes + nonceBytes

/**
 * The first key encrypts and all keys decrypt, so a key is replaced by adding a new one in front. Throws if there is no key or one does not
 * have 32 bytes.
 */
export function createSealer(keys: Uint8Array[]): Sealer {
  if (keys.length === 0) throw new Error('at least one encryption key is required')
  if (keys.some((key) => key.length !== keyBytes)) throw new Error(`an encryption key must be ${keyBytes} bytes long`)
  const known = keys.map((key) => ({ id: keyId(key), key }))
  const first = known[0]!

  return {
    seal(text, boundTo) {
      const head = Buffer.concat([Uint8Array.of(formatVersion), first.id, randomBytes(nonceBytes)])
      const cipher = createCipheriv('aes-256-gcm', first.key, nonceOf(head), { authTagLength: tagBytes })
      cipher.setAAD(boundData(head, boundTo))
      return Buffer.concat([head, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
    },

    open(sealed, boundTo) {
      if (sealed.length < headBytes + tagBytes || sealed[0] !== formatVersion)
        throw new UnsealError('the encrypted secret is damaged or has an unknown format')
      const head = sealed.subarray(0, headBytes)
      const id = Buffer.from(head.subarray(1, 1 + keyIdBytes))
      const key = known.find((one) => id.equals(one.id))?.key
      if (!key)
        throw new UnsealError(
          `the secret was encrypted with the key ${id.toString('hex')}, which is not in TURNKEEP_ENCRYPTION_KEY or encryption.key`,
        )
      const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(head), { authTagLength: tagBytes })
      decipher.setAAD(boundData(head, boundTo))
      decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes))
      const text = decipher.update(sealed.subarray(headBytes, sealed.length - tagBytes))
      try {
        return Buffer.concat([text, decipher.final()]).toString('utf8')
      } catch {
        // node:crypto only reports that authentication failed. A wrong place and damage cannot be distinguished.
        throw new UnsealError('the encrypted secret is damaged, or it was entered for another place or another server')
      }
    },
  }
}

/**
 * Returns what cannot be decrypted, for a sentence to the operator, if there are stored API keys and each was encrypted with a key that is
 * not among `keys`.
 */
export function undecryptable(providers: { sealedApiKey: Uint8Array }[], keys: Uint8Array[]): string | undefined {
  const ids = keys.map(keyId)
  const isKnown = (sealed: Uint8Array): boolean => ids.some((id) => Buffer.from(id).equals(sealed.subarray(1, 1 + keyIdBytes)))
  if (providers.length === 0 || providers.some(({ sealedApiKey }) => isKnown(sealedApiKey))) return undefined
  return providers.length === 1 ? 'the API key of the provider cannot be decrypted' : 'the API keys of all providers cannot be decrypted'
}

/** Whether two encrypted secrets were encrypted with the same key. */
export const haveSameKey = (one: Uint8Array, other: Uint8Array): boolean =>
  Buffer.from(one.subarray(1, 1 + keyIdBytes)).equals(other.subarray(1, 1 + keyIdBytes))

/** Generates a new key: 32 random bytes. */
export function generateEncryptionKey(): Uint8Array {
  return randomBytes(keyBytes)
}

function keyId(key: Uint8Array): Uint8Array {
  return createHash('sha256').update('turnkeep encryption key id\n').update(key).digest().subarray(0, keyIdBytes)
}

const nonceOf = (head: Uint8Array): Uint8Array => head.subarray(1 + keyIdBytes)

/** The header is authenticated, too. It has a fixed length, so header and name cannot be confused. */
const boundData = (head: Uint8Array, boundTo: string): Uint8Array => Buffer.concat([head, Buffer.from(boundTo, 'utf8')])
