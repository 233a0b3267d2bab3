/** `turnkeep doctor` on PostgreSQL and Redis: for each problem, the line that reports it and how to fix it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { Redis } from 'ioredis'
import { checkAnswer, checkDatabaseClock, checkDurability, checkSchema } from '../../src/cli/doctor/database-checks.ts'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import { judgeRedis } from '../../src/cli/doctor/redis-checks.ts'
import { inspectPostgres, openPostgresStore } from '../../src/store/postgres/postgres.ts'
import { makeDatabase, noPostgres, withClient } from '../support/postgres-server.ts'
import { makeRedis, noRedis, noRedisServer, startRedis } from '../support/redis-server.ts'
import { runCommand } from '../support/run-command.ts'
import { adminToken } from '../support/test-app.ts'

const log = { warn: () => undefined, info: () => undefined }
const secrets = { TURNKEEP_ADMIN_TOKEN: adminToken, TURNKEEP_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'), PORT: '1' }

/** What doctor found; the word "geheim" is in addresses and never in the output. */
async function doctor(environment: Record<string, string>): Promise<{ code: number | null; checks: Finding[] }> {
  const { code, stdout, stderr } = await runCommand(['doctor', '--json'], { ...secrets, ...environment })
  assert.equal(stderr, '')
  assert.ok(!stdout.includes('geheim'), stdout)
  return { code, checks: (JSON.parse(stdout) as { checks: Finding[] }).checks }
}

function says(checks: Finding[], check: string, status: Finding['status'], words: RegExp, fix = /./): void {
  const found = checks.filter((one) => one.check === check)
  assert.equal(found.length, 1, JSON.stringify(checks))
  assert.equal(found[0]!.status, status, JSON.stringify(found))
  assert.match(found[0]!.says, words)
  if (status !== 'ok') assert.match(found[0]!.fix ?? '', fix)
}

async function ownDatabase(t: TestContext): Promise<string> {
  const database = await makeDatabase()
  t.after(() => database.drop())
  const url = new URL(database.url)
  // Where every user is trusted, as on these tests' own server, no password is requested.
  if (url.password === '') url.password = 'geheim'
  return url.href
}

void test(
  'doctor: a valid database is reported as such, no folder is checked, and a violated invariant is found',
  { skip: noPostgres() },
  async (t) => {
    const url = await ownDatabase(t)
    says((await doctor({ DATABASE_URL: url })).checks, 'schema', 'warn', /no schema found/, /first start creates it/)
    await (await openPostgresStore({ url, log })).close()
    const { code, checks } = await doctor({ DATABASE_URL: url })
    assert.equal(code, 0)
    says(checks, 'schema', 'ok', /up to date/)
    says(checks, 'connections', 'ok', /are free; one process opens up to 12/)
    says(checks, 'db clock', 'ok', /in sync/)
    says(checks, 'invariants', 'ok', /all \d+ hold/)
    for (const check of ['data folder', 'disk', 'folder lock', 'secrets']) assert.ok(!checks.some((one) => one.check === check), check)
    says(
      (await doctor({ DATABASE_URL: url, TURNKEEP_WORKERS: '900' })).checks,
      'connections',
      'warn',
      /900 processes open up to 10800/,
      /max_connections/,
    )
    await withClient(url, (client) =>
      client.query(`insert into owners (id, name, balance, held, created_at) values ('own_x', 'X', 5, 0, 0)`),
    )
    const broken = await doctor({ DATABASE_URL: url })
    assert.equal(broken.code, 1)
    says(broken.checks, 'invariants', 'fail', /^broken: balance-is-ledger-sum$/, /turnkeep verify/)
  },
)

void test('doctor: a schema that is older, newer, or half copied', { skip: noPostgres() }, async (t) => {
  const url = await ownDatabase(t)
  await (await openPostgresStore({ url, log })).close()
  const change = (text: string): Promise<unknown> => withClient(url, (client) => client.query(text))
  await change(`create table copy_progress (finished_at bigint); insert into copy_progress values (null)`)
  says((await doctor({ DATABASE_URL: url })).checks, 'copy', 'fail', /not finished/, /turnkeep copy/)
  await change(`insert into migrations (name, checksum, contract, applied_at) values ('9999-more.sql', '', false, 0)`)
  says(
    (await doctor({ DATABASE_URL: url })).checks,
    'schema',
    'warn',
    /newer version of Turnkeep has extended it \(9999-more\.sql\)/,
    /Finish the upgrade/,
  )
  await change(`update migrations set contract = true where name = '9999-more.sql'`)
  says((await doctor({ DATABASE_URL: url })).checks, 'schema', 'fail', /newer version of Turnkeep \(9999-more\.sql\)/, /that version/)
  await change(`delete from migrations where name = '9999-more.sql' or name = (select max(name) from migrations where name < '9')`)
  says((await doctor({ DATABASE_URL: url })).checks, 'schema', 'warn', /older than this version of Turnkeep/, /next start/)
})

void test('doctor: an unreachable database, or one that rejects the password, fails in one line', { skip: noPostgres() }, async (t) => {
  const gone = await doctor({ DATABASE_URL: 'postgres://me:geheim@127.0.0.1:1/x' })
  assert.equal(gone.code, 1)
  says(gone.checks, 'database', 'fail', /^cannot connect to postgres:\/\/me:…@127\.0\.0\.1:1\/x: .*ECONNREFUSED/, /DATABASE_URL/)
  const url = new URL(await ownDatabase(t))
  url.pathname = '/no_such_database'
  says((await doctor({ DATABASE_URL: url.href })).checks, 'database', 'fail', /does not exist/)
  const bad = await doctor({ DATABASE_URL: 'mysql://me:geheim@127.0.0.1/x' })
  says(bad.checks, 'settings', 'fail', /^DATABASE_URL: must be/)
})

