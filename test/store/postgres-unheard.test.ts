/**
 * A database that does something without its response arriving: the response lost, the request lost, silence. Each call is repeated with
 * the same ids and returns what happened; there is one effect, and callers get a result in time.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { AdmittedTurn, StoredReply } from '../../src/store/turn-records.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import type { Cut, FaultProxy } from '../support/fault-proxy.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { until } from '../support/until.ts'
import type { OwnPostgres, OwnStore } from '../support/own-postgres.ts'
import { noPostgres, noPostgresServer, startPostgres } from '../support/postgres-server.ts'
import { Bench } from './conformance.ts'

const leaseMs = 15_000
// Above the store's own deadlines by the margin that a loaded machine may need.
const slackMs = 5_000

/** What a store with short deadlines answers when the database is there: on a busy machine it may have to be asked again. */
async function heard<Outcome extends { kind: string }>(ask: () => Promise<(Outcome | { kind: 'error' })[]>): Promise<Outcome | undefined> {
  let outcome: Outcome | { kind: 'error' } | undefined
  await until('the database answers in time', async () => {
    ;[outcome] = await ask()
    return outcome?.kind !== 'error'
  })
  return outcome as Outcome | undefined
}

type Setting = { database: OwnPostgres; proxy: FaultProxy; bench: Bench; store: OwnStore; direct: OwnStore }

/** The database responds again, and no store still treats it as unavailable. */
async function backAgain(store: OwnStore): Promise<void> {
  const probe = new Bench(store, 'nobody', 8000).admission()
  await until('the database is back', async () => (await store.admitMany([probe]))[0]!.kind === 'agent_not_found')
}

/** A fixture whose store goes through the proxy, and beside it a store that does not. */
async function setUp(t: TestContext, deadlines = { admissionMs: 30_000, settlementMs: 30_000 }): Promise<Setting> {
  const database = await ownPostgres(t)
  const proxy = await startFaultProxy(Number(new URL(database.url).port || 5432))
  t.after(() => proxy.close())
  const direct = await database.open()
  const store = await database.open({ url: proxy.through(database.url), deadlines })
  const first = await Bench.make(direct, 100_000_000n)
  const bench = new Bench(store, first.ownerId.slice('own_'.length), 8000)
  return { database, proxy, bench, store, direct }
}

/** How the traffic to the database is lost; the pattern is the function's name, which is part of every call. */
const losses: Record<string, Cut> = {
  'answer lost, connection reset': { lose: 'answer', how: 'rst' },
  'answer lost, connection ended': { lose: 'answer', how: 'fin' },
  'request lost, connection reset': { lose: 'request', how: 'rst' },
  'request lost, connection ended': { lose: 'request', how: 'fin' },
}

for (const [words, cut] of Object.entries(losses)) {
  void test(
    `fault.commit-reply-lost postgres: ${words}: every operation has one effect and returns it under its own ids`,
    { skip: noPostgres() },
    async (t) => {
      const { proxy, bench, store, direct, database } = await setUp(t)
      const lose = (name: string): Promise<void> => proxy.cutAt(name, cut)

      let lost = lose('admit_v2')
      const admission = bench.admission()
      const [outcome] = await store.admitMany([admission])
      await lost
      assert.ok(outcome?.kind === 'admitted', outcome?.kind)
      const { turn } = outcome
      assert.equal(turn.requestId, admission.requestId)
      assert.deepEqual([turn.run, turn.attempt, turn.fence], [1, 1, 1])
      assert.equal((await bench.money()).held, turn.hold, 'held once')
      assert.equal(
        (await direct.admitMany([{ ...admission, requestId: randomUUID() }]))[0]!.kind,
        'idempotency_in_progress',
        'another caller',
      )

      lost = lose('advance_v1')
      const entry = { step: 1, part: 0, kind: 'model' as const, payload: '{}' }
      assert.deepEqual(await bench.advance(turn, { entries: [entry], hold: turn.hold + 7n }), { kind: 'advanced' })
      await lost
      assert.equal((await bench.money()).held, turn.hold + 7n, 'extended once')

      lost = lose('renew_v1')
      assert.deepEqual(await store.renewLeases([turn, { requestId: 'nobody', fence: 1 }], leaseMs), [{ requestId: 'nobody', fence: 1 }])
      await lost

      lost = lose('settle_v2')
      const settlement = bench.settlement(turn)
      const settled = (await store.settleMany([settlement]))[0]!
      await lost
      assert.ok(settled.kind === 'settled', settled.kind)
      assert.equal(settled.reply.messageId, settlement.assistantMessageId)
      const replay = (await direct.admitMany([{ ...admission, requestId: randomUUID() }]))[0]!
      assert.deepEqual(replay, { kind: 'replay', reply: settled.reply })
      assert.deepEqual(await bench.money(), { balance: 100_000_000n - 600n, held: 0n })

      for (const state of ['released', 'failed'] as const) {
        const ending = await bench.admitted()
        lost = lose('fail_v1')
        assert.deepEqual(await bench.fail(ending, state), { kind: 'ended' })
        await lost
      }

      const orphan = await bench.admitted()
      await direct.releaseLeases([orphan])
      lost = lose('claim_v1')
      const { turns } = await store.claimOrphans({ which: 'fresh', limit: 10, leaseMs, running: [] })
      await lost
      assert.deepEqual(
        turns.map(({ requestId, attempt, fence }) => [requestId, attempt, fence]),
        [[orphan.requestId, 2, 2]],
        'claimed once',
      )
      assert.equal((await bench.settle(turns[0]!)).kind, 'settled')

      lost = lose('insert into ledger')
      const credit = { id: 'led_1', ownerId: bench.ownerId, idempotencyKey: 'k', amount: 5n, note: null, maxBalance: 10n ** 17n }
      assert.equal((await store.write.appendLedgerEntry(credit)).kind, 'appended')
      await lost
      const entries = await database.row(`select count(*) from ledger where idempotency_key = 'k'`)
      assert.equal(entries.count, '1')
      await bench.verify()
    },
  )
}

