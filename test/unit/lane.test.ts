/** The batching lane: what waits leaves together, in order, never twice, and one item's error is its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Each } from '../../src/store/store.ts'
import { Lane } from '../../src/turn/lane.ts'

type Item = { id: number; user: string }
type Outcome = { kind: 'done'; id: number }

void test('a lane holds the next batch until the one before has returned, at most 64 items, one per key', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(20), { minLength: 1, maxLength: 300 }), async (users) => {
      let sending = 0
      const seen: number[] = []
      const lane = new Lane<Item, Outcome>(
        async (items) => {
          assert.equal(++sending, 1, 'two batches at once')
          assert.ok(items.length <= 64)
          assert.equal(new Set(items.map(({ user }) => user)).size, items.length, 'a key twice in a batch')
          seen.push(...items.map(({ id }) => id))
          await new Promise((resolve) => setImmediate(resolve))
          sending--
          return items.map(({ id }) => ({ kind: 'done', id }))
        },
        ({ user }) => [user],
      )
      const items = users.map((user, id) => ({ id, user: `user-${user}` }))
      const outcomes = await Promise.all(items.map((item) => lane.push(item)))
      assert.deepEqual(
        outcomes.map(({ id }) => id),
        items.map(({ id }) => id),
      )
      assert.deepEqual(
        seen.toSorted((a, b) => a - b),
        items.map(({ id }) => id),
      )
      for (const user of new Set(users)) {
        const order = seen.filter((id) => users[id] === user)
        assert.deepEqual(
          order,
          order.toSorted((a, b) => a - b),
          'one key in the order it came',
        )
      }
    }),
    { numRuns: 30 },
  )
})

void test('an error of one item rejects that item alone; an error of the batch rejects its items and the lane goes on', async () => {
  let batches = 0
  const lane = new Lane<Item, Outcome>(
    async (items) => {
      if (++batches === 2) throw new Error('lost')
      return items.map(({ id }): Each<Outcome> => (id === 1 ? { kind: 'error', error: new Error('bad row') } : { kind: 'done', id }))
    },
    ({ user }) => [user],
  )
  const first = await Promise.allSettled([0, 1, 2].map((id) => lane.push({ id, user: `${id}` })))
  assert.deepEqual(
    first.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  await assert.rejects(lane.push({ id: 3, user: 'x' }), /lost/)
  assert.deepEqual(await lane.push({ id: 4, user: 'x' }), { kind: 'done', id: 4 })
})
