/** What a process knows about the others on the same database: that one has ended, and whose leases were not renewed since. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { lockOfProcess } from '../../src/store/postgres/process-watch.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import type { OwnPostgres } from '../support/own-postgres.ts'
import { noPostgres } from '../support/postgres-server.ts'
import { until } from '../support/until.ts'
import { Bench } from './conformance.ts'

const skip = noPostgres()
const leaseMs = 12_000

/** Another process, as the database sees it. */
async function connect(t: TestContext, { url }: OwnPostgres, statements: string[] = [lockOfProcess]): Promise<{ end(): Promise<void> }> {
  const client = new pg.Client(url)
  client.on('error', () => undefined)
  await client.connect()
  for (const statement of statements) await client.query(statement)
  t.after(() => client.end())
  return { end: () => client.end() }
}

/** A store that listens, and has seen the processes that are connected. */
async function openWatching(database: OwnPostgres) {
  const store = await database.open({ deadlines: { settlementMs: 60_000 } })
  const watch = store.processes!
  // It has just started, so it looks for turns of processes that have ended before.
  await until('it has seen itself', async () => (await watch.look()).endedAt !== undefined)
  assert.deepEqual(await watch.look(), { changed: false, endedAt: undefined })
  return { store, watch }
}

void test(
  'turn.orphans: postgres: the end of another process is seen once, and only what was not renewed since loses its lease',
  { skip },
  async (t) => {
    const database = await ownPostgres(t)
    const other = await connect(t, database)
    const { store, watch } = await openWatching(database)
    const bench = await Bench.make(store, 1_000_000_000n)
    const [orphan, kept] = [await bench.admitted({ externalUserId: 'orphan' }), await bench.admitted({ externalUserId: 'kept' })]
    const claim = async () =>
      (await store.claimOrphans({ which: 'fresh', limit: 10, leaseMs, running: [] })).turns.map((turn) => turn.requestId)
    for (const turn of [orphan, kept]) assert.deepEqual(await store.renewLeases([turn], leaseMs), [])
    assert.deepEqual(await watch.look(), { changed: false, endedAt: undefined })
    await other.end()
    let endedAt: number | undefined
    await until('the end is seen', async () => (endedAt = (await watch.look()).endedAt) !== undefined)
    assert.deepEqual(await watch.look(), { changed: false, endedAt: undefined })
    await store.moveClock(1_000)
    await store.renewLeases([kept], leaseMs)
    await watch.endLeases(endedAt! + leaseMs)
    assert.deepEqual(await claim(), [orphan.requestId])
    assert.deepEqual(await claim(), [])
    await bench.verify()
  },
)

void test(
  'turn.orphans: postgres: a process that lost its own connection knows no end, and one of an older version prevents that leases end',
  { skip },
  async (t) => {
    const database = await ownPostgres(t)
    await connect(t, database)
    const { store, watch } = await openWatching(database)
    const bench = await Bench.make(store, 1_000_000_000n)
    const turn = await bench.admitted()
    // As when the database restarts: all sessions end together.
    const locks = `from pg_locks where locktype = 'advisory' and objsubid = 2`
    const before = await database.rows(`select pid, pg_terminate_backend(pid) ${locks}`)
    await until('it has connected again', async () => {
      const now = await database.rows(`select pid ${locks}`)
      return now.length === 1 && !before.some(({ pid }) => pid === now[0]!['pid'])
    })
    assert.deepEqual(await watch.look(), { changed: true, endedAt: undefined })
    const older = await connect(t, database, ['listen turnkeep_changed; listen turnkeep_turns'])
    await watch.endLeases(2 ** 52)
    assert.deepEqual((await store.claimOrphans({ which: 'fresh', limit: 10, leaseMs, running: [] })).turns, [])
    await older.end()
    await until('it can be claimed', async () => {
      await watch.endLeases(2 ** 52)
      const { turns } = await store.claimOrphans({ which: 'fresh', limit: 10, leaseMs, running: [] })
      return turns[0]?.requestId === turn.requestId
    })
  },
)