void test(
  "fault.commit-reply-lost postgres: an operator's change without a response to its commit is reported as unknown and never repeated",
  { skip: noPostgres() },
  async (t) => {
    const { proxy, bench, store, direct } = await setUp(t)
    let heard = 0
    store.onChange(() => void heard++)
    // It may have started to listen before the test waits for it: so it is sent something to receive.
    await until('it listens', async () => {
      await direct.write.changeAgent({ id: bench.agentId, enabled: true })
      return heard > 0
    })
    const { present } = (await direct.read.findAgent(bench.agentId))!
    const next = { after: present.version, provider: null, content: { ...present, name: 'changed' } }
    const before = heard
    const lost = proxy.cutAt('pg_notify', { lose: 'answer' })
    const askedAt = performance.now()
    await assert.rejects(store.write.changeAgent({ id: bench.agentId, next }), StoreUnavailable)
    await lost
    assert.ok(performance.now() - askedAt < slackMs)
    const changed = (await direct.read.findAgent(bench.agentId))!
    assert.deepEqual([changed.present.name, changed.present.version], ['changed', present.version + 1])
    await until('who made it hears of it too', () => heard > before)
    // Lost on the way there: the same result, and nothing was done.
    const again = { after: changed.present.version, provider: null, content: { ...present, name: 'again' } }
    const away = proxy.cutAt('pg_notify', { lose: 'request' })
    await assert.rejects(store.write.changeAgent({ id: bench.agentId, next: again }), StoreUnavailable)
    await away
    assert.equal((await direct.read.findAgent(bench.agentId))!.present.name, 'changed')
  },
)

void test(
  'fault.commit-reply-lost postgres: a batch whose response is lost returns each item its own outcome',
  { skip: noPostgres() },
  async (t) => {
    const { proxy, bench, store } = await setUp(t)
    const admissions = Array.from({ length: 20 }, () => bench.admission())
    const poor = { ...bench.admission(), agentId: 'agt_none' }
    let lost = proxy.cutAt('admit_v2', { lose: 'answer' })
    const outcomes = await store.admitMany([...admissions, poor])
    await lost
    assert.equal(outcomes.pop()!.kind, 'agent_not_found')
    const turns = outcomes.map((outcome): AdmittedTurn => {
      assert.ok(outcome.kind === 'admitted', outcome.kind)
      return outcome.turn
    })
    assert.deepEqual(
      turns.map(({ requestId }) => requestId),
      admissions.map(({ requestId }) => requestId),
    )
    lost = proxy.cutAt('settle_v2', { lose: 'answer' })
    const stranger = { ...turns[0]!, requestId: randomUUID() }
    const settled = await store.settleMany([...turns, stranger].map((turn) => bench.settlement(turn)))
    await lost
    assert.deepEqual(
      settled.map(({ kind }) => kind),
      [...turns.map(() => 'settled'), 'lost'],
    )
    assert.deepEqual(await bench.money(), { balance: 100_000_000n - 20n * 600n, held: 0n })
    await bench.verify()
  },
)

