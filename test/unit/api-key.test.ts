/** The text of an API key (docs/spec.md, "Keys"). */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { digestSecret, makeApiKey, parseApiKey } from '../../src/access/api-key.ts'
import { anyText } from '../support/any-text.ts'

/** A random source that gives these bytes first and zeros after them. */
const bytesFirst = (given: number[]) => {
  const left = [...given]
  return (count: number): Uint8Array => Uint8Array.from({ length: count }, () => left.shift() ?? 0)
}

const anyBytes = fc.array(fc.nat(255), { maxLength: 120 })
const mutation = fc.record({
  bytes: anyBytes,
  place: fc.nat(74),
  character: fc.nat(0x10ffff).map((codePoint) => String.fromCodePoint(codePoint)),
})

void test('API keys: a key is svc_live_<key id of 16>.<43 characters of 256 random bits and 6 of a checksum>', () => {
  assert.match(makeApiKey(randomBytes).text, /^svc_live_[a-z0-9]{16}\.[0-9A-Za-z]{49}$/)
  assert.equal(makeApiKey(bytesFirst([])).text, `svc_live_${'a'.repeat(16)}.${'0'.repeat(43)}3AcQbz`)
})

void test('API keys: every generated key is parsed back to the same parts', () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      const { keyId, secret, text } = makeApiKey(bytesFirst(bytes))
      assert.deepEqual(parseApiKey(text), { keyId, secret })
      assert.equal(text, `svc_live_${keyId}.${secret}`)
    }),
  )
})

void test('API keys: a key with any one character changed, added or removed is refused without a store lookup', () => {
  fc.assert(
    fc.property(mutation, ({ bytes, place, character }) => {
      const { text } = makeApiKey(bytesFirst(bytes))
      fc.pre(text[place] !== character)
      assert.equal(parseApiKey(text.slice(0, place) + character + text.slice(place + 1)), undefined)
      assert.equal(parseApiKey(text.slice(0, place) + character + text.slice(place)), undefined)
      assert.equal(parseApiKey(text.slice(0, place) + text.slice(place + 1)), undefined)
    }),
    { numRuns: 2_000 },
  )
})

void test('API keys: the parser never throws, and almost every text is refused', () => {
  fc.assert(
    fc.property(fc.oneof(anyText(), fc.stringMatching(/^svc_live_[a-z0-9]{16}\.[0-9A-Za-z]{49}$/)), (text) => {
      assert.equal(parseApiKey(text), undefined)
    }),
  )
  for (const text of ['', '.', 'svc_live_', `svc_live_${'a'.repeat(10_000)}.b`, 'x'.repeat(10_000)])
    assert.equal(parseApiKey(text), undefined)
})

void test('API keys: a new secret for a key keeps the key id and differs from the old one', () => {
  const first = makeApiKey(randomBytes)
  const second = makeApiKey(randomBytes, first.keyId)
  assert.equal(second.keyId, first.keyId)
  assert.notEqual(second.secret, first.secret)
  assert.deepEqual(parseApiKey(second.text), { keyId: first.keyId, secret: second.secret })
})

void test('API keys: characters are uniformly distributed: bytes beyond the last whole alphabet are drawn again', () => {
  // 252 to 255 would fold onto a–d of the 36 characters of an id, 248 to 255 onto 0–7 of the 62 of a secret.
  assert.equal(makeApiKey(bytesFirst([255, 254, 253, 252, 35])).keyId, `9${'a'.repeat(15)}`)
  const { secret } = makeApiKey(bytesFirst([...Array.from({ length: 16 }, () => 0), 255, 248, 247]))
  assert.equal(secret.slice(0, 43), `z${'0'.repeat(42)}`)
})

void test('API keys: the digest is SHA-256 of the secret', () => {
  assert.equal(Buffer.from(digestSecret('abc')).toString('hex'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})
