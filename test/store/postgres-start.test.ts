/**
 * Many processes that start at once on an empty database, one that is killed in the middle, and two versions of the server side by side.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { test } from 'node:test'
import { readMigrations } from '../../src/store/postgres/migrate.ts'
import type { Migration } from '../../src/store/postgres/migrate.ts'
import { SchemaRefused } from '../../src/store/schema-refused.ts'
import { ownPostgres, quiet } from '../support/own-postgres.ts'
import { until } from '../support/until.ts'
import { noPostgres } from '../support/postgres-server.ts'
import { Bench } from './conformance.ts'

const ours = readMigrations()

/** A separate process that opens the store, reports it, and runs until its input ends. */
const starting = `
import { openPostgresStore } from ${JSON.stringify(new URL('../../src/store/postgres/postgres.ts', import.meta.url).href)}
const log = { warn() {}, info() {} }
const migrations = process.env.MIGRATIONS ? JSON.parse(process.env.MIGRATIONS) : undefined
const store = await openPostgresStore({ url: process.env.DATABASE_URL, migrations, log })
process.stdout.write('open')

process.stdin.on('end', () => store.close()).resume()`

function startProcess(url: string, migrations?: Migration[]): ChildProcess {
  const env = { ...process.env, DATABASE_URL: url, MIGRATIONS: migrations ? JSON.stringify(migrations) : '' }
  return spawn(process.execPath, ['--input-type=module', '-e', starting], { env, stdio: ['pipe', 'pipe', 'inherit'] })
}

void test(
  'postgres: twenty processes start at once on an empty database, and each migration runs once',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    // A few real processes, and the rest as stores of this one, each with its own connections.
    const processes = Array.from({ length: 4 }, () => startProcess(database.url))
    const exits = processes.map((child) => once(child, 'exit'))
    const opened = processes.map((child) => once(child.stdout!, 'data'))
    const stores = await Promise.all(Array.from({ length: 16 }, () => database.open()))
    await Promise.all(opened)
    for (const child of processes) child.stdin!.end()
    assert.deepEqual(
      (await Promise.all(exits)).map(([code]) => code),
      [0, 0, 0, 0],
    )
    const applied = await database.rows('select name from migrations order by name')
    assert.deepEqual(
      applied.map(({ name }) => name),
      ours.map(({ name }) => name),
    )
    const bench = await Bench.make(stores[0]!, 10n ** 9n)
    for (const store of stores)
      await new Bench(store, bench.ownerId.slice('own_'.length), 8000).admitted({
        idempotencyKey: `key-${stores.indexOf(store)}`,
        externalUserId: `user-${stores.indexOf(store)}`,
      })
    await bench.verify()
  },
)

for (const during of ours) {
  void test(
    `postgres: a start that is killed in the middle of ${during.name} leaves a database that the next start finishes`,
    { skip: noPostgres() },
    async (t) => {
      const database = await ownPostgres(t)
      const slow = ours.map((migration) =>
        migration === during ? { ...migration, text: `${migration.text}; select pg_sleep(2)` } : migration,
      )
      const child = startProcess(database.url, slow)
      const exited = once(child, 'exit')
      await until(
        'it is in the middle',
        async () =>
          (await database.rows(`select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`)).length > 0,
      )
      child.kill('SIGKILL')
      assert.deepEqual(await exited, [null, 'SIGKILL'])
      const store = await database.open()
      const applied = await database.rows('select name from migrations order by name')
      assert.deepEqual(
        applied.map(({ name }) => name),
        ours.map(({ name }) => name),
      )
      const bench = await Bench.make(store, 1_000_000n)
      await bench.settle(await bench.admitted())
      await bench.verify()
    },
  )
}

void test('postgres: a process that freezes during a migration loses its transaction', { skip: noPostgres() }, async (t) => {
  const database = await ownPostgres(t)
  const text = `create table limits as select current_setting('idle_in_transaction_session_timeout') as idle`
  await database.open({ migrations: [...ours, { name: '9001-limits.sql', text }] })
  assert.deepEqual(await database.rows('select idle from limits'), [{ idle: '15s' }])
})

