/**
 * The limits of what fits: the longest and strangest texts are returned byte for byte, the largest amounts exactly; stuck statements do not
 * delay turns.
 */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { pino } from 'pino'
import { apiKeyFields } from '../../src/resources/api-key.ts'
import { initialOf } from '../../src/resources/field.ts'
import { createAccess } from '../../src/access/access.ts'
import { digestSecret, makeApiKey } from '../../src/access/api-key.ts'
import { createMemoryWindow } from '../../src/access/rate-window.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { StoredReply } from '../../src/store/turn-records.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { until } from '../support/until.ts'
import { noPostgres, withClient } from '../support/postgres-server.ts'
import { Bench } from './conformance.ts'

const maxMessage = 32_000
const slackMs = 5_000
const deadlines = { admissionMs: 60_000, settlementMs: 60_000 }
const odd = `\u{2028}\u{2029}"'\\\\u0041 \${x} $1 %s ' ; \u{1}\u{7f}\r\n\t\u{fffd}\u{feff}e\u{301}é\u{10ffff}{"a":[1]}--`

void test(
  'postgres: idempotency.replay: the longest and strangest texts are returned byte for byte, from history, replay and listing',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const store = await database.open({ deadlines })
    const bench = await Bench.make(store, 10n ** 15n, 200_000)
    const message = odd + '😀'.repeat(maxMessage - [...odd].length)
    assert.equal([...message].length, maxMessage)
    const content = '\u{10ffff}'.repeat(maxMessage) + odd
    const admission = bench.admission({
      message,
      externalUserId: '\u{10ffff}'.repeat(255 - [...odd].length) + odd,
      idempotencyKey: odd + '\u{1f937}'.repeat(255 - [...odd].length),
    })
    const [outcome] = await store.admitMany([admission])
    assert.ok(outcome?.kind === 'admitted', outcome?.kind)
    assert.equal(outcome.turn.message, message)
    const settled = await bench.settle(outcome.turn, { content, contentTokens: 64_000 })
    const { reply } = settled as { reply: StoredReply }
    assert.equal(reply.content, content)
    assert.deepEqual((await store.admitMany([{ ...admission, requestId: randomUUID() }]))[0], { kind: 'replay', reply })
    const next = await bench.admitted({ externalUserId: admission.externalUserId })
    assert.equal(next.conversationId, outcome.turn.conversationId)
    assert.deepEqual(next.history, [
      { role: 'user', content: message },
      { role: 'assistant', content },
    ])
    const page = { limit: 10, before: { createdAt: 2 ** 52, id: '' } }
    const listed = await store.read.listMessages({ ...page, apiKeyId: bench.apiKeyId, conversationId: next.conversationId })
    assert.deepEqual(new Set(listed?.items.map((one) => one.content)), new Set([message, content]))
    // The journal's texts are JSON, in which anything may be quoted.
    const payload = JSON.stringify({ text: odd, nul: '\0', half: '\ud83d' })
    const entry = { step: 1, part: 2, kind: 'tool_finished' as const, payload }
    assert.equal((await bench.advance(next, { entries: [entry] })).kind, 'advanced')
    await store.releaseLeases([next])
    const { turns } = await store.claimOrphans({ which: 'fresh', limit: 1, leaseMs: 15_000, running: [] })
    assert.deepEqual(turns[0]!.journal, [entry])
    assert.equal(turns[0]!.history.length, 2)
    await bench.verify()
  },
)

void test('postgres: a failure cause that no column can store still ends its turn', { skip: noPostgres() }, async (t) => {
  const database = await ownPostgres(t)
  const store = await database.open({ deadlines })
  const bench = await Bench.make(store, 1_000_000n)
  const turns = [await bench.admitted(), await bench.admitted()]
  const failures = turns.map(({ requestId, fence }) => ({ requestId, fence, state: 'failed' as const, code: 'internal_error' as const }))
  const causes = [`a\0b \ud83d c \udc00 \\u0000 ${odd}`, 'plain']
  const ended = await store.failMany(
    failures.map((failure, index) => ({
      ...failure,
      cause: causes[index]!,
      causeKind: 'internal_error',
      unpaid: 0n,
      neededHold: 0n,
      trace: null,
    })),
  )
  assert.deepEqual(ended, [{ kind: 'ended' }, { kind: 'ended' }])
  const rows = await database.rows('select failure_cause from turns order by failure_cause')
  assert.deepEqual(
    rows.map((row) => row.failure_cause),
    [`a\u{fffd}b \u{fffd} c \u{fffd} \\u0000 ${odd}`, 'plain'],
  )
  await bench.verify()
})

void test('postgres: amounts up to the largest are exact, and a sum beyond 2^53 is returned exactly', { skip: noPostgres() }, async (t) => {
  const database = await ownPostgres(t)
  const store = await database.open({ deadlines })
  const largest = 10n ** 17n
  const bench = await Bench.make(store, largest - 1n)
  const credit = { id: 'led_1', ownerId: bench.ownerId, idempotencyKey: 'k', amount: 1n, note: null, maxBalance: largest }
  assert.equal((await store.write.appendLedgerEntry(credit)).kind, 'appended')
  const more = { ...credit, id: 'led_2', idempotencyKey: 'k2' }
  assert.equal((await store.write.appendLedgerEntry(more)).kind, 'above_largest_balance')
  const turn = await bench.admitted()
  const hold = largest - 3n
  assert.deepEqual(await bench.advance(turn, { hold: largest + 1n }), { kind: 'insufficient_balance' })
  assert.deepEqual(await bench.advance(turn, { hold }), { kind: 'advanced' })
  assert.deepEqual(await bench.money(), { balance: largest, held: hold })
  await store.releaseLeases([turn])
  const { turns } = await store.claimOrphans({ which: 'fresh', limit: 1, leaseMs: 15_000, running: [] })
  assert.equal(turns[0]!.hold, hold)
  const settled = await bench.settle(turns[0]!, { charged: hold, writtenOff: largest })
  assert.equal((settled as { reply: StoredReply }).reply.charged, hold)
  assert.deepEqual(await bench.money(), { balance: 3n, held: 0n })
  const [entry] = await store.read.listLedger({ ownerId: bench.ownerId }, { limit: 1, before: { createdAt: 2 ** 52, id: '' } })
  assert.deepEqual([entry!.amount, entry!.writtenOff], [-hold, largest])
})