void test(
  'fault.commit-reply-lost postgres: no response, and meanwhile claimed by another process: in progress or lost, never two effects',
  { skip: noPostgres() },
  async (t) => {
    const { proxy, bench, store, direct } = await setUp(t, { admissionMs: 500, settlementMs: 500 })
    const isUnavailable = (outcome: { kind: string; error?: Error } | undefined): void =>
      assert.ok(outcome?.kind === 'error' && outcome.error instanceof StoreUnavailable, outcome?.kind)
    const claim = async (): Promise<AdmittedTurn> => {
      await direct.moveClock(leaseMs + 1)
      const { turns } = await direct.claimOrphans({ which: 'fresh', limit: 10, leaseMs, running: [] })
      assert.equal(turns.length, 1)
      return turns[0]!
    }
    /** The call takes effect and its caller gets no response, nor do the retries that follow. */
    const unheard = async <Outcome>(name: string, call: () => Promise<Outcome>): Promise<Outcome> => {
      void proxy.cutAt(name, { lose: 'answer', how: 'silence' }).then(() => proxy.blackhole())
      try {
        return await call()
      } finally {
        proxy.reset()
        await proxy.pass()
        await backAgain(store)
      }
    }

    const admission = bench.admission()
    isUnavailable((await unheard('admit_v2', () => store.admitMany([admission])))[0])
    const claimed = await claim()
    assert.equal(claimed.requestId, admission.requestId)
    assert.equal((await store.admitMany([admission]))[0]!.kind, 'idempotency_in_progress')
    const settled = await new Bench(direct, bench.ownerId.slice(4), 8000).settle(claimed)
    assert.equal(settled.kind, 'settled')
    assert.deepEqual((await store.admitMany([admission]))[0], { kind: 'replay', reply: (settled as { reply: StoredReply }).reply })

    const second = await bench.admitted()
    const entries = [{ step: 1, part: 0, kind: 'model' as const, payload: '{}' }]
    const advance = bench.advancing(second, { entries, hold: second.hold + 9n })
    isUnavailable((await unheard('advance_v1', () => store.advanceMany([advance])))[0])
    const secondClaimed = await claim()
    assert.equal(secondClaimed.journal.length, 1, 'what was not heard of was journaled')
    assert.equal(secondClaimed.hold, second.hold + 9n)
    assert.deepEqual(await store.advanceMany([advance]), [{ kind: 'lost' }])
    const late = bench.settlement(second)
    assert.deepEqual(await store.settleMany([late]), [{ kind: 'lost' }])

    // Settled without a response: the turn cannot be claimed, and a repeated call returns its reply.
    const settlement = bench.settlement(secondClaimed)
    isUnavailable((await unheard('settle_v2', () => store.settleMany([settlement])))[0])
    await direct.moveClock(leaseMs + 1)
    assert.deepEqual((await direct.claimOrphans({ which: 'suspect', limit: 10, leaseMs, running: [] })).turns, [])
    const reported = (await store.settleMany([settlement]))[0]!
    assert.ok(reported.kind === 'settled' && reported.reply.messageId === settlement.assistantMessageId)
    // Another process's settlement of the same turn has no effect.
    assert.deepEqual(await direct.settleMany([bench.settlement(secondClaimed)]), [{ kind: 'lost' }])
    assert.deepEqual(await bench.money(), { balance: 100_000_000n - 2n * 600n, held: 0n })
    await bench.verify()
  },
)

void test(
  'fault.postgres-unreachable postgres: a silent database is reported within the deadline, and the next call after it returns succeeds',
  { skip: noPostgres() },
  async (t) => {
    const deadlines = { admissionMs: 400, settlementMs: 800 }
    const { proxy, bench, store, direct } = await setUp(t, deadlines)
    const [admitted] = await direct.admitMany([bench.admission()])
    assert.ok(admitted?.kind === 'admitted', admitted?.kind)
    const { turn } = admitted
    const settlement = bench.settlement(turn)
    const admission = bench.admission()
    proxy.blackhole()
    for (const [limitMs, call] of [
      [deadlines.admissionMs, async () => ((await store.admitMany([admission]))[0] as { error?: Error }).error],
      [deadlines.settlementMs, async () => ((await store.settleMany([settlement]))[0] as { error?: Error }).error],
      [deadlines.settlementMs, () => store.renewLeases([turn], leaseMs).catch((error: Error) => error)],
      [deadlines.admissionMs, () => store.ping().catch((error: Error) => error)],
      [1_000, () => store.read.findOwner(bench.ownerId).catch((error: Error) => error)],
    ] as [number, () => Promise<unknown>][]) {
      const askedAt = performance.now()
      assert.ok((await call()) instanceof StoreUnavailable, String(call))
      assert.ok(performance.now() - askedAt < limitMs + slackMs, String(call))
    }
    await proxy.pass()
    await backAgain(store)
    assert.equal((await heard(() => store.settleMany([settlement])))?.kind, 'settled')
    // What was held back may have reached the database after all: then it is this same turn.
    const outcome = await heard(() => store.admitMany([admission]))
    assert.ok(outcome?.kind === 'admitted' && outcome.turn.requestId === admission.requestId, outcome?.kind)
    await bench.verify()
  },
)

