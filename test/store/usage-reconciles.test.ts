/**
 * `billing.reports`: 20,000 turns on both stores, in the deep tier 100,000. Usage by every grouping is compared, line by line, with sums of the ledger's charges that
 * are computed here, from the rows. Amounts are integers of 10^-8 USD, so equal means equal to the last digit.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { createLedgerAdmin } from '../../src/admin/owners/ledger-entries.ts'
import { usageAdmin } from '../../src/admin/owners/usage.ts'
import type { GroupedUsageAsked } from '../../src/admin/owners/usage.ts'
import { databaseFile } from '../../src/store/sqlite/database.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { makeMigratedDatabase, ownPostgres } from '../support/own-postgres.ts'
import { noPostgres } from '../support/postgres-server.ts'
import type { TestStore } from './conformance.ts'
import { fillTurns, filledFrom, filledTo, makeKeys } from './report-fill.ts'

const turns = process.env['TEST_TIER'] === 'deep' ? 100_000 : 20_000
const users = 150
const period = { from: filledFrom, to: filledTo }

type Grouping = GroupedUsageAsked['groupBy'][number]
const groups: Grouping[] = ['owner', 'agent', 'api_key', 'end_user']
const subsets = Array.from({ length: 2 ** groups.length }, (_, bits) => groups.filter((__, index) => (bits >> index) % 2 === 1))
// Every combination of groups; by month and day with some of them, because those are many more statements.
const groupings: Grouping[][] = [
  ...subsets.filter((subset) => subset.length > 0),
  ['month'],
  ['agent', 'month'],
  ['api_key', 'end_user', 'month'],
  ['day', 'owner'],
]

/** A charge with all that it can be grouped by, read from the tables by another statement than those of the reports. */
type Charge = {
  owner: string
  agent: string
  key: string
  user: string | null
  conversation: string
  at: number
  charged: bigint
  writtenOff: bigint
}
const chargeRows = `select l.owner_id as owner, t.agent_id as agent, t.api_key_id as key, c.external_user_id as user_name, c.id as conversation,
    cast(l.created_at as text) as at, cast(-l.amount as text) as charged, cast(l.written_off as text) as written_off
  from ledger l join turns t on t.request_id = l.request_id join conversations c on c.id = t.conversation_id where l.kind = 'charge'`

type Rows = (statement: string) => Promise<Record<string, string | null>[]>

async function readCharges(rows: Rows): Promise<Charge[]> {
  return (await rows(chargeRows)).map((row) => ({
    owner: row['owner']!,
    agent: row['agent']!,
    key: row['key']!,
    user: row['user_name']!,
    conversation: row['conversation']!,
    at: Number(row['at']),
    charged: BigInt(row['charged']!),
    writtenOff: BigInt(row['written_off']!),
  }))
}

/** The sums by group, with the labels that a line of the report has. */
function sumsOf(charges: Charge[], groupBy: Grouping[]): Map<string, string> {
  const by = (...wanted: Grouping[]): boolean => wanted.some((one) => groupBy.includes(one))
  const sums = new Map<string, [number, bigint, bigint]>()
  for (const charge of charges) {
    const date = new Date(charge.at).toISOString()
    const label = [
      by('day', 'month') ? date.slice(0, 7) : '',
      by('day') ? date.slice(0, 10) : '',
      by('owner', 'agent', 'api_key', 'end_user') ? charge.owner : '',
      by('agent', 'api_key', 'end_user') ? charge.agent : '',
      by('api_key') ? charge.key : '',
      by('end_user') ? (charge.user ?? charge.conversation) : '',
    ].join(' | ')
    const [count, charged, writtenOff] = sums.get(label) ?? [0, 0n, 0n]
    sums.set(label, [count + 1, charged + charge.charged, writtenOff + charge.writtenOff])
  }
  return new Map([...sums].map(([label, figures]) => [label, figures.join(' ')]))
}

