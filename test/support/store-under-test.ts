/**
 * The store of a test app, selected by `TEST_STORE`: SQLite in its folder, or a new database in PostgreSQL and one in Redis. For both it
 * can move the clock, read rows and find a text, so that a test of the rules need not know which store it uses.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { types } from 'pg'
import { databaseFile, openForReading } from '../../src/store/sqlite/database.ts'
import type { SqliteStore } from '../../src/store/sqlite/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { clockOf, makeMigratedDatabase } from './own-postgres.ts'
import { withClient } from './postgres-server.ts'
import { makeRedis } from './redis-server.ts'

export type Rows = Record<string, string | number | null | Uint8Array>[]

export type StoreUnderTest = {
  /** Settings with which an app uses it. */
  env: Record<string, string>
  /** Moves the store's clock forward: expiry and leases follow immediately. */
  moveClock(store: Store, milliseconds: number): Promise<void>
  /** Rows as they are stored; integers are numbers. */
  query(text: string): Promise<Rows>
  /** How often the text occurs in the bytes of SQLite's files, or in all rows of PostgreSQL. */
  occurrences(text: string): Promise<number>
  /** The content of every file to which its rows were written: the data folder, or the files of the database and the write-ahead log. */
  files(): AsyncIterable<{ name: string; content: Buffer }>
  /** Forgets what the rate limiter counted. */
  emptyRedis(): Promise<void>
  drop(): Promise<void>
}

export type StoreKind = 'sqlite' | 'postgres'

/** For tests that apply to one store only. */
export const storeKind: StoreKind = process.env['TEST_STORE'] === 'postgres' ? 'postgres' : 'sqlite'

export function makeStoreUnderTest(folder: string, kind = storeKind): Promise<StoreUnderTest> {
  return kind === 'postgres' ? onPostgres() : Promise.resolve(onSqlite(folder))
}

/** The caller deletes the folder. */
function onSqlite(folder: string): StoreUnderTest {
  return {
    env: {},
    moveClock: async (store, milliseconds) => (store as SqliteStore).moveClock(milliseconds),
    async query(text) {
      const db = openForReading(folder)
      try {
        return db.prepare(text).all().map(withNumbers)
      } finally {
        db.close()
      }
    },
    async occurrences(text) {
      return databaseFiles(folder)
        .map((file) => readFileSync(file, 'latin1').split(text).length - 1)
        .reduce((sum, count) => sum + count, 0)
    },
    files: () => readFiles(readdirSync(folder).map((name) => join(folder, name))),
    emptyRedis: async () => undefined,
    drop: async () => undefined,
  }
}

function databaseFiles(folder: string): string[] {
  return ['', '-wal', '-shm'].map((suffix) => databaseFile(folder) + suffix).filter((file) => existsSync(file))
}

async function onPostgres(): Promise<StoreUnderTest> {
  const [database, redis] = await Promise.all([makeMigratedDatabase(), makeRedis()])
  const moveClock = clockOf(database.url)
  const query = (text: string, values: unknown[] = []): Promise<Rows> =>
    withClient(database.url, async (client) => (await client.query({ text, values, types: { getTypeParser } })).rows as Rows)
  return {
    env: { DATABASE_URL: database.url, REDIS_URL: redis.url },
    moveClock: (_store, milliseconds) => moveClock(milliseconds),
    query: (text) => query(text),
    async occurrences(text) {
      const tables = await query(`select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'`)
      const counts = tables.map(({ name }) => `select sum(length(row::text) - length(replace(row::text, $1, ''))) as n from ${name} as row`)
      const [found] = await query(`select coalesce(sum(n), 0) / length($1) as n from (${counts.join(' union all ')}) as counts`, [text])
      return Number(found!['n'])
    },
    async *files() {
      await query('checkpoint')
      const [at] = await query(
        `select current_setting('data_directory') as folder, oid from pg_database where datname = current_database()`,
      )
      const folders = [`${at!['folder']}/base/${at!['oid']}`, `${at!['folder']}/pg_wal`]
      yield* readFiles(
        folders.flatMap((folder) =>
          readdirSync(folder, { withFileTypes: true })
            .filter((entry) => entry.isFile())
            .map(({ name }) => join(folder, name)),
        ),
      )
    },
    emptyRedis: redis.drop,
    async drop() {
      await Promise.all([database.drop(), redis.drop()])
    },
  }
}

/** Skips files that the database removes meanwhile, such as logs that it no longer needs. */
async function* readFiles(names: string[]): AsyncGenerator<{ name: string; content: Buffer }> {
  for (const name of names) {
    try {
      yield { name, content: await readFile(name) }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}

function withNumbers(row: Record<string, unknown>): Rows[number] {
  const read = (value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value)
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, read(value)])) as Rows[number]
}

/** 64-bit integers and their sums are otherwise returned as text. */
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  const { INT8, NUMERIC } = types.builtins
  return oid === INT8 || oid === NUMERIC ? Number : (types.getTypeParser(oid, format as 'text') as (value: string) => unknown)
}