void test(
  'fault.postgres-unreachable postgres: a silent database is reported once for a whole batch of many waves',
  { skip: noPostgres() },
  async (t) => {
    const deadlines = { admissionMs: 300, settlementMs: 300 }
    const { proxy, bench, store } = await setUp(t, deadlines)
    const admission = bench.admission()
    proxy.blackhole()
    const askedAt = performance.now()
    const outcomes = await store.admitMany(Array.from({ length: 100 }, () => ({ ...admission, requestId: randomUUID() })))
    assert.ok(performance.now() - askedAt < deadlines.admissionMs + slackMs)
    for (const outcome of outcomes) assert.ok(outcome.kind === 'error' && outcome.error instanceof StoreUnavailable)
  },
)

void test('fault.postgres-unreachable postgres: a store can be closed while the database is silent', { skip: noPostgres() }, async (t) => {
  const { proxy, bench, store } = await setUp(t)
  await bench.admitted()
  proxy.blackhole()
  const closing = store.close().then(() => 'closed')
  const tooLong = new Promise((resolve) => setTimeout(() => resolve('still open'), 20_000).unref())
  assert.equal(await Promise.race([closing, tooLong]), 'closed')
})

void test(
  'fault.postgres-unreachable postgres: connections reset during their calls end no process and lose no item',
  { skip: noPostgres() },
  async (t) => {
    const { proxy, bench, store } = await setUp(t)
    const running = Promise.all(
      Array.from({ length: 40 }, async () => {
        const [outcome] = await store.admitMany([bench.admission()])
        assert.ok(outcome?.kind === 'admitted', outcome?.kind)
        return (await bench.settle(outcome.turn)).kind
      }),
    )
    for (let resets = 0; resets < 10; resets++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      proxy.reset()
    }
    assert.deepEqual(new Set(await running), new Set(['settled']))
    assert.deepEqual(await bench.money(), { balance: 100_000_000n - 40n * 600n, held: 0n })
    await bench.verify()
  },
)

void test(
  'fault.standby-frozen postgres: a commit that waits for its standby times out, is never abandoned, and is found once it is through',
  { skip: noPostgresServer() },
  async (t) => {
    const server = await startPostgres()
    const database = await ownPostgres(t, await server.makeDatabase())
    t.after(() => server.stop())
    const deadlines = { admissionMs: 400, settlementMs: 600 }
    const store = await database.open({ deadlines })
    const bench = await Bench.make(await database.open(), 100_000_000n)
    const turn = await bench.admitted()
    const standby = async (names: string): Promise<void> => {
      await database.rows(`alter system set synchronous_standby_names = '${names}'`)
      await database.rows('select pg_reload_conf()')
    }
    await standby('nobody')
    await until('commits wait', async () => (await database.row('show synchronous_standby_names')).synchronous_standby_names === 'nobody')
    const admission = bench.admission()
    const settlement = bench.settlement(turn)
    for (const [limitMs, call] of [
      [deadlines.admissionMs, () => store.admitMany([admission])],
      [deadlines.settlementMs, () => store.settleMany([settlement])],
    ] as const) {
      const askedAt = performance.now()
      const [outcome] = await call()
      assert.ok(outcome?.kind === 'error' && outcome.error instanceof StoreUnavailable, outcome?.kind)
      assert.ok(performance.now() - askedAt < limitMs + slackMs)
    }
    const waiting = await database.row(`select count(*) from pg_stat_activity where wait_event = 'SyncRep'`)
    assert.ok(Number(waiting.count) >= 1, 'it was not cancelled')
    const seen = await database.rows('select from turns where request_id = $1', admission.requestId)
    assert.equal(seen.length, 0, 'nor is it seen before it is through')
    await standby('')
    await until(
      'what waited is through',
      async () => (await database.rows(`select from pg_stat_activity where wait_event = 'SyncRep'`)).length === 0,
    )
    await backAgain(store)
    const outcome = await heard(() => store.admitMany([admission]))
    assert.ok(outcome?.kind === 'admitted' && outcome.turn.requestId === admission.requestId, outcome?.kind)
    assert.equal((await heard(() => store.settleMany([settlement])))?.kind, 'settled')
    await bench.verify()
  },
)
