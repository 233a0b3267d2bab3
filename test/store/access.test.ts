/** Authentication and rate limiting on a real store (docs/spec.md, "Keys" and "Rate limit"). */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { apiKeyFields } from '../../src/resources/api-key.ts'
import { initialOf } from '../../src/resources/field.ts'
import { createAccess } from '../../src/access/access.ts'
import { digestSecret, makeApiKey } from '../../src/access/api-key.ts'
import type { Access } from '../../src/access/outcome.ts'
import { createMemoryWindow } from '../../src/access/rate-window.ts'
import type { RateWindow } from '../../src/access/rate-window.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Store } from '../../src/store/store.ts'
import { openOwnStore } from '../support/own-store.ts'
import type { OwnStore } from '../support/own-store.ts'
import { Bench } from './conformance.ts'

const refused = { kind: 'invalid_api_key' }

type Watched = { store: Store; reads: string[]; before: () => Promise<void>; after: () => Promise<void> }

/** The real store; its reads are counted, and a test may delay one before or after it. */
function watch(store: Store): Watched {
  const watched: Watched = { store, reads: [], before: async () => {}, after: async () => {} }
  const findApiKeys: Store['read']['findApiKeys'] = async (keyIds) => {
    watched.reads.push(...keyIds)
    await watched.before()
    const value = await store.read.findApiKeys(keyIds)
    await watched.after()
    return value
  }
  watched.store = { ...store, read: { ...store.read, findApiKeys } }
  return watched
}

async function setUp(t: TestContext, options: { window?: RateWindow; windowDeadlineMs?: number } = {}) {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000_000n)
  const watched = watch(store)
  const clock = { now: 1_000 }
  const monotonicMs = (): number => clock.now
  const lines: string[] = []
  const log = pino({}, { write: (line) => void lines.push(line) })
  const window = options.window ?? createMemoryWindow({ monotonicMs, wallMs: monotonicMs })
  const { windowDeadlineMs = 30_000 } = options
  const access = createAccess({ store: watched.store, window, monotonicMs, log, windowDeadlineMs })
  return { store, bench, watched, clock, access, lines }
}

async function makeKey(store: OwnStore, agentId: string, changes: { permission?: 'read-only' } = {}) {
  const made = makeApiKey(randomBytes)
  const id = `key_${made.keyId}`
  const fields = {
    id,
    keyId: made.keyId,
    agentId,
    name: null,
    permission: 'full' as const,
    rateLimit: { limit: 7, windowSeconds: 30 },
    defaultExternalUserId: 'desk',
    mcp: false,
    ...changes,
  }
  await store.write.createApiKey({ ...fields, digest: digestSecret(made.secret) })
  return { id, ...made }
}

const enter = async (access: Access, text: string) => access.authenticate(`Bearer ${text}`)

void test('keys: a live key authenticates with the data of its row and its agent', async (t) => {
  const { store, bench, access } = await setUp(t)
  const key = await makeKey(store, bench.agentId, { permission: 'read-only' })
  const apiKey = {
    id: key.id,
    agentId: bench.agentId,
    ownerId: bench.ownerId,
    agentName: 'n',
    agentCreatedAt: (await store.read.findAgent(bench.agentId))!.createdAt,
    permission: 'read-only',
    rateLimit: 7,
    rateWindowSeconds: 30,
    defaultExternalUserId: 'desk',
    mcp: false,
  }
  assert.deepEqual(await enter(access, key.text), { kind: 'authenticated', apiKey })
  await store.write.deleteAgent(bench.agentId)
  assert.deepEqual(await enter(access, key.text), { kind: 'authenticated', apiKey }, 'a deleted agent leaves its keys valid')
})

void test('keys: the scheme is case-insensitive, and white space around the credential is ignored', async (t) => {
  const { store, bench, access } = await setUp(t)
  const { text } = await makeKey(store, bench.agentId)
  for (const header of [`Bearer ${text}`, `bearer ${text}`, `BEARER   ${text}`, ` Bearer\t${text} `]) {
    assert.equal((await access.authenticate(header)).kind, 'authenticated', header)
  }
})

