/**
 * Behind PgBouncer in transaction mode every transaction may run on another connection: the whole conformance suite passes through it, the
 * store logs once that a pooler is used, and does without what a pooler cannot support. PgBouncer is Debian's, on its own port.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { inspectPostgres } from '../../src/store/postgres/postgres.ts'
import { openThrough, ownPostgres } from '../support/own-postgres.ts'
import { noPooler, startPooler } from '../support/pooler.ts'
import type { Pooler } from '../support/pooler.ts'
import { sharedPostgres } from '../support/postgres-server.ts'
import { Bench, checkOn, conformance } from './conformance.ts'
import { journalConformance } from './journal-conformance.ts'
import { priceConformance } from './price-conformance.ts'
import { spendLimitConformance } from './spend-limit-conformance.ts'
import { unpaidConformance } from './unpaid-conformance.ts'

const missing = noPooler()

let started: Promise<Pooler> | undefined
const pooler = async (): Promise<Pooler> => (started ??= startPooler(await sharedPostgres()))
after(async () => (await started)?.stop())

if (missing) void test('postgres behind PgBouncer: the conformance suite', { skip: missing }, () => undefined)
else {
  const check = checkOn('postgres behind PgBouncer', async () => openThrough((await pooler()).through))
  conformance(check)
  journalConformance(check)
  priceConformance(check)
  unpaidConformance(check)
  spendLimitConformance(check)
}

void test(
  "postgres behind PgBouncer: it is logged once, LISTEN is not used, and another process's changes are read immediately",
  { skip: missing },
  async (t) => {
    const database = await ownPostgres(t)
    const { through } = await pooler()
    const messages: string[] = []
    const log = { warn: () => undefined, info: (_: object, message: string) => void messages.push(message) }
    const direct = await database.open({ log })
    assert.equal(messages.length, 0)
    const stores = [await database.open({ url: through(database.url), log }), await database.open({ url: through(database.url) })]
    assert.equal(messages.filter((message) => message.includes('pooler')).length, 1)
    assert.equal((await inspectPostgres(through(database.url))).pooled, true)
    assert.equal((await inspectPostgres(database.url)).pooled, false)

    const bench = await Bench.make(stores[0]!, 10n ** 9n)
    await bench.revise({ maxMessageLength: 77 })
    for (const store of [stores[1]!, direct]) assert.equal((await store.read.findAgent(bench.agentId))?.present.maxMessageLength, 77)
    const listening = await database.rows(
      `select from pg_stat_activity where datname = current_database() and query like 'select pg_advisory_lock(%'`,
    )
    assert.equal(listening.length, 1, 'the direct one alone')
  },
)

void test(
  'postgres behind PgBouncer: more concurrent calls than it has connections all succeed, from two processes',
  { skip: missing },
  async (t) => {
    const database = await ownPostgres(t)
    const { through } = await pooler()
    const deadlines = { admissionMs: 60_000, settlementMs: 60_000 }
    const stores = await Promise.all([1, 2].map(() => database.open({ url: through(database.url), deadlines })))
    const bench = await Bench.make(stores[0]!, 10n ** 9n)
    const turns = 200
    const kinds = await Promise.all(
      Array.from({ length: turns }, async (_, number) => {
        const store = stores[number % 2]!
        const [outcome] = await store.admitMany([bench.admission()])
        assert.ok(outcome?.kind === 'admitted', outcome?.kind)
        return (await store.settleMany([bench.settlement(outcome.turn)]))[0]!.kind
      }),
    )
    assert.deepEqual(new Set(kinds), new Set(['settled']))
    assert.deepEqual(await bench.money(), { balance: 10n ** 9n - 600n * BigInt(turns), held: 0n })
    await bench.verify()
  },
)