void test(
  'fault.pool-exhausted postgres: stuck writes do not delay lookups, a stuck lookup fails within its deadline, and turns continue beside both',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    // Shorter than the time the others are stuck, so that a turn which had to wait for them would fail.
    const store = await database.open({ deadlines: { admissionMs: 3_000, settlementMs: 3_000 } })
    const bench = await Bench.make(store, 10n ** 9n)
    await withClient(database.url, async (client) => {
      await client.query('begin; lock table audit, providers in access exclusive mode')
      /** Each writes its entry into the audit log; there are more of them than connections. */
      const writes = Array.from({ length: 4 }, () => {
        const author = { who: 'admin_token' as const, requestId: randomUUID(), entryIds: [randomUUID()] }
        return store.writeAs(author).createOwner({ id: `own_${randomUUID()}`, name: 'n', credit: undefined })
      })
      const written = Promise.allSettled(writes)
      await until(
        'one is stuck',
        async () =>
          (await database.rows(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)).length > 0,
      )
      assert.ok(await store.read.findOwner(bench.ownerId))
      const askedAt = performance.now()
      const stuck = await Promise.allSettled(Array.from({ length: 6 }, () => store.read.findProvider('none')))
      assert.ok(performance.now() - askedAt < 1_000 + slackMs)
      for (const look of stuck) assert.ok(look.status === 'rejected' && look.reason instanceof StoreUnavailable)
      for (let turns = 0; turns < 20; turns++) {
        const turn = await bench.admitted()
        await store.renewLeases([turn], 15_000)
        assert.equal((await bench.settle(turn)).kind, 'settled')
      }
      await store.read.usageByBucket({ from: 0, to: 1, bucketMs: 1 })
      await client.query('rollback')
      for (const { status } of await written) assert.equal(status, 'fulfilled')
    })
  },
)

void test(
  'order.authentication fault.pool-exhausted: postgres: 600 reads that wait delay no look-up of an API key',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const store = await database.open({ deadlines: { ...deadlines, lookUpMs: 10_000 } })
    const bench = await Bench.make(store, 1_000_000n)
    await withClient(database.url, async (client) => {
      await client.query('begin; lock table turns in access exclusive mode')
      const reads = Array.from({ length: 600 }, () => store.read.findTurnStatus(randomUUID(), bench.apiKeyId))
      let over = 0
      const ended = Promise.allSettled(reads.map((read) => read.finally(() => over++)))
      await until(
        'reads are stuck',
        async () =>
          (await database.rows(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)).length > 0,
      )
      const found = await store.read.findApiKeys(['unknown']).catch((error: unknown) => String(error))
      assert.deepEqual(found, [undefined])
      assert.equal(over, 0, 'all reads still wait')
      await client.query('rollback')
      await ended
    })
  },
)

void test(
  'order.authentication fault.postgres-unreachable: postgres: a key that another process revokes meanwhile is accepted for five seconds at most',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const other = await database.open()
    const proxy = await startFaultProxy(Number(new URL(database.url).port))
    t.after(() => proxy.close())
    const store = await database.open({ url: proxy.through(database.url), deadlines: { lookUpMs: 300 } })
    const bench = await Bench.make(other, 1_000_000n)
    const clock = { now: 0 }
    const monotonicMs = (): number => clock.now
    const window = createMemoryWindow({ monotonicMs, wallMs: monotonicMs })
    const access = createAccess({ store, window, monotonicMs, windowDeadlineMs: slackMs, log: pino({ level: 'silent' }) })
    const [known, unknown] = [makeApiKey(randomBytes), makeApiKey(randomBytes)]
    for (const key of [known, unknown])
      await other.write.createApiKey({
        id: `key_${key.keyId}`,
        keyId: key.keyId,
        agentId: bench.agentId,
        ...initialOf(apiKeyFields),
        permission: 'full',
        rateLimit: { limit: 1, windowSeconds: 1 },
        digest: digestSecret(key.secret),
      })
    const enter = async ({ text }: { text: string }): Promise<string> => (await access.authenticate(`Bearer ${text}`)).kind
    const confirm = async (): Promise<void> => {
      clock.now += 1_000
      assert.equal(await enter(known), 'authenticated')
    }
    // Notifications arrive in order, so those of the creation have arrived.
    let heard = false
    store.messages!.onMessage(() => (heard = true))
    await until('the process listens', async () => {
      await database.rows(`select pg_notify('turnkeep_turns', '')`)
      return heard
    })
    await confirm()
    proxy.blackhole()
    await other.write.revokeApiKey(`key_${known.keyId}`)
    clock.now += 1_000
    assert.deepEqual(await Promise.all([enter(known), enter(unknown)]), ['authenticated', 'service_unavailable'])
    clock.now += 3_999
    assert.equal(await enter(known), 'authenticated')
    clock.now += 1
    assert.equal(await enter(known), 'service_unavailable')
    proxy.reset()
    await proxy.pass()
    await until('the store answers', async () => (await enter(unknown)) === 'authenticated')
    assert.equal(await enter(known), 'invalid_api_key')
  },
)
