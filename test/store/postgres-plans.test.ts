/**
 * The functions of the turn path keep their plans, and the first ones are made while the tables are empty: those must still be right for
 * millions of rows, also before statistics are collected. Rows read are counted by the database itself; nothing here measures time.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { listFeedback } from '../../src/store/queries/feedback.ts'
import type { FeedbackFilter } from '../../src/store/queries/feedback.ts'
import type { Sql } from '../../src/store/sql.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import type { OwnPostgres } from '../support/own-postgres.ts'
import { noPostgres, withClient } from '../support/postgres-server.ts'
import { Bench } from './conformance.ts'

const leaseMs = 15_000
const filled = 20_000
const rounds = 20
// They do not read the rows that are filled in. A claim reads expired leases, and how many of those are still visible depends on the
// database's other readers: the last test covers them.
const ofRunning = ['running_turns', 'one_running_turn_per_conversation']

type Reading = { table: string; whole: number; rows: number; index: number }

/**
 * What every function of the turn path, and the operator's read of a conversation, reads per round when there are `filled` turns, with
 * plans that were made when there were none.
 */
async function readingsOf(t: TestContext, { prepare }: { prepare: string }): Promise<Reading[]> {
  const database = await ownPostgres(t)
  const store = await database.open({ deadlines: { admissionMs: 60_000, settlementMs: 60_000 } })
  const bench = await Bench.make(store, 10n ** 12n)
  // What a call read is counted as soon as it has ended: each reads the clock.
  await database.rows(`create or replace function now_ms() returns bigint language sql volatile as
    'select pg_stat_force_next_flush(); select floor(extract(epoch from clock_timestamp()) * 1000)::bigint'`)
  for (const table of ['turns', 'conversations', 'messages', 'ledger', 'journal', 'owners', 'agents', 'agent_versions', 'rate_windows'])
    await database.rows(`alter table ${table} set (autovacuum_enabled = off)`)
  if (prepare !== '') await database.rows(prepare)

  let count = 0
  /** Everything that a turn may ask of the store; concurrently, so that every connection is used. */
  const everything = async (user: string): Promise<void> => {
    const entry = { step: 1, part: 0, kind: 'model' as const, payload: '{}' }
    await Promise.all(
      [1, 2, 3].map(async () => {
        const admission = bench.admission({ externalUserId: `${user}-${++count}`, idempotencyKey: `${user}-${count}` })
        const turn = await bench.admitted(admission)
        await store.renewLeases([turn], leaseMs)
        assert.equal((await bench.advance(turn, { entries: [entry], hold: turn.hold + 1n, finishedSideEffects: true })).kind, 'advanced')
        assert.equal((await bench.fail(turn, 'released')).kind, 'ended')
        const again = await bench.admitted(admission)
        assert.equal(again.journal.length, 1)
        assert.equal((await bench.settle(again)).kind, 'settled')
        const newest = { limit: 2, before: { createdAt: 2 ** 52, id: '' } }
        const [reply] = (await store.read.listAllMessages({ ...newest, conversationId: again.conversationId }))!.items
        assert.equal(reply!.steps.length, 1)
        assert.equal((await bench.admit({ ...admission, requestId: randomUUID() })).kind, 'replay')
        const second = await bench.admitted({
          externalUserId: admission.externalUserId,
          idempotencyKey: `${user}-${count}-second-${randomUUID()}`,
        })
        assert.ok(second.history.length >= 2)
        assert.equal((await bench.fail(second, 'failed')).kind, 'ended')
        await store.spendWindows([{ apiKeyId: bench.apiKeyId, limit: 10, windowSeconds: 60, units: 1 }])
      }),
    )
    const orphans = await Promise.all(
      [1, 2].map(() => bench.admitted({ externalUserId: `${user}-orphan-${++count}`, idempotencyKey: `${user}-${count}` })),
    )
    await store.releaseLeases(orphans)
    const { turns } = await store.claimOrphans({ which: 'fresh', limit: 10, leaseMs, running: [] })
    assert.equal(turns.length, 2)
    await store.releaseLeases(turns)
    const suspects = await store.claimOrphans({ which: 'suspect', limit: 10, leaseMs, running: [] })
    assert.equal(suspects.turns.length, 1)
    const left = turns.find(({ requestId }) => requestId !== suspects.turns[0]!.requestId)
    for (const turn of [left!, suspects.turns[0]!]) assert.equal((await bench.settle(turn)).kind, 'settled')
  }
  /** A connection that does not read the clock reports what it has read with its next call, a second after its last report. */
  const reported = async (): Promise<void> => {
    await pass(1100)
    await Promise.all(Array.from({ length: 8 }, () => store.read.findOwner(bench.ownerId)))
  }
  for (let round = 0; round < rounds; round++) await everything(`early-${round}`)

  // The same key, agent and owner; four turns in each conversation; the newest users are those who return.
  await database.rows(
    `insert into conversations (id, api_key_id, external_user_id, message_count, message_tokens, created_at, last_message_at)
       select 'conv_' || c, $1, case when c <= 60 then 'late-' || (c - 1) / 3 || '-' || c else 'user ' || c end, 8, 28, 1000 + c, 1000 + c
       from generate_series(1, ${filled / 4}) as c`,
    bench.apiKeyId,
  )
  await fillTurns(database, bench)
  await database.rows(`insert into messages (id, conversation_id, seq, role, content, tokens, request_id, created_at)
    select 'msg_' || n || role, 'conv_' || (n / 4 + 1), n % 4 * 2 + place, role, 'text', 3, 'filled-' || n, 1000 + n
    from generate_series(0, ${filled - 1}) as n, (values (1, 'user'), (2, 'assistant')) as m (place, role)`)
  await database.rows(
    `insert into ledger (id, owner_id, kind, amount, request_id, created_at)
       select 'led_filled_' || n, $1, 'charge', -600, 'filled-' || n, 1000 + n from generate_series(0, ${filled - 1}) as n`,
    bench.ownerId,
  )
  await database.rows(`insert into journal (request_id, run, step, part, kind, payload, created_at)
    select 'filled-' || n, 1, 1, 0, 'model', '{}', 1000 + n from generate_series(0, ${filled - 1}) as n`)
  await database.rows('select pg_stat_force_next_flush()')

  const read = (): Promise<Reading[]> =>
    database.rows(
      `select t.relname as table, t.seq_tup_read::float8 as whole, coalesce(t.idx_tup_fetch, 0)::float8 as rows,
        (select coalesce(sum(i.idx_tup_read), 0)::float8 from pg_stat_user_indexes i where i.relid = t.relid and not i.indexrelname = any ($1)) as index
      from pg_stat_user_tables t order by 1`,
      ofRunning,
    )
  await reported()
  const before = await read()
  count = 0
  for (let round = 0; round < rounds; round++) await everything(`late-${round}`)
  await reported()
  // A few of its own connection's too, so that the last ones are counted.
  await store.renewLeases([], leaseMs)
  const after = await read()
  return after.map(({ table, whole, rows, index }, place) => ({
    table,
    whole: whole - before[place]!.whole,
    rows: (rows - before[place]!.rows) / rounds,
    index: (index - before[place]!.index) / rounds,
  }))
}

