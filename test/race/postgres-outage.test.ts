/**
 * The database ends its sessions at each point of a turn, is restarted in every way under load, and is unreachable for longer than a lease.
 * Generated replies are held and stored later; new turns are refused soon. Times are logged and not asserted.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { startFaultProxy } from '../support/fault-proxy.ts'
import type { FaultProxy } from '../support/fault-proxy.ts'
import { endSessions, Fleet, noFleet } from '../support/fleet.ts'
import { until } from '../support/until.ts'
import type { Sent } from '../support/fleet.ts'
import { gate } from '../support/model-server.ts'
import type { Part } from '../support/model-server.ts'
import { makeDatabase, noPostgresServer, startPostgres } from '../support/postgres-server.ts'
import type { ServerProcess } from '../support/server-process.ts'

const skip = noFleet()
// A refusal takes about a second; this leaves a margin for a busy machine.
const generousMs = 15_000

const inTransaction = (fleet: Fleet, call: string): Promise<void> =>
  until(`a session in ${call}`, async () => {
    const found = await fleet.rows(`select 1 from pg_stat_activity where datname = current_database() and state = 'idle in transaction'
      and query like '%${call}%' and pid <> pg_backend_pid()`)
    return found.length > 0
  })

/** Asserts that requests are refused soon on both transports, without a model call. Returns what was sent and the longest wait. */
async function refuses(fleet: Fleet): Promise<{ sent: Sent[]; maxMs: number }> {
  const sent: Sent[] = []
  let maxMs = 0
  for (const transport of ['chat', 'stream'] as const) {
    const calls = fleet.model.calls.length
    const name = `refused ${randomUUID()}`
    const one = fleet.sent(name, { user: name, transport })
    const took = await fleet.refusedSoon(one, generousMs)
    assert.equal(fleet.model.calls.length, calls)
    maxMs = Math.max(maxMs, took)
    sent.push(one)
  }
  return { sent, maxMs }
}

const storedOf = (fleet: Fleet, message: string): Promise<Record<string, string>[]> =>
  fleet.rows('select state, attempt from turns where message = $1', [message])

for (const [point, modelCalls] of [
  ['admit.before-commit', 0],
  ['admit.early', 1],
] as const) {
  void test(
    `fault.postgres-connection-lost P0: a session ended before an admission commits, at ${point}: 503 and nothing stored, then the same key runs`,
    { skip },
    async (t) => {
      const fleet = await Fleet.begin(t, { env: { TURNKEEP_FAILPOINTS: `${point}=delay:2000@1` } })
      const held = gate()
      fleet.model.script(...Array.from({ length: modelCalls }, () => ['never sent ', held]))
      const sent = fleet.sent('hello')
      const asked = fleet.try(sent, 0)
      await inTransaction(fleet, 'admit_v2')
      await fleet.model.waitForCalls(modelCalls)
      await endSessions(fleet)
      assert.deepEqual(await asked, { kind: 'error', status: 503, code: 'service_unavailable' })
      assert.deepEqual(await storedOf(fleet, 'hello'), [])
      assert.equal(fleet.model.calls.length, modelCalls)
      for (const call of fleet.model.calls) assert.equal(await call.ended, 'aborted')
      await fleet.checkReplies([await fleet.send(sent)])
    },
  )
}

const heldAt: { point: string; parts(held: Part): Part[] }[] = [
  { point: 'P1', parts: (held) => [held, 'one ', 'two'] },
  { point: 'P2', parts: (held) => ['one ', held, 'two'] },
]
for (const { point, parts } of heldAt) {
  void test(
    `fault.postgres-connection-lost ${point}: sessions ended while a turn runs: the result is delivered late and not lost`,
    { skip },
    async (t) => {
      const fleet = await Fleet.begin(t)
      const held = gate()
      fleet.model.when('hello', parts(held))
      const sent = (['chat', 'stream'] as const).map((transport) => fleet.sent(`hello ${transport}`, { user: transport, transport }))
      const asked = sent.map((one) => fleet.send(one))
      await fleet.model.waitForCalls(2)
      await held.reached
      const { comesBack } = await endSessions(fleet, { away: true })
      const refused = await refuses(fleet)
      held.open()
      // The first of the two is logged; for the others, the log has a count.
      await until('results kept in memory', () => fleet.servers[0]!.log.some(({ msg }) => msg === keptForLater))
      await comesBack()
      const reported = await Promise.all(asked)
      assert.deepEqual(
        reported.map(({ met }) => met),
        [[], []],
        'each caller has its reply at the first try',
      )
      assert.equal(fleet.model.calls.length, 2)
      for (const { message } of refused.sent) assert.deepEqual(await storedOf(fleet, message), [])
      await fleet.checkReplies(reported)
    },
  )
}
const keptForLater = 'could not store the result of a turn, retrying'

void test(
  'fault.postgres-connection-lost P3: a session ended before a settlement commits: settled by the next one, once',
  { skip },
  async (t) => {
    const fleet = await Fleet.begin(t, { env: { TURNKEEP_FAILPOINTS: 'settle.before-commit=delay:1000@1' } })
    const asked = fleet.send(fleet.sent('hello', { transport: 'stream' }))
    await inTransaction(fleet, 'settle_v2')
    await endSessions(fleet)
    const reported = await asked
    assert.deepEqual(reported.met, [])
    assert.equal(fleet.model.calls.length, 1)
    await fleet.checkReplies([reported])
  },
)