void test('doctor: settings that weaken the durability of a commit warn', { skip: noPostgres() }, async (t) => {
  const url = await ownDatabase(t)
  const safe = { fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on', synchronous_standby_names: '' }
  const durability = (settings: Partial<typeof safe>): Finding[] => [checkDurability({ settings: { ...safe, ...settings } })]
  says(durability({}), 'durability', 'ok', /on this server$/)
  says(durability({ synchronous_standby_names: 'b' }), 'durability', 'ok', /and on b$/)
  says(durability({ synchronous_commit: 'off' }), 'durability', 'warn', /may lose replies/, /synchronous_commit = on/)
  says(durability({ fsync: 'off' }), 'durability', 'warn', /power failure/, /fsync = on/)
  says(durability({ full_page_writes: 'off' }), 'durability', 'warn', /power failure/, /full_page_writes = on/)
  says(durability({ synchronous_commit: 'local', synchronous_standby_names: 'b' }), 'durability', 'warn', /failover/)
  await withClient(url, (client) => client.query(`alter database ${new URL(url).pathname.slice(1)} set synchronous_commit = off`))
  const { checks } = await doctor({ DATABASE_URL: url })
  says(checks, 'durability', 'warn', /synchronous_commit is off|fsync is off/)
  assert.equal((await inspectPostgres(url)).settings.synchronous_commit, 'off')
})

void test('doctor: a standby fails, a distant database and a wrong clock warn, a pooler is reported', { skip: noPostgres() }, async (t) => {
  const found = await inspectPostgres(await ownDatabase(t))
  const answer = (change: Partial<typeof found>): Finding[] => [checkAnswer({ ...found, roundTripMs: 1, ...change }, 'it')]
  says(answer({}), 'database', 'ok', /^PostgreSQL \d+ at it responds in 1\.0 ms$/)
  says(answer({ pooled: true }), 'database', 'ok', /through a pooler: every statement is planned again/)
  says(answer({ standby: true }), 'database', 'fail', /read-only standby/, /primary/)
  says(answer({ roundTripMs: 80 }), 'database', 'warn', /80\.0 ms/, /close to its database/)
  says([checkDatabaseClock({ now: 100_000, roundTripMs: 10 }, 100_005)], 'db clock', 'ok', /in sync/)
  says([checkDatabaseClock({ now: 100_000, roundTripMs: 10 }, 160_005)], 'db clock', 'warn', /60 s behind this/, /NTP/)
  says([checkDatabaseClock({ now: 160_000, roundTripMs: 10 }, 100_005)], 'db clock', 'warn', /60 s ahead of this/, /NTP/)
  says([checkSchema({ kind: 'fits' })], 'schema', 'ok', /up to date/)
})

void test('doctor: a Redis that holds the windows, one that evicts them, and one that cannot', { skip: noRedis() }, async () => {
  const own = await makeRedis()
  const works = (await doctor({ REDIS_URL: own.url })).checks.find(({ check }) => check === 'rate windows')!
  assert.match(works.says, /^(Redis|Valkey) \d+\.\S* at redis:\/\/.* responds in [\d.]+ ms$/)
  // On a busy machine it may be slow, which is reported and is not an error.
  assert.notEqual(works.status, 'fail')
  const gone = await doctor({ REDIS_URL: 'redis://:geheim@127.0.0.1:1' })
  assert.equal(gone.code, 1)
  says(
    gone.checks,
    'rate windows',
    'fail',
    /^cannot store rate-limit windows in redis:\/\/:…@127\.0\.0\.1:1: .*ECONNREFUSED/,
    /api_rate_limit_unavailable/,
  )
  const known = { server: 'Redis 7', whenFull: undefined, spendMs: 1 }
  says([judgeRedis(known, 'it')], 'rate windows', 'ok', /^Redis 7 at it responds in 1\.0 ms$/)
  says([judgeRedis({ ...known, server: undefined }, 'x')], 'rate windows', 'ok', /^the server at x/)
  says([judgeRedis({ ...known, whenFull: 'noeviction' }, 'it')], 'rate windows', 'ok', /./)
  says([judgeRedis({ ...known, spendMs: 40 }, 'it')], 'rate windows', 'warn', /40\.0 ms/, /close to Turnkeep/)
})

void test(
  'doctor: a Redis that evicts windows when it is full warns, and a read-only or unreachable one fails',
  { skip: noRedisServer() },
  async (t) => {
    const server = await startRedis({ lines: ['maxmemory 50mb', 'maxmemory-policy allkeys-lru'] })
    t.after(() => server.stop())
    const redis = new Redis(server.url)
    await redis.config('SET', 'requirepass', 'geheim')
    redis.disconnect()
    const url = new URL(server.url)
    says((await doctor({ REDIS_URL: url.href })).checks, 'rate windows', 'fail', /NOAUTH|no connection/)
    url.password = 'geheim'
    says(
      (await doctor({ REDIS_URL: url.href })).checks,
      'rate windows',
      'warn',
      /evicts windows when its memory is full \(allkeys-lru\)/,
      /noeviction/,
    )
    const replica = await startRedis({ lines: [`replicaof 127.0.0.1 1`] })
    t.after(() => replica.stop())
    says((await doctor({ REDIS_URL: replica.url })).checks, 'rate windows', 'fail', /READONLY|read only|MASTERDOWN/i)
  },
)
