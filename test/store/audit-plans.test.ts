/**
 * `audit`: the pages of the audit log, and the check for an earlier reading, are read from an index in the order of the list, on both stores and
 * on PostgreSQL also before statistics are collected. Nothing here measures time.
 */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { listAudit, wasReadRecently } from '../../src/store/queries/audit-log.ts'
import type { AuditFilter } from '../../src/store/queries/audit-log.ts'
import type { Sql, SqlValue } from '../../src/store/sql.ts'
import { sqlOf } from '../../src/store/sqlite/database.ts'
import { migrate, readMigrations } from '../../src/store/sqlite/migrate.ts'
import { makeMigratedDatabase, ownPostgres } from '../support/own-postgres.ts'
import { noPostgres, withClient } from '../support/postgres-server.ts'

const rows = 50_000
const author = { who: 'operator' as const, id: 'opr_5', name: 'Kim', requestId: 'r' }
const lookUp = 'an earlier reading'

/** Of each filter, the index that finds its rows. */
const filters: [filter: AuditFilter, index: RegExp][] = [
  [{}, /audit_newest_first/],
  [{ from: 10, to: 20_000 }, /audit_newest_first/],
  [{ subjectId: 'conv_77' }, /audit_of_subject/],
  [{ subjectId: 'conv_77', noun: 'conversation', verb: 'read', authorId: 'opr_5' }, /audit_of_subject/],
  [{ authorId: 'opr_5' }, /audit_of_author/],
  [{ authorId: 'opr_5', noun: 'agent', from: 10, to: 20_000 }, /audit_of_author/],
  [{ noun: 'agent' }, /audit_of_noun/],
  [{ noun: 'agent', verb: 'change' }, /audit_of_noun/],
]

const readsOf = () => [
  ...filters.map(([filter, index]) => ({
    name: JSON.stringify(filter),
    index,
    read: (sql: Sql): Promise<unknown> => listAudit(sql, filter, { limit: 21, before: { createdAt: rows / 2, id: 'aud_5' } }),
  })),
  {
    name: lookUp,
    index: /audit_of_subject/,
    read: (sql: Sql): Promise<unknown> => wasReadRecently(sql, { verb: 'read', noun: 'conversation', subjectId: 'conv_77' }, author),
  },
]

const explaining = (engine: Sql['engine'], plans: string[], explain: (text: string, values: SqlValue[]) => Promise<string>): Sql => ({
  engine,
  now: async () => rows,
  run: async () => 0,
  async all(text, ...values) {
    plans.push(await explain(text, values))
    return []
  },
})

void test('sqlite: audit: each filter is read from its index, without a sort', async () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, readMigrations(), undefined)
  const real = sqlOf(db, () => 0)
  for (const { name, index, read } of readsOf()) {
    const plans: string[] = []
    await read(
      explaining('sqlite', plans, async (text, values) =>
        (await real.all(`explain query plan ${text}`, ...values)).map(({ detail }) => detail).join(', '),
      ),
    )
    assert.equal(plans.length, 1)
    assert.match(plans[0]!, index, `${name}: ${plans[0]}`)
    assert.doesNotMatch(plans[0]!, /SCAN|TEMP B-TREE/, `${name}: ${plans[0]}`)
  }
  db.close()
})

void test('postgres: audit: each filter is read from an index without sorting many rows', { skip: noPostgres() }, async (t) => {
  const database = await ownPostgres(t, await makeMigratedDatabase())
  await database.rows('alter table audit set (autovacuum_enabled = off)')
  // Nearly all are readings, by fifty operators. A hundredth are changes of agents.
  await database.rows(
    `insert into audit (id, who, author_id, author_name, verb, noun, subject_id, fields, request_id, created_at)
     select 'aud_' || n, 'operator', 'opr_' || n % 50, 'Kim', case when n % 100 = 0 then 'change' else 'read' end,
       case when n % 100 = 0 then 'agent' else 'conversation' end, 'conv_' || n % 5000, '[]', 'r', n from generate_series(1, ${rows}) as n`,
  )
  for (const isAnalyzed of [false, true]) {
    if (isAnalyzed) await database.rows('vacuum analyze audit')
    await withClient(database.url, async (client) => {
      for (const { name, index, read } of readsOf()) {
        const plans: string[] = []
        await read(
          explaining('postgres', plans, async (text, values) => {
            const { rows: lines } = await client.query<{ 'QUERY PLAN': string }>(`explain (analyze, timing off) ${text}`, values)
            return lines.map((line) => line['QUERY PLAN']).join('\n')
          }),
        )
        const [plan] = plans
        assert.doesNotMatch(plan!, /Seq Scan on audit/, `${name}: ${plan}`)
        // With few rows of a filter, the planner may also walk the list from its start.
        assert.match(plan!, isAnalyzed ? new RegExp(`${index.source}|audit_newest_first`) : /Index/, `${name}: ${plan}`)
        const removed = Number(/Rows Removed by Filter: (\d+)/.exec(plan!)?.[1] ?? 0)
        assert.ok(removed <= 5000, `${name} read ${removed} rows in vain: ${plan}`)
      }
    })
  }
})