void test(
  'fault.postgres-restart: a database restarted fast, immediately, and after kill -9, under load: no process ends, every key has one reply',
  { skip: skip || noPostgresServer() },
  async (t) => {
    const database = await startPostgres({ durable: true })
    t.after(() => database.stop())
    const fleet = await Fleet.begin(t, { count: 2, databaseUrl: (await database.makeDatabase()).url })
    const load = fleet.load({ callers: 12, restMs: 300 })
    const end = { fast: () => database.halt('fast'), immediate: () => database.halt('immediate'), 'kill -9': () => database.kill9() }
    for (const [how, endIt] of Object.entries(end)) {
      const answered = load.reported.length
      await until('load', () => load.reported.length > answered + 12)
      await endIt()
      await database.restart()
      const readyAt = performance.now()
      const back = await Promise.all(
        [0, 1].map((place) => fleet.send(fleet.sent(`after ${how} on ${place}`, { user: how + place }), { choose: () => place })),
      )
      t.diagnostic(
        `${how}: answered ${back.map(({ at }) => Math.round(at - readyAt)).join(' and ')} ms after the database took sessions again`,
      )
      load.reported.push(...back)
    }
    const reported = await load.stop()
    for (const { child, log } of fleet.servers as ServerProcess[]) {
      assert.deepEqual([child.exitCode, child.signalCode], [null, null])
      assert.ok(
        log.some(({ msg }) => msg === 'lost an idle database connection'),
        'the restarts were felt',
      )
    }
    await fleet.checkReplies(reported, { everywhere: false })
  },
)

// Longer than a lease and the next check for orphans.
const awayMs = 20_000

async function beginBehindProxy(t: TestContext): Promise<{ fleet: Fleet; proxy: FaultProxy }> {
  const own = await makeDatabase()
  const proxy = await startFaultProxy(Number(new URL(own.url).port))
  const fleet = await Fleet.begin(t, { databaseUrl: own.url, serversReachItAt: proxy.through(own.url) })
  t.after(async () => {
    await proxy.close()
    await own.drop()
  })
  return { fleet, proxy }
}

/** Starts two turns and stops them in the middle of their replies, one on each transport. */
async function beginTurns(fleet: Fleet) {
  const held = gate()
  fleet.model.when('hello', ['one ', held, 'two'])
  const sent = (['chat', 'stream'] as const).map((transport) => fleet.sent(`hello ${transport}`, { user: transport, transport }))
  const asked = sent.map((one) => fleet.try(one, 0))
  await fleet.model.waitForCalls(2)
  await held.reached
  return { sent, asked, held }
}

const cuts = {
  'drops everything': (proxy: FaultProxy) => proxy.blackhole(),
  'resets everything': async (proxy: FaultProxy) => {
    await proxy.refuse()
    proxy.reset()
  },
}

describe('fault.postgres-unreachable', { concurrency: true, skip }, () => {
  for (const [how, cut] of Object.entries(cuts)) {
    void test(`fault.postgres-unreachable: a network that ${how} for 20 s: refused soon, running turns keep their result and settle once it is back`, async (t) => {
      const { fleet, proxy } = await beginBehindProxy(t)
      const { sent, asked, held } = await beginTurns(fleet)
      await cut(proxy)
      const backAt = performance.now() + awayMs
      held.open()
      const refused = [await refuses(fleet)]
      const readiness = (await (await fetch(`${fleet.servers[0]!.url}/readyz`)).json()) as { store: string }
      assert.equal(readiness.store, 'unavailable')
      while (performance.now() < backAt) {
        refused.push(await refuses(fleet))
        await pass(1000)
      }
      await proxy.pass()
      const passedAt = performance.now()
      const ends = await Promise.all(asked)
      t.diagnostic(
        `refused after ${Math.max(...refused.map(({ maxMs }) => maxMs))} ms at most, settled ${Math.round(performance.now() - passedAt)} ms after the network was back`,
      )
      assert.deepEqual(
        ends.map(({ kind }) => kind),
        ['reply', 'reply'],
        'both callers get what was kept',
      )
      const reported = await Promise.all(sent.map((one) => fleet.send(one)))
      assert.deepEqual(
        reported.map(({ reply }) => ({ kind: 'reply', reply })),
        ends,
      )
      // `unavailable.unknown`: a request that was being sent when the network went silent may still arrive. It is then a turn like any
      // other.
      const refusedBefore = refused.flatMap((some) => some.sent)
      await fleet.checkReplies([...reported, ...(await Promise.all(refusedBefore.map((one) => fleet.send(one))))])
    })
  }

  void test('fault.postgres-unreachable billing.once: a database away from one process alone: another one answers, and late writes are fenced off', async (t) => {
    const { fleet, proxy } = await beginBehindProxy(t)
    await fleet.start(1, { env: { DATABASE_URL: fleet.databaseUrl } })
    const { sent, asked, held } = await beginTurns(fleet)
    proxy.blackhole()
    held.open()
    const reported = await Promise.all(sent.map((one) => fleet.send(one, { choose: () => 1 })))
    await proxy.pass()
    const ends = await Promise.all(asked)
    assert.deepEqual(ends, [
      { kind: 'error', status: 503, code: 'service_unavailable' },
      { kind: 'error', status: 200, code: 'service_unavailable' },
    ])
    for (const { message } of sent) assert.deepEqual(await storedOf(fleet, message), [{ state: 'completed', attempt: '2' }])
    await fleet.checkReplies(reported)
  })
})