/** Completed turns of one key, agent and owner, four in each conversation. */
async function fillTurns(database: OwnPostgres, bench: Bench, turns = filled): Promise<void> {
  await database.rows(
    `insert into turns (request_id, api_key_id, idempotency_key, fingerprint, conversation_id, owner_id, agent_id, agent_version, state, run, attempt,
         fence, hold, prompt_price, completion_price, message, message_tokens, prompt_tokens, completion_tokens, usage_estimated, charged,
         created_at, started_at, ended_at)
       select 'filled-' || n, $1, 'filled-' || n, decode(repeat('00', 32), 'hex'), 'conv_' || (n / 4 + 1), $2, $3, 1, 'completed', 1, 1,
         1, 0, 15000000, 60000000, 'hello', 3, 20, 5, 0, 600, 1000 + n, 1000 + n, now_ms()
       from generate_series(0, ${turns - 1}) as n`,
    bench.apiKeyId,
    bench.ownerId,
    bench.agentId,
  )
}

void test('postgres: plans that were made on empty tables never scan a full table and read few rows', { skip: noPostgres() }, async (t) => {
  const readings = await readingsOf(t, { prepare: '' })
  for (const { table, rows, index } of readings)
    if (rows + index > 0) t.diagnostic(`${table}: ${rows} rows, ${index} index entries a round`)
  assert.deepEqual(
    readings.filter(({ whole }) => whole > 0),
    [],
  )
  // A round is some forty calls, each of one turn. Index entries count more: those of changed rows stay until they are vacuumed.
  assert.deepEqual(
    readings.filter(({ rows, index }) => rows > 500 || index > filled / 4),
    [],
  )
  assert.ok(readings.find(({ table }) => table === 'turns')!.rows > 10, 'what is read is counted')
})

