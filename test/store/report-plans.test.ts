/**
 * `billing.reports`: the statements of reports, ledgers and end users read a period or a user from an index, on both stores, and on PostgreSQL
 * before and after statistics are collected. Nothing here measures time.
 */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { listExportedTurns } from '../../src/store/queries/end-user-export.ts'
import { findEndUser, listEndUsers } from '../../src/store/queries/end-users.ts'
import { searchConversations } from '../../src/store/queries/conversation-search.ts'
import { listAllConversations } from '../../src/store/queries/any-conversations.ts'
import { listAttention } from '../../src/store/queries/attention.ts'
import { listFeedback } from '../../src/store/queries/feedback.ts'
import { listTurns, turnStates } from '../../src/store/queries/turns.ts'
import { listLedger } from '../../src/store/queries/ledger.ts'
import { usageByBucket } from '../../src/store/queries/usage.ts'
import { listUsageLines } from '../../src/store/queries/usage-lines.ts'
import type { UsageGroup } from '../../src/store/queries/usage-lines.ts'
import type { Row, Sql, SqlValue } from '../../src/store/sql.ts'
import { sqlOf } from '../../src/store/sqlite/database.ts'
import { migrate, readMigrations } from '../../src/store/sqlite/migrate.ts'
import { makeMigratedDatabase, ownPostgres } from '../support/own-postgres.ts'
import { noPostgres, withClient } from '../support/postgres-server.ts'
import { fillTurns, filledFrom, makeKeys } from './report-fill.ts'
import type { Key } from './report-fill.ts'

const dayMs = 24 * 60 * 60 * 1000
const period = { from: filledFrom + 10 * dayMs, to: filledFrom + 11 * dayMs }
const groups: UsageGroup[][] = [['owner'], ['agent'], ['api_key'], ['end_user'], ['api_key', 'end_user']]
const firstPage = { limit: 21, before: { createdAt: period.to, id: '' } }

type Read = { name: string; read(sql: Sql): Promise<unknown> }

function readsOf({ ownerId, agentId, apiKeyId }: Key): Read[] {
  const filters = [{}, { ownerId }, { agentId }, { apiKeyId }, { externalUserId: 'user 7' }, { externalUserId: 'user 7', agentId }]
  const after = { ownerId: 'a', agentId: 'b', apiKeyId: 'c', externalUserId: 'd', erasedConversationId: '' }
  const named = (filter: object): string => Object.keys(filter).join(' and ') || 'no filter'
  return filters.flatMap((filter): Read[] => [
    ...groups.map((groupBy): Read => ({
      name: `usage by ${groupBy.join()} with ${named(filter)}`,
      read: (sql) => listUsageLines(sql, { ...filter, ...period, groupBy, limit: 21, after }),
    })),
    { name: `usage by bucket with ${named(filter)}`, read: (sql) => usageByBucket(sql, { ...filter, ...period, bucketMs: dayMs }) },
    { name: `ledger with ${named(filter)}`, read: (sql) => listLedger(sql, filter, firstPage) },
    { name: `ledger of a period with ${named(filter)}`, read: (sql) => listLedger(sql, { ...filter, ...period }, firstPage) },
  ])
}

function endUserReadsOf({ agentId }: Key): Read[] {
  const last = { value: 5n, externalUserId: 'user 5' }
  return [
    { name: 'end users of a period', read: (sql) => listEndUsers(sql, { agentId, sort: 'spend', ...period, limit: 21, after: last }) },
    { name: 'end users', read: (sql) => listEndUsers(sql, { agentId, sort: 'last_activity', ...period, from: 0, limit: 21 }) },
    { name: 'an end user', read: (sql) => findEndUser(sql, { agentId, externalUserId: 'user 7', since: [period.from, 0] }) },
    ...searchesOf(agentId),
    ...turnsOfUser({ agentId, externalUserId: 'user 7' }),
    { name: 'an export', read: (sql) => listExportedTurns(sql, { conversationId: 'conv_0_7', after: 'turn', limit: 50 }) },
  ]
}

/** `conversation.search`: the turns of a conversation are read from the index of the conversation, and no others. */
function searchesOf(agentId: string): Read[] {
  const page = { limit: 20, before: { createdAt: period.to, id: 'z' } }
  const wanted = { ...page, agentId, apiKeyId: undefined, externalUserId: undefined, from: undefined, to: undefined }
  const none = { text: undefined, state: undefined, rating: undefined, excerpts: false }
  return [
    { name: 'conversations with a text', read: (sql) => searchConversations(sql, { ...wanted, ...none, text: 'words' }) },
    { name: 'conversations with a running turn', read: (sql) => searchConversations(sql, { ...wanted, ...none, state: 'running' }) },
    { name: 'conversations with a failed turn', read: (sql) => searchConversations(sql, { ...wanted, ...none, state: 'failed' }) },
    { name: 'conversations with feedback', read: (sql) => searchConversations(sql, { ...wanted, ...none, rating: 'down' }) },
    { name: 'conversations with excerpts', read: (sql) => searchConversations(sql, { ...wanted, ...none, excerpts: true }) },
  ]
}

