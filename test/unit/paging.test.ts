/** Cursors of lists (`paging`). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../src/errors.ts'
import { decodeCursor, encodeCursor, pageOf, pageRequest } from '../../src/store/queries/paging.ts'
import { anyText } from '../support/any-text.ts'

const positions = fc.record({ createdAt: fc.maxSafeNat(), id: fc.stringMatching(/^[a-z]{3,4}_[0-9a-z]{26}$/) }, { noNullPrototype: true })
const isRefused = (error: unknown): boolean => error instanceof ApiError && error.code === 'validation_error'

void test('paging: every position is read back from its cursor, and from no other text', () => {
  fc.assert(
    fc.property(positions, (position) => {
      const cursor = encodeCursor(position)
      assert.match(cursor, /^[\w-]+$/)
      assert.deepEqual(decodeCursor(cursor), position)
      for (const other of [`${cursor}=`, ` ${cursor}`, `${cursor}\n`, `*${cursor}`]) assert.throws(() => decodeCursor(other), isRefused)
    }),
  )
})

void test('paging: any text that is not a cursor is validation_error', () => {
  const made = (text: string): string => Buffer.from(text).toString('base64url')
  const wrong = [
    '',
    'null',
    made('1'),
    made('01:a'),
    made('1:'),
    made(':a'),
    made('-1:a'),
    made('9007199254740992:a'),
    made("1:a'b"),
    'a'.repeat(10_000),
  ]
  for (const text of wrong) assert.throws(() => decodeCursor(text), isRefused, text.slice(0, 40))
  fc.assert(fc.property(anyText(), (text) => assert.throws(() => decodeCursor(text), isRefused)))
})

void test('paging: one more row than the page size is read, which shows whether there is a next page', () => {
  const rows = ['c', 'b', 'a'].map((id, index) => ({ createdAt: 9 - index, id }))
  assert.deepEqual(pageRequest({ limit: 2 }), { limit: 3, before: { createdAt: Number.MAX_SAFE_INTEGER, id: '' } })
  assert.deepEqual(pageOf(rows, { limit: 2 }), { data: rows.slice(0, 2), nextCursor: encodeCursor(rows[1]!) })
  assert.deepEqual(pageOf(rows, { limit: 3 }), { data: rows, nextCursor: null })
  assert.deepEqual(pageOf([], { limit: 3 }), { data: [], nextCursor: null })
})