void test('order.authentication: unknown id, wrong secret, malformed, revoked, missing and other schemes get the same response', async (t) => {
  const { store, bench, access, watched } = await setUp(t)
  const { text, keyId, id } = await makeKey(store, bench.agentId)
  const revoked = await makeKey(store, bench.agentId)
  await store.write.revokeApiKey(revoked.id)
  const wrongSecret = makeApiKey(randomBytes, keyId).text
  const unknown = makeApiKey(randomBytes).text
  const otherDigest = `svc_live_${keyId}.${Buffer.from(digestSecret(text)).toString('base64url')}`
  const headers = [
    `Basic ${text}`,
    text,
    `Bearer ${text} ${text}`,
    `Bearer,${text}`,
    'Bearer',
    'Bearer ',
    '',
    undefined,
    `Bearer ${'a'.repeat(10_000)}`,
  ]
  const tokens = [
    wrongSecret,
    unknown,
    revoked.text,
    otherDigest,
    text.replace('.', ''),
    `${text}.`,
    text.toUpperCase(),
    `${text}é`,
    id,
    keyId,
  ]
  for (const header of [...headers, ...tokens.map((token) => `Bearer ${token}`)])
    assert.deepEqual(await access.authenticate(header), refused, header)
  // Only a complete key with a correct checksum is looked up at all.
  assert.deepEqual(watched.reads, [keyId, makeKeyId(unknown), revoked.keyId])
})

const makeKeyId = (text: string): string => text.slice('svc_live_'.length).split('.')[0]!

void test('order.authentication: a key that cannot be looked up is service_unavailable, never invalid_api_key, and works again afterwards', async (t) => {
  const { store, bench, access, watched, lines } = await setUp(t)
  const { text } = await makeKey(store, bench.agentId)
  watched.before = () => Promise.reject(new StoreUnavailable('disk gone'))
  assert.deepEqual(await enter(access, text), { kind: 'service_unavailable' })
  assert.match(lines.join(), /disk gone/)
  assert.equal(lines.join().includes(text), false)
  watched.before = () => Promise.reject(new Error('a bug'))
  await assert.rejects(enter(access, text), /a bug/)
  watched.before = async () => {}
  assert.equal((await enter(access, text)).kind, 'authenticated')
})

void test("conversation.identity: both secrets of a key authenticate as the same key until the old one's grace period ends", async (t) => {
  const { store, bench, access, clock } = await setUp(t)
  const old = await makeKey(store, bench.agentId)
  const fresh = makeApiKey(randomBytes, old.keyId)
  await store.write.rotateApiKey(old.id, digestSecret(fresh.secret), 500)
  const [byOld, byFresh] = [await enter(access, old.text), await enter(access, fresh.text)]
  assert.equal(byOld.kind, 'authenticated')
  assert.deepEqual(byOld, byFresh)
  // Still from the cached read: the grace period is checked on it too.
  clock.now += 501
  assert.deepEqual(await enter(access, old.text), refused)
  assert.equal((await enter(access, fresh.text)).kind, 'authenticated')
  // And from a new read, by the store's clock.
  await store.moveClock(501)
  clock.now += 1_000
  assert.deepEqual(await enter(access, old.text), refused)
  assert.equal((await enter(access, fresh.text)).kind, 'authenticated')
})

