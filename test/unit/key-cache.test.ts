/** Which looked-up API keys are cached, which are not, and which are read together. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeyCache } from '../../src/access/key-cache.ts'
import type { StoredApiKey } from '../../src/store/queries/api-keys.ts'
import { StoreUnavailable } from '../../src/store/store.ts'

const key = (id: string): StoredApiKey => ({
  id,
  agentId: 'agt_a',
  ownerId: 'own_a',
  agentName: 'A',
  agentCreatedAt: 0,
  permission: 'full',
  rateLimit: 1,
  rateWindowSeconds: 1,
  defaultExternalUserId: null,
  mcp: true,
  secrets: [],
})

/** A cache over ids of which those that start with `real` exist, and the ids that were read. */
function makeCache() {
  const reads: string[] = []
  const load = async (keyIds: string[]): Promise<(StoredApiKey | undefined)[]> => {
    reads.push(...keyIds)
    return keyIds.map((keyId) => (keyId.startsWith('real') ? key(keyId) : undefined))
  }
  return { cache: createKeyCache({ load, monotonicMs: () => 0 }), reads }
}

void test('key cache: made-up ids are not cached and evict no valid key', async () => {
  const { cache, reads } = makeCache()
  await cache.find('real')
  for (let n = 0; n < 20_000; n++) assert.equal((await cache.find(`made-up-${n}`)).key, undefined)
  assert.equal((await cache.find('real')).key?.id, 'real')
  await cache.find('made-up-0')
  assert.deepEqual([reads.length, reads.filter((id) => id === 'real').length, reads.at(-1)], [20_002, 1, 'made-up-0'])
})

void test('key cache: of real keys the 10,000 most recently read are cached', async () => {
  const { cache, reads } = makeCache()
  for (let n = 0; n <= 10_000; n++) await cache.find(`real-${n}`)
  for (let n = 1; n <= 10_000; n++) await cache.find(`real-${n}`)
  assert.equal(reads.length, 10_001)
  await cache.find('real-0')
  assert.equal(reads.length, 10_002)
})

void test('key cache: a read that failed is repeated', async () => {
  let broken = true
  const load = async (): Promise<StoredApiKey[]> => {
    if (broken) throw new Error('gone')
    return [key('real')]
  }
  const cache = createKeyCache({ load, monotonicMs: () => 0 })
  await assert.rejects(Promise.all([cache.find('real'), cache.find('real')]), /gone/)
  broken = false
  assert.equal((await cache.find('real')).key?.id, 'real')
})

/** A cache whose reads the test answers, one after the other, with a clock that it moves. */
function makeHeldCache() {
  const clock = { now: 0 }
  const loads: { keyIds: string[]; answer(): void; fail(error?: Error): void }[] = []
  const load = (keyIds: string[]): Promise<(StoredApiKey | undefined)[]> => {
    const { promise, resolve, reject } = Promise.withResolvers<(StoredApiKey | undefined)[]>()
    loads.push({
      keyIds,
      answer: () => resolve(keyIds.map((keyId) => (keyId.startsWith('real') ? key(keyId) : undefined))),
      fail: (error = new StoreUnavailable('away')) => reject(error),
    })
    return promise
  }
  return { cache: createKeyCache({ load, monotonicMs: () => clock.now }), clock, loads }
}

void test('order.authentication: made-up ids are read together, and after a key that was valid a moment ago', async () => {
  const { cache, clock, loads } = makeHeldCache()
  const first = cache.find('real')
  loads[0]!.answer()
  await first
  clock.now = 1_000
  const made = Array.from({ length: 250 }, (_, n) => cache.find(`made-up-${n}`))
  const known = cache.find('real')
  assert.deepEqual(loads[1]!.keyIds, ['made-up-0'])
  loads[1]!.answer()
  await made[0]
  assert.deepEqual(loads[2]!.keyIds, ['real', ...Array.from({ length: 99 }, (_, n) => `made-up-${n + 1}`)])
  loads[2]!.answer()
  assert.equal((await known).key?.id, 'real')
  await made[99]
  loads[3]!.answer()
  await made[199]
  loads[4]!.answer()
  for (const found of await Promise.all(made)) assert.equal(found.key, undefined)
  assert.equal(loads.length, 5)
})

void test('order.authentication: when a read fails, those that wait behind it fail with it, and a slow one delays no later one', async () => {
  const { cache, clock, loads } = makeHeldCache()
  const slow = [cache.find('real-1'), cache.find('real-2')]
  loads[0]!.fail()
  for (const outcome of await Promise.allSettled(slow)) assert.equal(outcome.status, 'rejected')
  assert.equal(loads.length, 1)
  const stuck = cache.find('real-3')
  clock.now = 1_000
  const later = cache.find('real-4')
  loads[2]!.answer()
  assert.equal((await later).key?.id, 'real-4')
  loads[1]!.answer()
  assert.equal((await stuck).key?.id, 'real-3')
})

void test('order.authentication: while the store does not answer, a key counts as it was confirmed at most five seconds ago', async () => {
  const { cache, clock, loads } = makeHeldCache()
  const find = async (keyId: string, then: 'answer' | 'fail', error?: Error) => {
    const found = cache.find(keyId)
    loads.at(-1)![then](error)
    return found
  }
  const away = { message: 'away' }
  await find('real', 'answer')
  clock.now = 4_999
  assert.deepEqual(await find('real', 'fail'), { key: key('real'), readAt: 0 })
  await assert.rejects(find('real-2', 'fail'), away)
  await assert.rejects(find('real', 'fail', new Error('a bug')), { message: 'a bug' })
  // A failed read confirms nothing.
  clock.now = 5_000
  await assert.rejects(find('real', 'fail'), away)
  // A change that this process made or was notified of, also while it asks.
  await find('real', 'answer')
  clock.now = 6_000
  const asking = cache.find('real')
  cache.clear()
  loads.at(-1)!.fail()
  await assert.rejects(Promise.resolve(asking), away)
  await assert.rejects(find('real', 'fail'), away)
})

void test('order.authentication: a key that was not there when it was last read is not accepted while the store does not answer', async () => {
  const { cache, clock, loads } = makeHeldCache()
  const first = cache.find('real')
  loads[0]!.answer()
  await first
  clock.now = 1_000
  const gone = cache.find('real')
  loads[1]!.keyIds[0] = 'revoked'
  loads[1]!.answer()
  assert.equal((await gone).key, undefined)
  const again = cache.find('real')
  loads[2]!.fail()
  await assert.rejects(Promise.resolve(again), { message: 'away' })
})
