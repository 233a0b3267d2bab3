/**
 * The one in-memory database of all schedules, with its statements prepared once: the schema from the real migrations, one owner, one agent
 * with two tools, two API keys, and the real writer. A schedule writes inside a savepoint that is rolled back at its end, so a transaction
 * of the writer is a savepoint too. Cloning the database and preparing the statements again took longer than most schedules.
 */
import { DatabaseSync } from 'node:sqlite'
import type { SQLInputValue, StatementSync } from 'node:sqlite'
import { apiKeyFields } from '../../src/resources/api-key.ts'
import { initialOf } from '../../src/resources/field.ts'
import { formatStoredConfig } from '../../src/agent/agent-config.ts'
import type { AgentContent } from '../../src/store/queries/agent-versions.ts'
import { createAgent } from '../../src/store/queries/agents.ts'
import { createApiKey } from '../../src/store/queries/api-key-records.ts'
import { createOwner } from '../../src/store/queries/owners.ts'
import { sqlOf } from '../../src/store/sqlite/database.ts'
import { Writer } from '../../src/store/sqlite/group-commit.ts'
import type { Writable } from '../../src/store/sqlite/group-commit.ts'
import { createTurnPath } from '../../src/store/sqlite/turn-path.ts'
import { migrate, readMigrations } from '../../src/store/sqlite/migrate.ts'
import { noFailpoints } from '../../src/failpoints.ts'
import type { Row } from '../../src/store/sql.ts'
import type { Moment } from './store-model.ts'
import { pricesOf } from './store-charge.ts'

export const ownerId = 'own_one'
export const agentId = 'agt_one'
export const apiKeyIds = ['key_one', 'key_two']

/** The wall clock at the start of every schedule. The date is arbitrary. */
export const beginsAt = Date.UTC(2026, 0, 1)

export type SimulatedDatabase = Awaited<ReturnType<typeof createSimulatedDatabase>>

/** 10⁻⁸ USD. A turn of one step holds about 45,000 of it, so a few concurrent turns use it up. */
const firstBalance = 400_000n

/** `price` in USD for a million prompt tokens and for a million completion tokens. */
export function contentOf(price: bigint): AgentContent {
  const config = {
    systemPrompt: 'Be brief.',
    model: 'demo/scripted',
    temperature: null,
    maxSteps: 5,
    maxToolCalls: 8,
    maxOutputTokens: 100,
    history: { maxTokens: 4000 },
    knowledge: { maxTokens: 0, topK: 1, embeddingModel: null, language: null },
    tools: [],
    maxMessageLength: 1000,
    priceSource: null,
  }
  const perMillion = price * 100_000_000n
  return {
    ...config,
    name: 'scripted',
    config: formatStoredConfig(config),
    fixedTokens: 50,
    historyMaxTokens: 4000,
    knowledgeMaxTokens: 0,
    price: pricesOf(perMillion),
  }
}

/**
 * Creates the database with the rows that every schedule starts with. A schedule runs between `begin` and `end`, which removes everything
 * it wrote.
 */
export async function createSimulatedDatabase() {
  const db = new DatabaseSync(':memory:', { readBigInts: true })
  migrate(db, readMigrations(), undefined)
  let moment = (): Moment => ({ now: beginsAt, leaseNow: beginsAt })
  const sql = sqlOf(db, () => moment().now)
  await createOwner(sql, { id: ownerId, name: 'one', credit: { ledgerEntryId: 'led_first', amount: firstBalance } })
  await createAgent(sql, { id: agentId, ownerId, provider: null, content: contentOf(2n) })
  for (const [index, id] of apiKeyIds.entries()) {
    const key = { ...initialOf(apiKeyFields), id, keyId: `${id}_public`, agentId, permission: 'full' as const }
    await createApiKey(sql, { ...key, digest: new Uint8Array(32).fill(index) })
  }
  const hot = createTurnPath(db, { now: () => moment().now, leaseNow: () => moment().leaseNow })
  let failingCommits = 0
  let inTransaction = false
  const transactions: Record<string, () => void> = {
    'begin immediate'() {
      db.exec('savepoint writer')
      inTransaction = true
    },
    commit() {
      // SQLITE_FULL
      if (failingCommits-- > 0) throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
      db.exec('release writer')
      inTransaction = false
    },
    rollback() {
      db.exec('rollback to writer; release writer')
      inTransaction = false
    },
  }
  const writing: Writable = {
    exec: (text) => (transactions[text] ?? (() => db.exec(text)))(),
    prepare: (text) => db.prepare(text),
    get isTransaction() {
      return inTransaction
    },
  }
  const prepared = new Map<string, StatementSync>()

  return {
    hot,
    sql,
    writer: new Writer(writing, hot, sql, noFailpoints),
    /** `clockOfWorld` is the store's clock. */
    begin(clockOfWorld: () => Moment): void {
      moment = clockOfWorld
      failingCommits = 0
      inTransaction = false
      db.exec('savepoint schedule')
    },
    end: (): void => db.exec('rollback to schedule; release schedule'),
    /** Runs `act`, whose commits succeed, and then removes everything it wrote: statements that succeed and are not durable. */
    async rehearse<Result>(act: () => Promise<Result>): Promise<Result> {
      const failing = failingCommits
      failingCommits = 0
      db.exec('savepoint rehearsal')
      try {
        return await act()
      } finally {
        db.exec('rollback to rehearsal; release rehearsal')
        failingCommits = failing
      }
    },
    /** Makes the next `times` commits fail with a full disk. */
    failCommits: (times: number): void => void (failingCommits = times),
    query(text: string, ...values: SQLInputValue[]): Row[] {
      const statement = prepared.get(text) ?? db.prepare(text)
      prepared.set(text, statement)
      return statement.all(...values) as Row[]
    },
  }
}
