/**
 * Creates, parses and digests API keys: `svc_live_<key_id>.<secret>`. Pure: random bytes are an argument, and it does not know which keys
 * exist (`ids`). The secret ends with a checksum, so that secret scanners and typing errors are detected without a lookup.
 */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'

const prefix = 'svc_live_'
const keyIdAlphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const keyIdLength = 16
// 62^43 > 2^256: the smallest number of base62 characters for 256 random bits.
const randomLength = 43
// 62^6 > 2^32: the smallest number of base62 characters for a CRC32.
const checksumLength = 6
const keyLength = prefix.length + keyIdLength + 1 + randomLength + checksumLength
const shape = /^svc_live_([a-z0-9]{16})\.([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/

/** Returns `count` bytes of a cryptographically secure source, such as node:crypto's randomBytes. */
export type RandomBytes = (count: number) => Uint8Array

/** `secret` is everything after the dot, including its checksum. Only its digest is stored. */
export type ApiKeyText = { keyId: string; secret: string }

/** Creates a new key, or a new secret for the key with this `keyId`. `text` is what callers send; it is shown once. */
export function makeApiKey(randomBytes: RandomBytes, keyId = draw(randomBytes, keyIdAlphabet, keyIdLength)): ApiKeyText & { text: string } {
  const random = draw(randomBytes, base62, randomLength)
  const secret = random + checksum(keyId, random)
  return { keyId, secret, text: `${prefix}${keyId}.${secret}` }
}

/** Parses a whole key. Returns undefined for any other text, in constant time for long texts. Never throws. */
export function parseApiKey(text: string): ApiKeyText | undefined {
  if (text.length !== keyLength) return undefined
  const [, keyId, random, check] = shape.exec(text) ?? []
  if (keyId === undefined || random === undefined || check !== checksum(keyId, random)) return undefined
  return { keyId, secret: random + check }
}

/** SHA-256, 32 bytes. A fast hash is sufficient: the secret has 256 random bits and cannot be guessed. */
export function digestSecret(secret: string): Uint8Array {
  // Digested as text, because a separate buffer of 32 bytes costs more than the hash.
  return Buffer.from(hash('sha256', secret, 'binary'), 'latin1')
}

function checksum(keyId: string, random: string): string {
  let rest = crc32(`${prefix}${keyId}.${random}`)
  let text = ''
  for (let place = 0; place < checksumLength; place++) {
    text = base62[rest % base62.length] + text
    rest = Math.floor(rest / base62.length)
  }
  return text
}

/**
 * Uniform: a byte above the largest multiple of the alphabet's length is drawn again. Otherwise the first characters would be more
 * frequent.
 */
function draw(randomBytes: RandomBytes, alphabet: string, length: number): string {
  const fair = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) if (byte < fair) text += alphabet[byte % alphabet.length]
  }
  return text
}
