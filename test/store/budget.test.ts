/**
 * The budget of one transaction on a real SQLite file and on PostgreSQL: n journal entries cost n index look-ups, and no transaction or
 * answer is large, however much waits. Work is counted (look-ups, transactions, bytes); nothing here measures time.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import type { Agents } from '../../src/agent/agent.ts'
import { noFailpoints } from '../../src/failpoints.ts'
import { createIds } from '../../src/ids.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { largeReply, maxBytes, smallAnswer } from '../../src/store/budget.ts'
import { createClock } from '../../src/store/sqlite/clock.ts'
import { openForWriting, sqlOf } from '../../src/store/sqlite/database.ts'
import { Writer } from '../../src/store/sqlite/group-commit.ts'
import type { Writable } from '../../src/store/sqlite/group-commit.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { createTurnPath } from '../../src/store/sqlite/turn-path.ts'
import type { Admission, AdmittedTurn, JournalEntry } from '../../src/store/turn-records.ts'
import type { BeginResult } from '../../src/turn/outcome.ts'
import { createTurns } from '../../src/turn/turn.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import type { OwnPostgres } from '../support/own-postgres.ts'
import { noPostgres } from '../support/postgres-server.ts'
import { Bench } from './conformance.ts'
import { maxWaitMs } from '../support/until.ts'

const entryCount = 10_000
const leaseMs = 15_000
const patient = { deadlines: { admissionMs: 60_000, settlementMs: 60_000 } }
const calls = (count: number, payload = '{}'): JournalEntry[] =>
  Array.from({ length: count }, (_, index): JournalEntry => ({ step: 1, part: index + 1, kind: 'tool_finished', payload }))

async function ownFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-budget-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** The writer on a file, without its thread, with a count of what it asks of the database. */
async function countedWriter(t: TestContext, running: (bench: Bench) => Promise<AdmittedTurn[]>) {
  const folder = await ownFolder(t)
  const store = await openSqliteStore({ folder })
  const bench = await Bench.make(store, 10n ** 12n)
  const turns = await running(bench)
  await store.close()
  const db = openForWriting(folder)
  t.after(() => db.close())
  const ran = new Map<string, number>()
  const counted: Writable = {
    prepare(text) {
      const statement = db.prepare(text)
      for (const name of ['get', 'run', 'all'] as const) {
        const original = statement[name].bind(statement) as (...args: never[]) => never
        Object.assign(statement, { [name]: (...args: never[]) => (ran.set(text, (ran.get(text) ?? 0) + 1), original(...args)) })
      }
      return statement
    },
    exec(text) {
      ran.set(text, (ran.get(text) ?? 0) + 1)
      return db.exec(text)
    },
    get isTransaction() {
      return db.isTransaction
    },
  }
  const clock = createClock(new SharedArrayBuffer(8))
  const writer = new Writer(counted, createTurnPath(counted as DatabaseSync, clock), sqlOf(db, clock.now), noFailpoints)
  return { db, bench, turns, writer, ran }
}

void test('tools.journal: sqlite: each of 10,000 entries costs one look-up by the full key and one insert', async (t) => {
  const { db, bench, turns, writer, ran } = await countedWriter(t, async (made) => [await made.admitted()])
  const item = bench.advancing(turns[0]!, { entries: calls(entryCount), finishedSideEffects: true })
  for (const round of [1, 2]) {
    ran.clear()
    const [answer] = await writer.answer([{ id: 1, operation: 'advance', items: [item] }])
    assert.deepEqual(answer!.outcomes, [{ value: { kind: 'advanced' } }])
    const onJournal = [...ran].filter(([text]) => text.includes('journal'))
    assert.deepEqual(
      onJournal.map(([, times]) => times),
      round === 1 ? [entryCount, entryCount] : [entryCount],
    )
    for (const [text] of onJournal.filter(([one]) => one.startsWith('select'))) {
      const plan = db
        .prepare(`explain query plan ${text}`)
        .all()
        .map(({ detail }) => detail)
      assert.deepEqual(plan, ['SEARCH journal USING PRIMARY KEY (request_id=? AND step=? AND part=? AND kind=? AND run>?)'])
    }
  }
  assert.equal(Number(db.prepare('select count(*) as n from journal').get()!['n']), entryCount)
})

