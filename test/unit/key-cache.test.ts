/** Which looked-up API keys are cached, and which are not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeyCache } from '../../src/access/key-cache.ts'
import type { StoredApiKey } from '../../src/store/queries/api-keys.ts'

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
  const load = async (keyId: string): Promise<StoredApiKey | undefined> => {
    reads.push(keyId)
    return keyId.startsWith('real') ? key(keyId) : undefined
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
  const load = async (): Promise<StoredApiKey> => {
    if (broken) throw new Error('gone')
    return key('real')
  }
  const cache = createKeyCache({ load, monotonicMs: () => 0 })
  await assert.rejects(Promise.all([cache.find('real'), cache.find('real')]), /gone/)
  broken = false
  assert.equal((await cache.find('real')).key?.id, 'real')
})
