/** Sealing: a sealed value can be opened in its own row, with its own key, undamaged, or not at all. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createSealer, generateEncryptionKey, UnsealError } from '../../src/config/secrets.ts'
import { anyText } from '../support/any-text.ts'

const secret = 'sk-provider-canary'
const row = 'provider:prv_1'

void test('secrets: any text is opened as it was sealed, and sealing it twice gives different blobs', () => {
  const sealer = createSealer([generateEncryptionKey()])
  fc.assert(
    fc.property(
      anyText().map((text) => text.toWellFormed()),
      anyText(),
      (text, boundTo) => {
        const sealed = sealer.seal(text, boundTo)
        assert.equal(sealer.open(sealed, boundTo), text)
        assert.notDeepEqual(sealer.seal(text, boundTo), sealed)
      },
    ),
  )
})

void test('secrets: a sealed blob moved to another row does not open', () => {
  const sealer = createSealer([generateEncryptionKey()])
  assert.throws(() => sealer.open(sealer.seal(secret, row), 'provider:prv_2'), UnsealError)
})

void test('secrets: a changed, shortened or lengthened blob does not open, whichever byte it is', () => {
  const sealer = createSealer([generateEncryptionKey()])
  const sealed = sealer.seal(secret, row)
  for (let place = 0; place < sealed.length; place++) {
    const damaged = Uint8Array.from(sealed)
    damaged[place]! ^= 1
    assert.throws(() => sealer.open(damaged, row), UnsealError, `byte ${place}`)
    assert.throws(() => sealer.open(sealed.subarray(0, place), row), UnsealError, `${place} bytes`)
  }
  assert.throws(() => sealer.open(Buffer.concat([sealed, Buffer.of(0)]), row), UnsealError)
})

void test('secrets: the first key seals, every key opens, and a removed key opens nothing', () => {
  const [old, fresh] = [generateEncryptionKey(), generateEncryptionKey()]
  const sealedBefore = createSealer([old]).seal(secret, row)
  const rotating = createSealer([fresh, old])
  assert.equal(rotating.open(sealedBefore, row), secret)
  const sealedSince = rotating.seal(secret, row)
  assert.equal(createSealer([fresh]).open(sealedSince, row), secret)
  assert.throws(() => createSealer([fresh]).open(sealedBefore, row), /not in TURNKEEP_ENCRYPTION_KEY or encryption\.key/)
})

void test('secrets: neither the blob nor an error contains the secret or the key', () => {
  const key = generateEncryptionKey()
  const sealed = Buffer.from(createSealer([key]).seal(secret, row))
  assert.equal(sealed.includes(secret), false)
  assert.equal(sealed.includes(Buffer.from(key.subarray(0, 8))), false)
  for (const [keys, boundTo] of [
    [[key], 'other'],
    [[generateEncryptionKey()], row],
  ] as const) {
    assert.throws(
      () => createSealer([...keys]).open(sealed, boundTo),
      (error: Error) => !String(error.stack).includes(secret) && !String(error.stack).includes(Buffer.from(key).toString('hex')),
    )
  }
})

void test('secrets: number and length of the keys are checked at start', () => {
  assert.equal(generateEncryptionKey().length, 32)
  assert.throws(() => createSealer([]), /at least one/)
  assert.throws(() => createSealer([generateEncryptionKey(), new Uint8Array(31)]), /32 bytes/)
})
