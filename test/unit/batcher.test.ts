/** The batcher: waiting items leave together, in order, never twice, and an item's error is its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { maxBytes } from '../../src/store/budget.ts'
import type { Each, Later } from '../../src/store/store.ts'
import { Batcher } from '../../src/turn/batcher.ts'

type Item = { id: number; user: string }
type Outcome = { kind: 'done'; id: number }

void test('batcher: holds the next batch until the previous one has returned, at most 64 items, one per key', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(20), { minLength: 1, maxLength: 300 }), async (users) => {
      let sending = 0
      const seen: number[] = []
      const batcher = new Batcher<Item, Outcome>(
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
      const outcomes = await Promise.all(items.map((item) => batcher.push(item)))
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

void test("batcher: an item's error rejects that item alone; a batch's error rejects its items, and the next batch is sent", async () => {
  let batches = 0
  const batcher = new Batcher<Item, Outcome>(
    async (items) => {
      if (++batches === 2) throw new Error('lost')
      return items.map(({ id }): Each<Outcome> => (id === 1 ? { kind: 'error', error: new Error('bad row') } : { kind: 'done', id }))
    },
    ({ user }) => [user],
  )
  const first = await Promise.allSettled([0, 1, 2].map((id) => batcher.push({ id, user: `${id}` })))
  assert.deepEqual(
    first.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  await assert.rejects(batcher.push({ id: 3, user: 'x' }), /lost/)
  assert.deepEqual(await batcher.push({ id: 4, user: 'x' }), { kind: 'done', id: 4 })
})

void test("overload.queue: if more items wait than a batch holds, owners take turns: one message does not wait behind another owner's many", async () => {
  const batches: Item[][] = []
  const batcher = new Batcher<Item, Outcome>(
    async (items) => {
      batches.push(items)
      await new Promise((resolve) => setImmediate(resolve))
      return items.map(({ id }) => ({ kind: 'done', id }))
    },
    ({ id }) => [`${id}`],
  )
  const pushed: Promise<Outcome>[] = []
  const push = (user: string, count: number): void => {
    for (let index = 0; index < count; index++) pushed.push(batcher.push({ id: pushed.length, user }, user))
  }
  push('flood', 900)
  push('second', 100)
  for (let owner = 0; owner < 70; owner++) push(`one of ${owner}`, 1)
  await Promise.all(pushed)
  const of = (batch: number, user: string): number => batches[batch]!.filter((item) => item.user.startsWith(user)).length
  assert.deepEqual([of(0, 'flood'), of(0, 'second'), of(0, 'one of')], [1, 1, 62])
  // The eight that had no turn come before the second turn of the others, which then share what is left.
  assert.deepEqual([of(1, 'one of'), of(1, 'flood'), of(1, 'second')], [8, 28, 28])
  assert.deepEqual([of(2, 'flood'), of(2, 'second')], [32, 32])
  for (const user of ['flood', 'second']) {
    const order = batches.flat().filter((item) => item.user === user)
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a.id - b.id),
      `${user} in the order it came`,
    )
  }
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [...Array.from({ length: 16 }, () => 64), 46],
    'no batch leaves a place empty',
  )
})

void test('batcher: a batch is bounded by bytes; a larger item goes alone, and small ones do not wait behind it', async () => {
  const batches: number[][] = []
  const batcher = new Batcher<Item, Outcome>(
    async (items) => {
      batches.push(items.map(({ id }) => id))
      return items.map(({ id }) => ({ kind: 'done', id }))
    },
    ({ user }) => [user],
    ({ id }) => sizes[id]!,
  )
  const sizes = [1, 2 * maxBytes, 1, maxBytes, 1, 1, maxBytes - 1]
  const users = ['a', 'b', 'c', 'd', 'b', 'e', 'f']
  await Promise.all(sizes.map((_, id) => batcher.push({ id, user: users[id]! })))
  assert.deepEqual(batches, [[0, 2, 5], [1], [3], [4, 6]], 'items with the same key keep their order')
})

void test('batcher: an item that is answered `later` is sent again, first', async () => {
  const batches: number[][] = []
  const batcher = new Batcher<Item, Outcome>(
    async (items) => {
      batches.push(items.map(({ id }) => id))
      await new Promise((resolve) => setImmediate(resolve))
      return items.map(({ id }, index): Each<Outcome> | Later => (index < 2 ? { kind: 'done', id } : { kind: 'later' }))
    },
    ({ id }) => [`${id}`],
  )
  const pushed = [0, 1, 2, 3, 4].map((id) => batcher.push({ id, user: '' }))
  await new Promise((resolve) => queueMicrotask(() => resolve(undefined)))
  pushed.push(batcher.push({ id: 5, user: '' }))
  assert.deepEqual(
    (await Promise.all(pushed)).map(({ id }) => id),
    [0, 1, 2, 3, 4, 5],
  )
  assert.deepEqual(batches, [
    [0, 1, 2, 3, 4],
    [2, 3, 4, 5],
    [4, 5],
  ])
})

void test('batcher: a store that answers nothing is an error, not a loop', async () => {
  const batcher = new Batcher<Item, Outcome>(
    async (items) => items.map((): Later => ({ kind: 'later' })),
    ({ id }) => [`${id}`],
  )
  await assert.rejects(batcher.push({ id: 1, user: '' }), /returned nothing/)
})

void test('batcher: after a batch that failed as a whole the next is half as large, down to one item, and grows by one with each that succeeds', async () => {
  const batches: number[] = []
  // What a deadline does to a store that handles nine items in time.
  const batcher = new Batcher<Item, Outcome>(
    async (items) => {
      batches.push(items.length)
      await new Promise((resolve) => setImmediate(resolve))
      if (items.length > 9) throw new Error('not in time')
      return items.map(({ id }) => ({ kind: 'done', id }))
    },
    ({ id }) => [`${id}`],
  )
  /** Sends it again until it succeeds, as a caller does. */
  const send = async (id: number): Promise<Outcome> => batcher.push({ id, user: '' }).catch(() => send(id))
  await Promise.all(Array.from({ length: 64 }, (_, id) => send(id)))
  assert.deepEqual(batches.slice(0, 12), [64, 32, 16, 8, 9, 10, 5, 6, 7, 8, 9, 10])
  assert.deepEqual(batches.filter((items) => items > 9).length, 5)
  // An item with an error of its own does not count.
  const mixed: number[] = []
  const other = new Batcher<Item, Outcome>(
    async (items) => {
      mixed.push(items.length)
      return items.map(({ id }): Each<Outcome> => (id === 0 ? { kind: 'error', error: new Error('bad row') } : { kind: 'done', id }))
    },
    ({ id }) => [`${id}`],
  )
  for (let round = 0; round < 2; round++) await Promise.allSettled(Array.from({ length: 64 }, (_, id) => other.push({ id, user: '' })))
  assert.deepEqual(mixed, [64, 64])
})