/** The lines of the report, read as the CSV is. */
async function linesOf(store: TestStore, groupBy: Grouping[]): Promise<Map<string, string>> {
  const lines = new Map<string, string>()
  for await (const part of await usageAdmin.readUsageLines({ store } as never, { ...period, groupBy }))
    for (const line of part) {
      const user = line.externalUserId || line.erasedConversationId
      const label = [line.month ?? '', line.day ?? '', line.ownerId, line.agentId, line.apiKeyId, user].join(' | ')
      assert.ok(!lines.has(label), `two lines of ${label}`)
      assert.equal(line.turns, line.completed + line.failed + line.released + line.cancelled)
      // Turns without a reply have no charge.
      if (line.completed === 0) assert.equal(line.charged, 0n)
      else lines.set(label, [line.completed, line.charged, line.writtenOff].join(' '))
    }
  return lines
}

/** The first difference alone: a list of thousands is not read. */
function assertSame(lines: Map<string, string>, sums: Map<string, string>, what: string): void {
  for (const [label, figures] of sums) assert.equal(lines.get(label), figures, `${what}: ${label}`)
  assert.equal(lines.size, sums.size, what)
}

async function reconcile(t: TestContext, store: TestStore, rows: Rows, compared = groupings): Promise<void> {
  const charges = await readCharges(rows)
  assert.ok(charges.length > turns * 0.94)
  const total = charges.reduce((sum, { charged }) => sum + charged, 0n)
  for (const groupBy of compared) {
    const lines = await linesOf(store, groupBy)
    assertSame(lines, sumsOf(charges, groupBy), groupBy.join(','))
    assert.equal(
      [...lines.values()].reduce((sum, line) => sum + BigInt(line.split(' ')[1]!), 0n),
      total,
      groupBy.join(','),
    )
  }
  t.diagnostic(`${compared.length} groupings of ${charges.length} charges, ${total} units each`)
}

/** The ledger of all owners, as its CSV is read. */
async function reconcileLedger(store: TestStore, rows: Rows): Promise<void> {
  const charges = await readCharges(rows)
  const total = charges.reduce((sum, { charged }) => sum + charged, 0n)
  const ledger = createLedgerAdmin({ newId: () => '' })
  let listed = 0n
  let count = 0
  for (let cursor: string | undefined; ;) {
    const page = await ledger.listLedger({ store } as never, { ...period }, { limit: 1000, cursor })
    for (const entry of page.data) listed -= entry.amount
    count += page.data.length
    if (page.nextCursor === null) break
    cursor = page.nextCursor
  }
  assert.deepEqual([count, listed], [charges.length, total])
}

async function reconcileTwice(t: TestContext, store: TestStore, rows: Rows): Promise<void> {
  await reconcile(t, store, rows)
  await reconcileLedger(store, rows)
  // As an operator erases an end user, and as retention erases old conversations.
  const month = ['agent', 'api_key', 'month'] as Grouping[]
  const before = await linesOf(store, month)
  const conversationIds = Array.from({ length: users }, (_, n) => `conv_${n % 12}_${n}`)
  const outcome = await store.write.eraseConversations({ conversationIds })
  assert.ok(outcome.kind === 'erased' && outcome.conversationIds.length === users)
  assert.deepEqual(await linesOf(store, month), before, 'the invoice of a past month is the same after an erasure')
  await reconcile(t, store, rows, [['owner'], ['end_user'], ['api_key', 'end_user', 'month']])
}

void test('sqlite: billing.reports: usage by every grouping is the sum of the ledger, also after erasures', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-reports-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const first = await openSqliteStore({ folder })
  const keys = await makeKeys(first)
  await first.close()
  const db = new DatabaseSync(databaseFile(folder))
  db.exec('pragma synchronous = off; pragma cache_size = -1000000')
  await fillTurns((statement) => db.exec(statement), keys, { turns, users, noFingerprint: 'zeroblob(32)' })
  const store = await openSqliteStore({ folder })
  t.after(() => store.close())
  await reconcileTwice(t, store, async (statement) => db.prepare(statement).all() as Record<string, string | null>[])
  db.close()
})

void test(
  'postgres: billing.reports: usage by every grouping is the sum of the ledger, also after erasures',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t, await makeMigratedDatabase())
    const store = await database.open()
    const keys = await makeKeys(store)
    const noFingerprint = `decode(repeat('00', 32), 'hex')`
    await fillTurns(async (statement) => void (await database.rows(statement)), keys, { turns, users, noFingerprint })
    await reconcileTwice(t, store, (statement) => database.rows(statement))
  },
)