void test(
  'tools.journal: postgres: the index pages read for 10,000 entries grow with their number, not with its square',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const store = await database.open(patient)
    const bench = await Bench.make(store, 10n ** 12n)
    const turn = await bench.admitted()
    const pages = async (): Promise<number> => {
      // A connection reports what it has read when it is asked to, at the latest.
      await Promise.all([1, 2].map(() => store.renewLeases([turn], leaseMs)))
      return Number((await database.row(`select idx_blks_read + idx_blks_hit as n from pg_statio_user_tables where relname = 'journal'`)).n)
    }
    await database.rows(`create or replace function now_ms() returns bigint language sql volatile as
    'select pg_stat_force_next_flush(); select floor(extract(epoch from clock_timestamp()) * 1000)::bigint'`)
    for (let from = 0; from < 2 * entryCount; from += entryCount) {
      const before = await pages()
      const entries = calls(from + entryCount).slice(from)
      assert.equal((await bench.advance(turn, { entries, finishedSideEffects: true })).kind, 'advanced')
      const read = (await pages()) - before
      t.diagnostic(`entries ${from + 1} to ${from + entryCount}: ${read} index pages`)
      // A look-up in a tree of three levels, and the inserts into the two indexes and the check of the foreign key.
      assert.ok(read > entryCount && read < 20 * entryCount, `${read} pages`)
    }
    assert.equal((await store.read.findTurn(turn.requestId))!.steps.length, 2 * entryCount)
  },
)

void test('sqlite: a group above the budget is committed in several transactions, in order', async (t) => {
  const { db, bench, turns, writer, ran } = await countedWriter(t, (made) => Promise.all(Array.from({ length: 12 }, () => made.admitted())))
  const payload = 'x'.repeat(500_000)
  ran.clear()
  const items = turns.map((turn) => bench.advancing(turn, { entries: calls(1, payload) }))
  const [answer] = await writer.answer([{ id: 1, operation: 'advance', items }])
  assert.equal(answer!.outcomes.length, 12)
  for (const outcome of answer!.outcomes) assert.deepEqual(outcome, { value: { kind: 'advanced' } })
  assert.equal(ran.get('commit'), 3)
  ran.clear()
  await writer.answer([{ id: 2, operation: 'advance', items: turns.map((turn) => bench.advancing(turn, { entries: calls(1) })) }])
  assert.equal(ran.get('commit'), 1)
  assert.equal(Number(db.prepare('select count(*) as n from journal').get()!['n']), 12)
})

/** Completed turns with a reply of this size, one for each name, each with its admission for a replay. */
async function completed(bench: Bench, bytes: number, count: number) {
  const made = []
  for (let n = 0; n < count; n++) {
    const admission = bench.admission({ externalUserId: `user ${n} of ${bytes}` })
    const turn = await bench.admitted(admission)
    const settled = await bench.settle(turn, { content: `${n} `.padEnd(bytes, 'ö\n').slice(0, bytes / 2), contentTokens: bytes / 2 })
    assert.ok(settled.kind === 'settled')
    made.push({ admission: { ...admission, requestId: randomUUID() }, reply: settled.reply })
  }
  return made
}

/** Sends what was answered `later` again, and counts the calls. */
async function admitAll(store: Bench['store'], items: Parameters<Bench['store']['admitMany']>[0]) {
  const outcomes = new Map<string, Awaited<ReturnType<Bench['store']['admitMany']>>[number]>()
  const callsOf: number[] = []
  for (let left = items; left.length > 0;) {
    const answered = await store.admitMany(left)
    for (const [index, outcome] of answered.entries()) if (outcome.kind !== 'later') outcomes.set(left[index]!.requestId, outcome)
    const rest = left.filter((_, index) => answered[index]!.kind === 'later')
    assert.ok(rest.length < left.length, 'each call answers at least one item')
    callsOf.push(left.length - rest.length)
    left = rest
  }
  return { outcomes: items.map(({ requestId }) => outcomes.get(requestId)!), callsOf }
}

for (const backend of ['sqlite', 'postgres'] as const) {
  void test(
    `idempotency.replay: ${backend}: an admission returns only the size of a large reply, which is read apart`,
    { skip: backend === 'postgres' && noPostgres() },
    async (t) => {
      const store = backend === 'sqlite' ? await openedSqlite(t) : await (await ownPostgres(t)).open(patient)
      const bench = await Bench.make(store, 10n ** 12n)
      const [large] = await completed(bench, largeReply + 2, 1)
      const [edge] = await completed(bench, largeReply, 1)
      const { outcomes } = await admitAll(store, [large!.admission, edge!.admission])
      const { requestId } = large!.reply
      assert.deepEqual(outcomes, [
        { kind: 'large_replay', requestId, bytes: largeReply + 2 },
        { kind: 'replay', reply: edge!.reply },
      ])
      assert.deepEqual(await store.read.findReplies([requestId, randomUUID()]), new Map([[requestId, large!.reply]]))
    },
  )
}

