/**
 * The primary dies and its standby takes over, with synchronous and asynchronous replication; the standby freezes; and an address leads to
 * a standby for a while. What was acknowledged is compared with what is stored afterwards.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { Fleet, noFleet } from '../support/fleet.ts'
import { until } from '../support/until.ts'
import type { Outcome } from '../support/fleet.ts'
import { gate } from '../support/model-server.ts'
import { noPostgresServer, startPostgres } from '../support/postgres-server.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { startStandby } from '../support/postgres-standby.ts'

// A refusal takes about a second; this leaves a margin for a busy machine.
const generousMs = 15_000

/** Starts servers that reach the primary through a proxy, which can redirect them to its standby. */
async function begin(t: TestContext, { count = 1 } = {}) {
  const primary = await startPostgres({ durable: true })
  t.after(() => primary.stop())
  const { url } = await primary.makeDatabase()
  // Replication goes through a proxy too, so that it can be lost.
  const stream = await startFaultProxy(primary.port)
  t.after(() => stream.close())
  const standby = await startStandby(primary, { port: stream.port })
  t.after(() => standby.stop())
  const proxy = await startFaultProxy(primary.port)
  t.after(() => proxy.close())
  const fleet = await Fleet.begin(t, { count, databaseUrl: url, serversReachItAt: proxy.through(url) })
  const lookAt = (server: PostgresServer): void => {
    const there = new URL(url)
    there.port = String(server.port)
    fleet.databaseUrl = there.href
  }
  return { primary, standby, stream, proxy, fleet, lookAt }
}

/** Returns acknowledged turns that are not stored as they were acknowledged. */
async function lostOf(fleet: Fleet, reported: Outcome[]): Promise<string[]> {
  const stored = await fleet.rows(`select t.request_id, m.id, m.content from turns t
    join messages m on m.request_id = t.request_id and m.role = 'assistant' where t.state = 'completed'`)
  const known = new Set(stored.map(({ request_id, id, content }) => JSON.stringify([request_id, id, content])))
  const isLost = ({ reply }: Outcome): boolean => {
    const { request_id, message } = JSON.parse(reply!)
    return !known.has(JSON.stringify([request_id, message.id, message.content]))
  }
  return reported.filter(isLost).map(({ sent }) => sent.message)
}

