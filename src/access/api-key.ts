/**
 * The text of an API key, `svc_live_<key_id>.<secret>`: how it is made, read and digested. Pure: randomness is an argument, and it never
 * knows whether a key exists. Specification section 5; rulings, `ids`. The secret ends in a checksum, so that scanners and typing errors
 * are caught without asking anybody.
 */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'

const prefix = 'svc_live_'
const keyIdAlphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const keyIdLength = 16
// 62^43 > 2^256: the fewest base62 characters that hold 256 random bits.
const randomLength = 43
// 62^6 > 2^32: the fewest base62 characters that hold a CRC32.
const checksumLength = 6
const keyLength = prefix.length + keyIdLength + 1 + randomLength + checksumLength
const shape = /^svc_live_([a-z0-9]{16})\.([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/

/** `count` bytes of a cryptographically secure source, as node:crypto's randomBytes. */
export type RandomBytes = (count: number) => Uint8Array

/** `secret` is everything after the dot, its checksum included; only its digest is ever stored. */
export type ApiKeyText = { keyId: string; secret: string }

/** A new key, or a new secret for the key that has `keyId`; `text` is what the caller of the API sends and is shown once. */
export function makeApiKey(randomBytes: RandomBytes, keyId = draw(randomBytes, keyIdAlphabet, keyIdLength)): ApiKeyText & { text: string } {
  const random = draw(randomBytes, base62, randomLength)
  const secret = random + checksum(keyId, random)
  return { keyId, secret, text: `${prefix}${keyId}.${secret}` }
}

/** Reads a whole key; undefined for any other text, at once however long it is. Never throws. */
export function parseApiKey(text: string): ApiKeyText | undefined {
  if (text.length !== keyLength) return undefined
  const [, keyId, random, check] = shape.exec(text) ?? []
  if (keyId === undefined || random === undefined || check !== checksum(keyId, random)) return undefined
  return { keyId, secret: random + check }
}

/** SHA-256, 32 bytes. A fast hash is right here: the secret has 256 random bits, so there is nothing to guess. */
export function digestSecret(secret: string): Uint8Array {
  // By way of text: memory of its own for 32 bytes costs more than the hash.
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

/** Uniform: a byte beyond the largest multiple of the alphabet's length is drawn again, or its first characters would come more often. */
function draw(randomBytes: RandomBytes, alphabet: string, length: number): string {
  const fair = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) if (byte < fair) text += alphabet[byte % alphabet.length]
  }
  return text
}
