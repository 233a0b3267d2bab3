/** Reads of callers: how many run at a time, in which order, and what becomes of those that wait for a store that does not answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreUnavailable } from '../../src/store/store.ts'
import { ReadQueue } from '../../src/turn/read-queue.ts'

const away = (): Promise<never> => Promise.reject(new StoreUnavailable('away'))

void test('overload.reads: two reads run at a time, and owners take turns', async () => {
  const queue = new ReadQueue()
  const order: string[] = []
  let running = 0
  let most = 0
  const ask = (shareOf: string) =>
    queue.run(shareOf, async () => {
      order.push(shareOf)
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running--
      return shareOf
    })
  const many = Array.from({ length: 600 }, () => ask('own_many'))
  assert.equal(await ask('own_one'), 'own_one')
  assert.ok(order.length <= 6, `${order.length} reads were started`)
  assert.deepEqual(new Set(await Promise.all(many)), new Set(['own_many']))
  assert.equal(most, 2)
})

void test('overload.reads: those that wait for a store that does not answer fail with the ones that ran, and a later one asks again', async () => {
  const queue = new ReadQueue()
  let asked = 0
  const ask = () =>
    queue.run('own_a', () => {
      asked++
      return away()
    })
  const outcomes = await Promise.allSettled(Array.from({ length: 600 }, ask))
  assert.ok(outcomes.every(({ status }) => status === 'rejected'))
  assert.ok(asked <= 4, `${asked} reads`)
  assert.equal(await queue.run('own_a', async () => 'there'), 'there')
})

void test('overload.reads: a read that fails affects no other one', async () => {
  const queue = new ReadQueue()
  const outcomes = await Promise.allSettled([
    queue.run('own_a', () => Promise.reject(new Error('a bug'))),
    queue.run('own_a', async () => 1),
    queue.run('own_a', async () => 2),
  ])
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled'],
  )
})