void test(
  'postgres: every connection asks after ten seconds of silence whether the database is there',
  { skip: noPostgres() || (process.platform !== 'linux' && 'needs /proc') },
  async (t) => {
    const database = await ownPostgres(t)
    await database.open()
    const port = Number(new URL(database.url).port || 5432)
      .toString(16)
      .toUpperCase()
      .padStart(4, '0')
    const own = new Set(
      readdirSync('/proc/self/fd').flatMap((fd) => {
        try {
          return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1] ?? []
        } catch {
          // It was the one that listed the folder.
          return []
        }
      }),
    )
    // proc(5): the remote port, the timer (02: keepalive) with its hundredths of a second, and the socket.
    const timers = readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[2]?.endsWith(`:${port}`) && own.has(fields[9]!))
      .map((fields) => fields[5]!.split(':'))
    assert.ok(timers.length > 0)
    for (const [timer, left] of timers) assert.ok(timer === '02' && Number.parseInt(left!, 16) <= 1000, `${timer}:${left}`)
  },
)

const expanding: Migration = {
  name: '9001-more.sql',
  text: `alter table turns add column mood text collate "C" not null default 'calm';
    create function admit_v9(items json) returns json language sql as 'select admit_v2(items)';`,
}

void test(
  'fault.rolling-upgrade postgres: two versions work on one database at the same time, and the older one starts again on the newer schema',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const older = await database.open()
    const bench = await Bench.make(older, 10n ** 9n)
    const id = bench.ownerId.slice('own_'.length)
    // Before, during and after the newer one's migration, so that the older one's cached plans meet the new table.
    const going = new AbortController()
    const goOn = async (name: string, store: typeof older): Promise<number> => {
      const own = new Bench(store, id, 8000)
      let turns = 0
      while (!going.signal.aborted || turns < 20) {
        turns += 1
        const turn = await own.admitted({ externalUserId: `${name}-${turns % 3}`, idempotencyKey: `${name}-${turns}` })
        assert.equal((await own.advance(turn, { entries: [{ step: 1, part: 0, kind: 'model', payload: '{}' }] })).kind, 'advanced')
        assert.equal((await own.settle(turn)).kind, 'settled')
      }
      return turns
    }
    const before = goOn('older', older)
    await until('the older one works', async () => Number((await database.row('select count(*) from messages')).count) > 20)
    const newer = await database.open({ migrations: [...ours, expanding] })
    const beside = goOn('newer', newer)
    const warnings: object[] = []
    const log = { ...quiet, warn: (facts: object) => void warnings.push(facts) }
    const again = await database.open({ log })
    assert.deepEqual(
      warnings.filter((facts) => 'newer' in facts),
      [{ newer: [expanding.name] }],
    )
    const restarted = goOn('again', again)
    await until('all three work', async () => {
      const rows = await database.rows(
        `select split_part(idempotency_key, '-', 1) as name from turns where state = 'completed' group by 1 having count(*) > 20`,
      )
      return rows.length === 3
    })
    going.abort()
    const turns = (await Promise.all([before, beside, restarted])).reduce((sum, some) => sum + some, 0)
    assert.equal((await bench.money()).balance, 10n ** 9n - 600n * BigInt(turns))
    assert.equal((await database.rows(`select from turns where mood = 'calm'`)).length, turns)
    await bench.verify()
  },
)

void test(
  'fault.rolling-upgrade postgres: a migration that removes something refuses a version that does not know it; a changed migration refuses too',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const contracting = { name: '9002-less.sql', text: '-- contract\ndrop index turns_by_erasure;' }
    await database.open({ migrations: [...ours, expanding, contracting] })
    const refused = (expected: RegExp) => (error: Error) => {
      assert.ok(error instanceof SchemaRefused, error.stack)
      assert.match(error.message, expected)
      assert.ok(!error.message.includes('\n'), 'one line')
      return true
    }
    await assert.rejects(database.open(), refused(/newer Turnkeep/))
    await assert.rejects(database.open({ migrations: [...ours, expanding] }), refused(/newer Turnkeep/))
    const changed = [...ours, { ...expanding, text: `${expanding.text} ` }, contracting]
    await assert.rejects(database.open({ migrations: changed }), refused(/9001-more\.sql has changed/))
    // Line endings depend on the checkout.
    await database.open({
      migrations: [...ours.map(({ name, text }) => ({ name, text: text.replaceAll('\n', '\r\n') })), expanding, contracting],
    })
  },
)

void test('postgres: a start has opened the connections that a turn needs', { skip: noPostgres() }, async (t) => {
  const database = await ownPostgres(t)
  await database.open()
  // That of the start itself, one that admits, one that settles, and the one that listens.
  await until('four connections', async () => {
    const [row] = await database.rows(
      'select count(*) as made from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    return Number(row!['made']) >= 4
  })
})
