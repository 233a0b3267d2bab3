/** Admin API: when a key was last used, without a write per request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { createLastUse } from '../../src/access/last-use.ts'
import { openOwnStore } from '../support/own-store.ts'
import { Bench } from './conformance.ts'

void test("keys: a thousand uses are one write, at the time of the last one, by the store's clock", async (t) => {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000n)
  let monotonic = 0
  let writes = 0
  const counted: Pick<typeof store, 'write'> = {
    write: {
      ...store.write,
      touchApiKeys: (uses) => {
        writes++
        return store.write.touchApiKeys(uses)
      },
    },
  }
  const lastUse = createLastUse({ store: counted, monotonicMs: () => monotonic, log: pino({ level: 'silent' }) })
  for (; monotonic < 1000; monotonic++) lastUse.saw(bench.apiKeyId)
  monotonic += 29_000
  const before = await store.read.storeTime()
  await lastUse.stop()
  assert.equal(writes, 1)
  const used = (await store.read.findApiKeyRecord(bench.apiKeyId))!.lastUsedAt!
  assert.ok(used >= before - 29_001 && used <= (await store.read.storeTime()) - 29_001, `${before - used} ms ago`)
  await lastUse.stop()
  assert.equal(writes, 1, 'nothing new, nothing written')
})

void test('keys: a last use that could not be written is written the next time', async (t) => {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000n)
  let fails = true
  const failing: Pick<typeof store, 'write'> = {
    write: { ...store.write, touchApiKeys: (uses) => (fails ? Promise.reject(new Error('no')) : store.write.touchApiKeys(uses)) },
  }
  const lastUse = createLastUse({ store: failing, monotonicMs: () => 0, log: pino({ level: 'silent' }) })
  lastUse.saw(bench.apiKeyId)
  await lastUse.stop()
  fails = false
  await lastUse.stop()
  assert.notEqual((await store.read.findApiKeyRecord(bench.apiKeyId))!.lastUsedAt, null)
})