/** From the conversations of the end user, also if all its turns are older than many others. */
function turnsOfUser(user: { agentId: string; externalUserId: string }): Read[] {
  const filters = [{}, { ownerId: 'own_x' }, ...turnStates.map((state) => ({ state }))]
  const page = { limit: 21, before: { createdAt: period.to, id: 'z' } }
  return filters.map((filter) => ({
    name: `turns of an end user with ${Object.values(filter).join() || 'no other filter'}`,
    read: (sql) => listTurns(sql, { ...filter, ...user }, page),
  }))
}

/** `operator.scope`: the lists of a principal that is restricted to an owner. */
function ownerReadsOf({ ownerId }: Key): (Read & { index: string })[] {
  const page = { limit: 21, before: { createdAt: period.to, id: 'z' } }
  const conversations = {
    ...page,
    ownerId,
    agentId: undefined,
    apiKeyId: undefined,
    externalUserId: undefined,
    from: undefined,
    to: undefined,
  }
  return [
    { name: 'turns of an owner', index: 'turns_newest_first', read: (sql) => listTurns(sql, { ownerId }, page) },
    { name: 'failed turns of an owner', index: 'turns_by_state', read: (sql) => listTurns(sql, { ownerId, state: 'failed' }, page) },
    { name: 'feedback of an owner', index: 'feedback_newest_first', read: (sql) => listFeedback(sql, { ownerId }, page) },
    { name: 'conversations of an owner', index: 'conversations_of_all_keys', read: (sql) => listAllConversations(sql, conversations) },
    {
      name: 'credits of an owner',
      index: 'ledger_of_operators',
      read: (sql) => listLedger(sql, { ownerId, kind: 'credit' }, page),
    },
    { name: 'adjustments', index: 'ledger_of_operators', read: (sql) => listLedger(sql, { kind: 'adjustment', ...period }, page) },
    { name: 'ledger of an owner', index: 'ledger_newest_first', read: (sql) => listLedger(sql, { ownerId }, page) },
  ]
}

/** What needs attention and the windows of limits: statement by statement. The webhooks are at most a hundred. */
const attentionReads: (Read & { indexes: RegExp[] })[] = [
  {
    name: 'what needs attention',
    indexes: [
      /^SCAN d USING INDEX documents_failed/,
      ...Array.from({ length: 3 }, () => /SEARCH s USING INDEX spending_of_windows/),
      /^SCAN webhooks .*SEARCH d USING INDEX deliveries_of_webhook/,
    ],
    read: (sql) => listAttention(sql, { within: { ownerId: 'own_x', agentId: null } }),
  },
]

/** Lines of end users are read from their conversations if the period has many turns, otherwise from its turns. */
const both = (reads: Read[]) => reads.flatMap((read) => [0, 1000].map((turns) => ({ ...read, turns })))

