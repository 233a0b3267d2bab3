/** `ids`: their format and their order. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createIds } from '../../src/ids.ts'

void test('ids: a request id is a UUID, every other id its prefix, _ and a lower-case ULID', () => {
  const { newId, newRequestId } = createIds()
  assert.match(newRequestId(), /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  for (const prefix of ['own', 'prv', 'agt', 'key', 'conv', 'msg', 'doc', 'led'] as const) {
    assert.match(newId(prefix), new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`))
  }
})

void test('ids: each is greater than the one before, even when many are created in one millisecond', () => {
  const { newId } = createIds()
  const made = Array.from({ length: 10_000 }, () => newId('msg'))
  const fallen = made.filter((id, at) => at > 0 && id <= made[at - 1]!)
  assert.equal(fallen.length, 0)
})