describe('a standby', { concurrency: 2, skip: noFleet() || noPostgresServer() }, () => {
  void test('fault.sync-failover: the primary is killed under load and its synchronous standby takes over: no acknowledged turn is lost', async (t) => {
    const { primary, standby, proxy, fleet, lookAt } = await begin(t, { count: 2 })
    await standby.makeSynchronous()
    const load = fleet.load({ callers: 12, restMs: 300 })
    await until('load', () => load.reported.length > 40)
    await primary.kill9()
    const killedAt = performance.now()
    const acknowledged = load.reported.length
    // The address leads to the standby before it accepts writes (error 25006), which can happen for a while in any failover.
    proxy.leadTo(standby.port)
    lookAt(standby)
    await fleet.refusedSoon(fleet.sent('to the standby', { user: 'to the standby' }), generousMs)
    const promotedFrom = performance.now()
    await standby.promote()
    const promotedAt = performance.now()
    const back = await fleet.send(fleet.sent('after the failover', { user: 'after' }))
    const reported = [...(await load.stop()), back]
    assert.deepEqual(await lostOf(fleet, reported), [])
    await fleet.checkReplies(reported, { everywhere: false })
    for (const server of fleet.servers) assert.deepEqual([server!.child.exitCode, server!.child.signalCode], [null, null])
    t.diagnostic(
      `${acknowledged} acknowledged before the kill; promoted in ${Math.round(promotedAt - promotedFrom)} ms; answered ` +
        `${Math.round(back.at - promotedAt)} ms after that, ${Math.round(back.at - killedAt)} ms after the kill`,
    )
  })

  void test('fault.sync-failover: an address that leads to a standby for a while (25006): refused, and accepted again without a restart', async (t) => {
    const { primary, standby, proxy, fleet } = await begin(t)
    const held = gate()
    fleet.model.when('hello', ['one ', held, 'two'])
    const running = fleet.try(fleet.sent('hello'), 0)
    await held.reached
    proxy.leadTo(standby.port)
    proxy.reset()
    held.open()
    await fleet.refusedSoon(fleet.sent('to the standby', { user: 'to the standby' }), generousMs)
    const readiness = (await (await fetch(`${fleet.servers[0]!.url}/readyz`)).json()) as { store: string }
    assert.equal(readiness.store, 'unavailable', 'a store without writes is unavailable')
    await until('25006', () => fleet.servers[0]!.log.some(({ cause }) => String(cause).includes('25006')))
    // Connections to the standby stay open; the servers must close them by themselves.
    proxy.leadTo(primary.port)
    const reported = await fleet.send(fleet.sent('back at the primary', { user: 'user-2' }))
    assert.equal((await running).kind, 'reply')
    assert.equal(fleet.model.calls.length, 2)
    await fleet.checkReplies([reported])
  })

  void test('fault.async-failover: an asynchronous standby takes over: what was not replicated is lost, and the checker lists it', async (t) => {
    const { primary, standby, stream, proxy, fleet, lookAt } = await begin(t)
    const answer = async (message: string): Promise<Outcome> => fleet.send(fleet.sent(message, { user: message }))
    const heard = await Promise.all(['heard 1', 'heard 2'].map(answer))
    const [{ lsn }] = (await fleet.rows('select pg_current_wal_lsn() as lsn')) as [{ lsn: string }]
    lookAt(standby)
    await until(
      'the standby to follow',
      async () => (await fleet.rows('select 1 where pg_last_wal_replay_lsn() >= $1::pg_lsn', [lsn])).length === 1,
    )
    assert.deepEqual(await lostOf(fleet, heard), [])
    stream.blackhole()
    const unheard = await Promise.all(['unheard 1', 'unheard 2', 'unheard 3'].map(answer))
    await primary.kill9()
    stream.reset()
    proxy.leadTo(standby.port)
    await standby.promote()
    assert.deepEqual(await lostOf(fleet, [...heard, ...unheard]), ['unheard 1', 'unheard 2', 'unheard 3'])
    await fleet.verify()
    // The promoted standby does not know the key, so the message is answered and charged as if for the first time.
    const again = await Promise.all(unheard.map(({ sent }) => fleet.send(sent)))
    for (const [index, { reply }] of again.entries())
      assert.notEqual(JSON.parse(reply!).request_id, JSON.parse(unheard[index]!.reply!).request_id)
    assert.deepEqual(await lostOf(fleet, [...heard, ...again]), [])
    await fleet.verify()
  })

  void test('fault.standby-frozen unavailable.unknown: a synchronous standby that freezes: refused in time, nothing acknowledged unreplicated, all answered once it is back', async (t) => {
    const { primary, standby, fleet } = await begin(t)
    await standby.makeSynchronous()
    const held = gate()
    fleet.model.when('hello', ['one ', held, 'two'])
    const running = fleet.send(fleet.sent('hello', { transport: 'stream' }), {})
    await held.reached
    const receiver = await standby.receiver()
    process.kill(receiver, 'SIGSTOP')
    t.after(() => standby.running && process.kill(receiver, 'SIGCONT'))
    held.open()
    const sent = Array.from({ length: 6 }, (_, n) => fleet.sent(`frozen ${n}`, { user: `frozen ${n}` }))
    const times: number[] = []
    for (const one of sent) times.push(await fleet.refusedSoon(one, generousMs))
    const [{ waiting }] = (await fleet.rows(`select count(*) as waiting from pg_stat_activity where wait_event = 'SyncRep'`)) as [
      { waiting: string },
    ]
    assert.ok(Number(waiting) > 0, 'no commit waited for the standby')
    process.kill(receiver, 'SIGCONT')
    const reported = [await running, ...(await Promise.all(sent.map((one) => fleet.send(one))))]
    await fleet.checkReplies(reported)
    assert.doesNotMatch(await primary.log(), /wait for synchronous replication/)
    t.diagnostic(`refused after ${Math.max(...times)} ms at most; ${waiting} sessions waited for the standby`)
  })
})
