/** `idempotency.key-text`: the text of the header, for every byte that HTTP allows. */
import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../src/errors.ts'
import { readIdempotencyKey } from '../../src/http/public/idempotency-key.ts'

/** As Node gives it: bytes as latin1. */
const request = (bytes: Buffer): IncomingMessage => {
  const value = bytes.toString('latin1')
  return { headers: { 'idempotency-key': value }, rawHeaders: ['Idempotency-Key', value] } as unknown as IncomingMessage
}

void test('idempotency.key-text: any text of 1 to 255 code points without control characters is accepted as it is', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 400 }).filter((key) => !/\p{Cc}/u.test(key))
  fc.assert(
    fc.property(text, (key) => {
      const read = (): string => readIdempotencyKey(request(Buffer.from(key)))
      if ([...key].length <= 255) assert.equal(read(), key)
      else assert.throws(read, ApiError)
    }),
  )
})

void test('idempotency.key-text: bytes that are not UTF-8 are latin1, and two different headers never become one key', () => {
  const bytes = fc.uint8Array({ min: 0xa0, minLength: 1, maxLength: 40 }).map((array) => Buffer.from(array))
  fc.assert(
    fc.property(bytes, bytes, (one, other) => {
      fc.pre(!isUtf8(one) && !isUtf8(other))
      assert.equal(readIdempotencyKey(request(one)), one.toString('latin1'))
      assert.equal(readIdempotencyKey(request(one)) === readIdempotencyKey(request(other)), one.equals(other))
    }),
  )
})