void test('postgres: a function that scans a whole table is seen by the count above', { skip: noPostgres() }, async (t) => {
  // Without the function's settings alone, its plan would depend on how full the tables were when each connection made it.
  const readings = await readingsOf(t, {
    prepare: ['enable_seqscan = on', 'enable_indexscan = off', 'enable_indexonlyscan = off', 'enable_bitmapscan = off']
      .map((setting) => `alter function settle_v2(json, json) set ${setting}`)
      .join(';'),
  })
  assert.ok(
    readings.some(({ whole }) => whole > filled),
    JSON.stringify(readings),
  )
})

void test(
  'postgres: a page of feedback is read from an index, also for one agent and before statistics are collected',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const store = await database.open()
    const bench = await Bench.make(store, 1n)
    const other = await bench.another()
    const count = 5_000
    await fillTurns(database, bench, count)
    // One in a hundred is of the other agent.
    await database.rows(
      `insert into feedback (request_id, agent_id, rating, comment, tags, created_at, updated_at)
       select 'filled-' || n, case when n % 100 = 0 then $2 else $1 end, 'down', null, '["slow"]', n, n from generate_series(0, ${count - 1}) as n`,
      bench.agentId,
      other.agentId,
    )
    // A table with a few rows is never read from an index.
    await database.rows(
      `insert into conversations (id, api_key_id, external_user_id, created_at)
       select 'conv_' || n, $1, 'user ' || n, 0 from generate_series(1, ${count}) as n`,
      bench.apiKeyId,
    )
    await database.rows(
      `insert into messages (id, conversation_id, seq, role, content, tokens, request_id, created_at)
       select 'msg_' || request_id, conversation_id, 2 * row_number() over (order by request_id), 'assistant', 'a reply', 2, request_id, 0
       from turns where request_id like 'filled-%'`,
    )
    for (const isAnalyzed of [false, true]) {
      if (isAnalyzed) await database.rows('vacuum analyze')
      for (const filter of [{}, { agentId: bench.agentId }, { agentId: other.agentId, rating: 'down' as const }]) {
        const plan = await planOf(database, filter)
        // The agent is compared within the index, so a list of one agent reads no row of another.
        assert.match(plan, /feedback_newest_first/, plan)
        assert.match(plan, /Index Cond: \(.*ROW\(updated_at, request_id\) < ROW/, plan)
        if (filter.agentId !== undefined) assert.match(plan, /Index Cond: \(.*agent_id = /, plan)
        assert.doesNotMatch(plan, /Seq Scan/, plan)
        const page = { limit: 21, before: { createdAt: count / 2, id: '' } }
        assert.equal((await store.read.listFeedback({ ...filter, tag: 'slow' }, page)).length, 21)
      }
    }
  },
)

void test(
  'postgres: a rare tag of feedback is found by an index, and a page of a frequent one is read in order',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const store = await database.open()
    const bench = await Bench.make(store, 1n)
    const count = 20_000
    await fillTurns(database, bench, count)
    await database.rows(
      `insert into feedback (request_id, agent_id, rating, comment, tags, created_at, updated_at)
     select 'filled-' || n, $1, 'down', null, case when n % 1000 = 0 then '["slow","rare"]' else '["slow"]' end, n, n
     from generate_series(0, ${count - 1}) as n`,
      bench.agentId,
    )
    await database.rows('vacuum analyze')
    const rare = await planOf(database, { tag: 'rare' })
    assert.match(rare, /feedback_tags/, rare)
    assert.doesNotMatch(rare, /Seq Scan on feedback/, rare)
    const frequent = await planOf(database, { tag: 'slow' })
    assert.match(frequent, /feedback_newest_first/, frequent)
    assert.doesNotMatch(frequent, /Sort/, frequent)
    const page = { limit: 21, before: { createdAt: count, id: '' } }
    // More often than a connection needs to choose a plan for all values.
    for (let round = 0; round < 10; round++)
      for (const [tag, rows] of [
        ['rare', 20],
        ['slow', 21],
        ['none', 0],
      ] as const)
        assert.equal((await store.read.listFeedback({ tag }, page)).length, rows)
  },
)

