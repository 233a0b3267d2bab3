/**
 * `billing.reports`: the lines of end users are the same whether they are read from the conversations, page by page, or added up from the turns
 * of each day, on both stores, with and without erased end users.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { LineFigures, LineKey, UsageGroup, UsageLine } from '../../src/store/queries/usage-lines.ts'
import { databaseFile } from '../../src/store/sqlite/database.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { makeMigratedDatabase, ownPostgres } from '../support/own-postgres.ts'
import { noPostgres } from '../support/postgres-server.ts'
import type { TestStore } from './conformance.ts'
import { fillTurns, filledFrom, filledTo, makeKeys } from './report-fill.ts'
import type { Key } from './report-fill.ts'

const dayMs = 24 * 60 * 60 * 1000
const turns = 3000
const users = 40
const erase = `update conversations set external_user_id = null where external_user_id in ('user 3', 'user 30')`

const keyOf = ({ ownerId, agentId, apiKeyId, externalUserId, erasedConversationId }: LineKey): string =>
  JSON.stringify([ownerId, agentId, apiKeyId, externalUserId, erasedConversationId])

const figuresOf = (line: UsageLine): LineFigures => {
  const { turns: count, completed, failed, released, cancelled, promptTokens, completionTokens, charged, writtenOff, unpaid } = line
  return { turns: count, completed, failed, released, cancelled, promptTokens, completionTokens, charged, writtenOff, unpaid }
}

type Filter = { ownerId?: string; agentId?: string; apiKeyId?: string }
type Asked = { groupBy: UsageGroup[]; filter: Filter }

/** The pages of the whole period: it has enough turns that each page is read from the conversations. */
async function pagesOf(store: TestStore, { groupBy, filter }: Asked, limit: number): Promise<UsageLine[]> {
  const all: UsageLine[] = []
  for (;;) {
    const page = await store.read.listUsageLines({ ...filter, from: filledFrom, to: filledTo, groupBy, limit, after: all.at(-1) })
    all.push(...page)
    if (page.length < limit) return all
  }
}

/** The sums of all days. A day has so few turns that they are added up. */
async function sumOfDays(store: TestStore, { groupBy, filter }: Asked): Promise<Map<string, LineFigures>> {
  const sums = new Map<string, LineFigures>()
  for (let from = filledFrom; from < filledTo; from += dayMs) {
    const period = { from, to: Math.min(from + dayMs, filledTo) }
    for (const line of await store.read.listUsageLines({ ...filter, ...period, groupBy, limit: 10_000 })) {
      const [before, figures] = [sums.get(keyOf(line)), figuresOf(line)]
      sums.set(keyOf(line), before ? add(before, figures) : figures)
    }
  }
  return sums
}

const add = (one: LineFigures, other: LineFigures): LineFigures => ({
  turns: one.turns + other.turns,
  completed: one.completed + other.completed,
  failed: one.failed + other.failed,
  released: one.released + other.released,
  cancelled: one.cancelled + other.cancelled,
  promptTokens: one.promptTokens + other.promptTokens,
  completionTokens: one.completionTokens + other.completionTokens,
  charged: one.charged + other.charged,
  writtenOff: one.writtenOff + other.writtenOff,
  unpaid: one.unpaid + other.unpaid,
})

async function compare(store: TestStore, [{ ownerId, agentId, apiKeyId }]: [Key, ...Key[]]): Promise<void> {
  for (const filter of [{}, { ownerId }, { agentId }, { apiKeyId }, { agentId, apiKeyId }])
    for (const groupBy of [['end_user'], ['api_key', 'end_user']] satisfies UsageGroup[][]) {
      const asked = { groupBy, filter }
      const expected = await sumOfDays(store, asked)
      assert.ok(expected.size >= users, `${expected.size} lines`)
      for (const limit of [7, 100]) {
        const lines = await pagesOf(store, asked, limit)
        assert.deepEqual(
          lines.map(keyOf),
          [...expected.keys()]
            .map((key) => JSON.parse(key) as string[])
            .toSorted(inOrder)
            .map((key) => JSON.stringify(key)),
        )
        for (const line of lines) assert.deepEqual(figuresOf(line), expected.get(keyOf(line)), keyOf(line))
      }
    }
}

/** By their bytes, as the stores do; the names are ASCII. */
function inOrder(one: string[], other: string[]): number {
  const at = one.findIndex((part, index) => part !== other[index])
  return at < 0 ? 0 : one[at]! < other[at]! ? -1 : 1
}

const sentence = 'billing.reports: lines of end users are the same from their conversations and from the turns of each day'

void test(`sqlite: ${sentence}`, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-lines-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const first = await openSqliteStore({ folder })
  const keys = await makeKeys(first)
  await first.close()
  const db = new DatabaseSync(databaseFile(folder))
  db.exec('pragma synchronous = off')
  await fillTurns((statement) => db.exec(statement), keys, { turns, users, noFingerprint: 'zeroblob(32)' })
  db.exec(erase)
  db.close()
  const store = await openSqliteStore({ folder })
  t.after(() => store.close())
  await compare(store, keys as [Key])
})

void test(`postgres: ${sentence}`, { skip: noPostgres() }, async (t) => {
  const database = await ownPostgres(t, await makeMigratedDatabase())
  const store = await database.open()
  const keys = await makeKeys(store)
  const noFingerprint = `decode(repeat('00', 32), 'hex')`
  await fillTurns(async (statement) => void (await database.rows(statement)), keys, { turns, users, noFingerprint })
  await database.rows(erase)
  await compare(store, keys as [Key])
})
