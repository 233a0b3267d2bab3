/**
 * An embedded store with history and an empty PostgreSQL for tests that copy one into the other, and the comparison of their content, row
 * by row and without the digests that the copy calculates.
 */
import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { copyToPostgres } from '../../src/store/copy.ts'
import type { CopyProgress, CopyReport } from '../../src/store/copy.ts'
import { fillStore } from './filled-store.ts'
import { makeDatabase, withClient } from './postgres-server.ts'
import { makeFolder } from './test-app.ts'

// More rows than one commit copies, for tests that kill it between two commits; a few for the others.
export const many = 2_400
const few = 60

const filled = new Map<number, Promise<string>>()
process.on('exit', () => filledFolders.forEach((folder) => rmSync(folder, { recursive: true, force: true })))
const filledFolders: string[] = []

/** A folder with this many turns, copied from one that is created once. */
export async function createSqliteSource(t: TestContext, turns = few): Promise<string> {
  const made = filled.get(turns) ?? fillFolder(turns)
  filled.set(turns, made)
  const folder = await makeFolder()
  cpSync(await made, folder, { recursive: true })
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function fillFolder(turns: number): Promise<string> {
  const folder = await makeFolder()
  filledFolders.push(folder)
  await fillStore(folder, { turns, running: 3 })
  return folder
}

export async function createPostgresTarget(t: TestContext): Promise<string> {
  const database = await makeDatabase()
  t.after(() => database.drop())
  return database.url
}

export const tables =
  `owners providers agents agent_versions api_keys api_key_secrets conversations turns messages ledger journal turn_errors documents chunks audit
  knowledge_bases contents content_parts discarded_generations chunk_vectors traces feedback
  end_user_limits indexing_windows spending webhooks events deliveries operators passkeys admin_tokens`
    .split(/\s+/)
    .toSorted()

/** Every row of both stores, value by value. */
export async function assertSame(folder: string, url: string): Promise<void> {
  const db = new DatabaseSync(join(folder, 'turnkeep.db'), { readBigInts: true, readOnly: true })
  try {
    for (const table of tables) {
      const columns = db
        .prepare('select name from pragma_table_info(?)')
        .all(table)
        .map(({ name }) => String(name))
      const here = db
        .prepare(`select ${columns.join(', ')} from ${table}`)
        .all()
        .map(asText)
      const { rows } = await withClient(url, (client) => client.query(`select ${columns.join(', ')} from ${table}`))
      const there = rows.map(asText)
      if (table === 'turns') for (const row of here) if (row['lease_until'] !== null) row['lease_until'] = '0'
      const sorted = (some: object[]): string[] => some.map((row) => JSON.stringify(row)).toSorted()
      assert.deepEqual(sorted(there), sorted(here), table)
      assert.ok(here.length > 0, `there is nothing in ${table} to lose`)
    }
  } finally {
    db.close()
  }
}

function asText(row: Record<string, unknown>): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value === null ? null : value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value),
    ]),
  )
}

export const count = async (url: string, text: string): Promise<number> =>
  Number((await withClient(url, (client) => client.query(`select (${text}) as n`))).rows[0].n)

/** Copies until `stop` returns true for a step of its progress; returns the report if it finished. */
export async function copyUntil(folder: string, url: string, stop: (progress: CopyProgress) => boolean): Promise<CopyReport | undefined> {
  const stopped = new Error('stopped by the test')
  const onProgress = (progress: CopyProgress): void => {
    if (stop(progress)) throw stopped
  }
  return copyToPostgres({ folder, url, onProgress }).catch((error: unknown) => {
    assert.equal(error, stopped)
    return undefined
  })
}