/** How PostgreSQL runs the statement of a list of feedback. */
async function planOf({ url }: OwnPostgres, filter: FeedbackFilter): Promise<string> {
  return withClient(url, async (client) => {
    let plan = ''
    const explain: Sql = {
      engine: 'postgres',
      now: async () => 0,
      run: async () => 0,
      async all(text, ...values) {
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values)
        plan = rows.map((row) => row['QUERY PLAN']).join('\n')
        return []
      },
    }
    await listFeedback(explain, filter, { limit: 21, before: { createdAt: 2_500, id: '' } })
    return plan
  })
}

void test(
  'postgres: a thousand running turns are each found by their id, also if few ran when statistics were collected',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    // Enough that a lookup in the index of all of them costs more than one in an empty index.
    await fillTurns(database, await Bench.make(await database.open(), 1n), 100_000)
    await database.rows('vacuum analyze turns')
    const store = await database.open({ deadlines: { admissionMs: 60_000, settlementMs: 60_000 } })
    const bench = await Bench.make(store, 10n ** 12n)
    const admitted = async () =>
      (await store.admitMany(Array.from({ length: 64 }, () => bench.admission()))).map((outcome) => {
        assert.ok(outcome.kind === 'admitted', outcome.kind)
        return outcome.turn
      })
    // Each connection makes its plans while nothing runs.
    const noOne = { requestId: randomUUID(), fence: 1 }
    const nothing = {
      ...noOne,
      state: 'failed',
      code: 'internal_error',
      cause: '',
      causeKind: 'internal_error',
      unpaid: 0n,
      neededHold: 0n,
      trace: null,
    } as const
    await Promise.all([store.renewLeases([noOne], leaseMs), store.renewLeases([noOne], leaseMs)])
    await Promise.all([store.failMany([nothing]), store.failMany([nothing])])
    const turns = []
    for (let round = 0; round < 16; round++) turns.push(...(await admitted()))
    await database.rows(`create or replace function now_ms() returns bigint language sql volatile as
      'select pg_stat_force_next_flush(); select floor(extract(epoch from clock_timestamp()) * 1000)::bigint'`)
    const read = async (): Promise<number> =>
      Number((await database.rows(`select sum(idx_tup_read) as read from pg_stat_user_indexes where relname = 'turns'`))[0]!.read)
    const before = await read()
    for (let round = 0; round < 3; round++) assert.deepEqual(await store.renewLeases(turns, leaseMs), [])
    await store.settleMany(turns.slice(0, 64).map((turn) => bench.settlement(turn)))
    await store.failMany(
      turns.slice(64, 128).map(({ requestId, fence }) => ({
        requestId,
        fence,
        state: 'failed',
        code: 'internal_error',
        cause: 'test',
        causeKind: 'internal_error',
        unpaid: 0n,
        neededHold: 0n,
        trace: null,
      })),
    )
    const entries = (await read()) - before
    t.diagnostic(`${entries} index entries of turns read`)
    // A dozen for each of the 3,200 turns that were looked up, old versions of their rows included; a scan for each would be a million.
    assert.ok(entries > 3_000 && entries < 40_000, `${entries} index entries`)
  },
)