void test('keys: a read is cached for a second, and concurrent callers share one read', async (t) => {
  const { store, bench, access, watched, clock } = await setUp(t)
  const { text } = await makeKey(store, bench.agentId)
  let changes = 0
  store.onChange(() => changes++)
  async function measured(): Promise<number[]> {
    const before = changes
    clock.now += 2_000
    watched.reads.length = 0
    const answers = await Promise.all(Array.from({ length: 50 }, () => enter(access, text)))
    assert.equal(answers.filter(({ kind }) => kind === 'authenticated').length, 50)
    clock.now += 999
    await enter(access, text)
    const atFirst = watched.reads.length
    clock.now += 1
    await enter(access, text)
    // PostgreSQL sends the notification of the key's creation at any time, and cached keys are read again then.
    return changes === before ? [atFirst, watched.reads.length] : measured()
  }
  assert.deepEqual(await measured(), [1, 2])
})

void test('keys: a revocation through this store applies to the next request, however fresh the cached key is', async (t) => {
  const { store, bench, access } = await setUp(t)
  const { text, id } = await makeKey(store, bench.agentId)
  assert.equal((await enter(access, text)).kind, 'authenticated')
  await store.write.revokeApiKey(id)
  assert.deepEqual(await enter(access, text), refused)
})

void test('keys: a read that is running during a revocation is neither cached nor shared with a later request', async (t) => {
  const { store, bench, access, watched } = await setUp(t)
  const { text, id } = await makeKey(store, bench.agentId)
  const wasRead = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  watched.after = () => (wasRead.resolve(), goOn.promise)
  const before = enter(access, text)
  await wasRead.promise
  await store.write.revokeApiKey(id)
  watched.after = async () => {}
  assert.deepEqual(await enter(access, text), refused)
  goOn.resolve()
  assert.equal((await before).kind, 'authenticated', 'it asked before the revocation')
  assert.deepEqual(await enter(access, text), refused)
})

void test('keys: a read that takes too long is not shared, so no result older than a second is used', async (t) => {
  const { store, bench, access, watched, clock } = await setUp(t)
  const { text } = await makeKey(store, bench.agentId)
  const started = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  watched.before = () => (started.resolve(), goOn.promise)
  const slow = enter(access, text)
  await started.promise
  watched.before = async () => {}
  clock.now += 1_000
  assert.equal((await enter(access, text)).kind, 'authenticated')
  goOn.resolve()
  assert.equal((await slow).kind, 'authenticated')
  assert.equal(watched.reads.length, 2)
})

void test('keys: a key works as soon as it is created, also after a failed lookup of it', async (t) => {
  const { store, bench, access } = await setUp(t)
  const later = makeApiKey(randomBytes)
  assert.deepEqual(await enter(access, later.text), refused)
  const row = { id: 'key_later', keyId: later.keyId, agentId: bench.agentId, name: null }
  await store.write.createApiKey({ ...initialOf(apiKeyFields), ...row, permission: 'full', digest: digestSecret(later.secret) })
  assert.equal((await enter(access, later.text)).kind, 'authenticated')
})

void test("rate.spend: spends from the key's own window with the key's own limit", async (t) => {
  const { store, bench, access } = await setUp(t)
  const [a, b] = [await makeKey(store, bench.agentId), await makeKey(store, bench.agentId)]
  const [inA, inB] = [await enter(access, a.text), await enter(access, b.text)]
  assert.ok(inA.kind === 'authenticated' && inB.kind === 'authenticated')
  for (let left = 6; left >= 0; left--) {
    assert.deepEqual(await access.spend(inA.apiKey), { kind: 'allowed', figures: { limit: 7, remaining: left, resetAt: 32 } })
  }
  assert.deepEqual(await access.spend(inA.apiKey), {
    kind: 'exceeded',
    figures: { limit: 7, remaining: 0, resetAt: 32 },
    retryAfterSeconds: 30,
  })
  assert.equal((await access.spend(inB.apiKey)).kind, 'allowed')
})