void test(
  "overload.queue: postgres: 64 replays of 1.5 MB at once, and 64 large histories, are answered within a short deadline, and so is another owner's message",
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const filling = await database.open(patient)
    const bench = await Bench.make(filling, 10n ** 15n, 800_000)
    const large = await completed(bench, 1_500_000, 64)
    const other = await Bench.make(filling, 10n ** 12n)
    const store = await database.open({ deadlines: { admissionMs: 250 } })
    const agents: Agents = { generate: async () => ({ kind: 'refused', cause: 'not of interest', causeKind: 'internal_error' }) }
    const parts = { failpoints: noFailpoints, log: pino({ level: 'silent' }), metrics: createMetrics(), ...createIds() }
    const turns = createTurns({ store, agents, ...parts })
    const begin = (of: Bench, { externalUserId, message, idempotencyKey }: Admission): Promise<BeginResult> =>
      turns.begin({
        apiKeyId: of.apiKeyId,
        agentId: of.agentId,
        idempotencyKey,
        externalUserId,
        message,
        traceparent: null,
        shareOf: of.ownerId,
      })
    // As a caller does: the same again. If all were in one batch, each of them would be refused every time, on any machine.
    const limit = performance.now() + maxWaitMs
    const patiently = async (of: Bench, admission: Admission): Promise<BeginResult> => {
      const result = await begin(of, admission)
      return result.kind === 'refused' && performance.now() < limit ? patiently(of, admission) : result
    }
    const asked = large.map(({ admission }) => patiently(bench, admission))
    const otherTurn = patiently(other, other.admission())
    for (const [index, result] of (await Promise.all(asked)).entries()) {
      assert.equal(result.kind, 'replay')
      assert.deepEqual(result, { kind: 'replay', reply: large[index]!.reply })
    }
    assert.equal((await otherTurn).kind, 'running')
    const next = large.map(({ admission }) => patiently(bench, bench.admission({ externalUserId: admission.externalUserId })))
    for (const result of await Promise.all(next)) {
      assert.equal(result.kind, 'running')
      if (result.kind === 'running') assert.equal((await result.turn.end).kind, 'failed')
    }
    await bench.verify()
  },
)

async function openedSqlite(t: TestContext) {
  const store = await openSqliteStore({ folder: await ownFolder(t) })
  t.after(() => store.close())
  return store
}

void test(
  'overload.queue: postgres: the answer to a batch is bounded: the rest of 64 large histories and replies is answered later, in order',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const store = await database.open(patient)
    const bench = await Bench.make(store, 10n ** 15n, 800_000)
    const large = 600_000
    const histories = await completed(bench, large, 16)
    const medium = await completed(bench, largeReply, 32)
    const small = await completed(bench, smallAnswer, 4)
    const next = histories.map(({ admission }) => bench.admission({ externalUserId: admission.externalUserId }))
    const items = [...next, ...medium.map(({ admission }) => admission), ...small.map(({ admission }) => admission)]
    const { outcomes, callsOf } = await admitAll(store, items)
    for (const [index, outcome] of outcomes.entries()) {
      if (index < next.length) assert.ok(outcome.kind === 'admitted' && outcome.turn.history.length === 2, `${index}: ${outcome.kind}`)
      else assert.ok(outcome.kind === 'replay', `${index}: ${outcome.kind}`)
    }
    t.diagnostic(`items in each call: ${callsOf.join(', ')}`)
    const bytes = next.length * large + medium.length * largeReply
    assert.ok(callsOf.length >= bytes / (maxBytes + large), `${callsOf.length} calls for ${bytes} bytes`)
    assert.ok(callsOf[0]! >= small.length + 1, 'a small answer never waits')
    // Recovery: a claim is bounded, too, and claims the rest later.
    const turns = outcomes.flatMap((outcome) => (outcome.kind === 'admitted' ? [outcome.turn] : []))
    await store.releaseLeases(turns)
    const claims: number[] = []
    for (let left = turns.length; left > 0;) {
      const { turns: claimed } = await store.claimOrphans({ which: 'fresh', limit: 100, leaseMs, running: [] })
      assert.ok(claimed.length > 0 && claimed.length * large <= maxBytes + large, `${claimed.length} claimed`)
      for (const turn of claimed) assert.equal(turn.history.length, 2)
      claims.push(claimed.length)
      left -= claimed.length
    }
    assert.ok(claims.length > 1)
    await settleAll(bench, database)
  },
)

/** Nothing that the budget split is half done. */
async function settleAll(bench: Bench, database: OwnPostgres): Promise<void> {
  await bench.verify()
  assert.equal(Number((await database.row(`select count(*) as n from turns where state = 'running' and attempt <> 2`)).n), 0)
}