/** Collects the plans of all statements of a read. The first statement of a read returns a row, so that the next ones follow. */
function explaining(
  engine: Sql['engine'],
  explain: (text: string, values: SqlValue[]) => Promise<string>,
  turns: number,
): { sql: Sql; plans: string[] } {
  const plans: string[] = []
  const counts: Record<string, number> = { turns, conversations: 1 }
  const row = new Proxy<Row>({}, { get: (_, column) => (String(column).endsWith('id') ? 'x' : (counts[String(column)] ?? 0)) })
  return {
    plans,
    sql: {
      engine,
      now: async () => 0,
      run: async () => 0,
      async all(text, ...values) {
        plans.push(await explain(text, values))
        return /^select count\(|spent0/.test(text) || (text.includes('message_count') && !text.includes('k1')) ? [row] : []
      },
    },
  }
}

void test('sqlite: billing.reports end-users: a report, a ledger and end users are read from an index of the period or of the user', async () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, readMigrations(), undefined)
  const real = sqlOf(db, () => 0)
  const key = { ownerId: 'own_x', agentId: 'agt_x', apiKeyId: 'key_x' }
  for (const { name, read, turns } of both([...readsOf(key), ...endUserReadsOf(key)])) {
    const { sql, plans } = explaining(
      'sqlite',
      async (text, values) => (await real.all(`explain query plan ${text}`, ...values)).map(({ detail }) => detail).join(', '),
      turns,
    )
    await read(sql)
    assert.ok(plans.length > 0, name)
    for (const plan of plans) {
      // The keys are few: of a user of all agents, each is asked. The others are results, not tables.
      assert.doesNotMatch(plan.replaceAll(/SCAN (k|x|g|u)\b/g, ''), /SCAN/, `${name}: ${plan}`)
      assert.match(plan, /USING (COVERING )?(INDEX|PRIMARY KEY)/, `${name}: ${plan}`)
      if (name.startsWith('conversations with')) {
        assert.doesNotMatch(plan, /turns_by_state|turns_newest_first/, `conversation.search ${name}: ${plan}`)
        for (const of of plan.matchAll(/SEARCH t USING (?:COVERING )?INDEX (\w+)/g))
          assert.match(of[1]!, /^(turns_of_conversation|one_running_turn_per_conversation)$/, `conversation.search ${name}: ${plan}`)
      }
      if (name.startsWith('turns of an end user'))
        assert.match(
          plan,
          /SEARCH c USING INDEX one_conversation_per_end_user \(api_key_id=\? AND external_user_id=\?\), SEARCH t USING INDEX turns_of_conversation \(conversation_id=\?\)/,
          `${name}: ${plan}`,
        )
      if (name.startsWith('ledger') && !name.includes('User')) assert.doesNotMatch(plan, /TEMP B-TREE/, `${name}: ${plan}`)
    }
  }
  for (const { name, index, read } of ownerReadsOf(key)) {
    const { sql, plans } = explaining(
      'sqlite',
      async (text, values) => (await real.all(`explain query plan ${text}`, ...values)).map(({ detail }) => detail).join(', '),
      0,
    )
    await read(sql)
    // In the order of the list, so that a page reads no more of its index than it needs, and each row is compared with the owner's agents.
    assert.match(plans[0]!, new RegExp(`^SEARCH \\w USING (COVERING )?INDEX ${index} \\(`), `operator.scope ${name}: ${plans[0]}`)
    assert.doesNotMatch(plans[0]!, /TEMP B-TREE|SCAN (?!json_each)/, `operator.scope ${name}: ${plans[0]}`)
  }
  for (const { name, indexes, read } of attentionReads) {
    const { sql, plans } = explaining(
      'sqlite',
      async (text, values) => (await real.all(`explain query plan ${text}`, ...values)).map(({ detail }) => detail).join(', '),
      0,
    )
    await read(sql)
    for (const [at, index] of indexes.entries()) assert.match(plans[at]!, index, `${name}: ${plans[at]}`)
    for (const plan of plans) assert.doesNotMatch(plan, /SCAN (?!webhooks|d USING INDEX documents_failed|[fpl]\b)/, `${name}: ${plan}`)
  }
  db.close()
})

void test(
  'postgres: billing.reports end-users: a report, a ledger and end users are read from an index, also before statistics are collected',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t, await makeMigratedDatabase())
    const keys = await makeKeys(await database.open())
    await database.rows('alter table turns set (autovacuum_enabled = off)')
    const noFingerprint = `decode(repeat('00', 32), 'hex')`
    await fillTurns(async (statement) => void (await database.rows(statement)), keys, { turns: 20_000, users: 60, noFingerprint })
    // Without them, PostgreSQL would scan an empty table.
    for (const [role, after] of [
      ['user', 1],
      ['assistant', 0],
    ] as const)
      await database.rows(`insert into messages (id, conversation_id, seq, role, content, tokens, request_id, created_at)
        select '${role}' || request_id, conversation_id, 2 * row_number() over (partition by conversation_id order by request_id) - ${after}, '${role}',
          'some words', 3, request_id, created_at from turns where state = 'completed'`)
    for (const isAnalyzed of [false, true]) {
      if (isAnalyzed) await database.rows('vacuum analyze')
      await withClient(database.url, async (client) => {
        for (const { name, read, turns } of both([
          ...readsOf(keys[0]!),
          ...endUserReadsOf(keys[0]!),
          ...ownerReadsOf(keys[0]!),
          ...attentionReads,
        ])) {
          const { sql, plans } = explaining(
            'postgres',
            async (text, values) => {
              const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values)
              return rows.map((row) => row['QUERY PLAN']).join('\n')
            },
            turns,
          )
          await read(sql)
          assert.ok(plans.length > 0, name)
          for (const plan of plans) {
            assert.doesNotMatch(plan, /Seq Scan on (turns|ledger|messages|turn_errors|journal)\b/, `${name}: ${plan}`)
            if (!name.startsWith('turns of an end user')) continue
            assert.match(plan, / turns_of_conversation\b/, `${name}: ${plan}`)
            assert.doesNotMatch(plan, /turns_newest_first|turns_by_state|usage_of_turns/, `${name}: ${plan}`)
            // No index has this order, so PostgreSQL never reads the turns of all end users in it to find those of one.
            assert.match(plan, /Sort Key: \(\(\+ t\.created_at\)\) DESC/, `${name}: ${plan}`)
          }
        }
      })
    }
  },
)