void test('rate.fail-closed: an error or a timeout of the window is unavailable, never a pass and never exceeded', async (t) => {
  const failures: RateWindow['spend'][] = [
    () => Promise.reject(new Error('READONLY')),
    () => {
      throw new Error('at once')
    },
    () => new Promise(() => {}),
  ]
  for (const spend of failures) {
    const window = { spend, ping: async () => {}, close: async () => {} }
    const { store, bench, access, clock, lines } = await setUp(t, { window, windowDeadlineMs: 20 })
    const entered = await enter(access, (await makeKey(store, bench.agentId)).text)
    assert.ok(entered.kind === 'authenticated')
    const { apiKey } = entered
    const refused = async () => assert.deepEqual(await access.spend(apiKey), { kind: 'unavailable' })
    await refused()
    assert.equal(lines.length, 1)
    // An outage is logged when it starts and then every ten seconds, with the number of requests it refused.
    for (let n = 0; n < 3; n++) await refused()
    assert.equal(lines.length, 1)
    clock.now += 10_000
    await refused()
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).refused),
      [1, 4],
    )
  }
})

// The ends of a key that a process makes or hears of, while its store does not answer afterwards.
for (const [end, expected, act] of [
  ['nothing', 'authenticated', async () => undefined],
  ['a revocation', 'service_unavailable', ({ store, id }) => store.write.revokeApiKey(id)],
  ['a rotation that ends the old secret', 'service_unavailable', ({ store, id, digest }) => store.write.rotateApiKey(id, digest, 0)],
  ['the deletion of the agent', 'service_unavailable', ({ store, bench }) => store.write.deleteAgent(bench.agentId)],
] as [string, string, (at: { store: OwnStore; bench: Bench; id: string; digest: Uint8Array }) => Promise<unknown>][])
  void test(`order.authentication: the store does not answer: after ${end} a known key is ${expected}`, async (t) => {
    const { store, bench, access, watched, clock } = await setUp(t)
    const { text, id, keyId } = await makeKey(store, bench.agentId)
    assert.equal((await enter(access, text)).kind, 'authenticated')
    if (end === 'nothing') await settledNotifications(access, text, clock)
    await act({ store, bench, id, digest: digestSecret(makeApiKey(randomBytes, keyId).secret) })
    watched.before = () => Promise.reject(new StoreUnavailable('away'))
    clock.now += 1_000
    assert.equal((await enter(access, text)).kind, expected)
    clock.now += 4_000
    assert.equal((await enter(access, text)).kind, 'service_unavailable', 'five seconds later')
  })

/** PostgreSQL sends the notification of the key's creation at any time, and forgets the key then. */
async function settledNotifications(access: Access, text: string, clock: { now: number }): Promise<void> {
  for (let round = 0; round < 20; round++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    clock.now += 1_000
    assert.equal((await enter(access, text)).kind, 'authenticated')
  }
}

void test('order.authentication: the store does not answer: the grace period of a rotated secret ends on time', async (t) => {
  const { store, bench, access, watched, clock } = await setUp(t)
  /** Returns both secrets of a key, of which the old one is valid for 1.5 to 4.5 s more. On a busy machine, it is rotated again. */
  const rotate = async (): Promise<{ old: string; fresh: string }> => {
    for (;;) {
      const old = await makeKey(store, bench.agentId)
      const fresh = makeApiKey(randomBytes, old.keyId)
      const rotatedAt = performance.now()
      await store.write.rotateApiKey(old.id, digestSecret(fresh.secret), 60_000)
      await settledNotifications(access, fresh.text, clock)
      await store.moveClock(55_500)
      clock.now += 1_000
      const { kind } = await enter(access, old.text)
      if (performance.now() - rotatedAt > 3_000) continue
      assert.equal(kind, 'authenticated')
      return { old: old.text, fresh: fresh.text }
    }
  }
  const { old, fresh } = await rotate()
  watched.before = () => Promise.reject(new StoreUnavailable('away'))
  clock.now += 1_000
  assert.equal((await enter(access, old)).kind, 'authenticated')
  clock.now += 3_900
  assert.deepEqual(await enter(access, old), refused)
  assert.equal((await enter(access, fresh)).kind, 'authenticated')
})
