/**
 * Opens connections to the database file of a data folder, and distinguishes failures of the machine from internal errors. Does not migrate
 * and does not decide anything about turns.
 */
import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'
import { join } from 'node:path'
import { StoreUnavailable } from '../store.ts'
import type { Row, Sql, SqlValue } from '../sql.ts'

export const databaseFile = (folder: string): string => join(folder, 'turnkeep.db')

/** The writer's connection: a commit is on the disk before it is acknowledged (`synchronous=full`). */
export function openForWriting(folder: string): DatabaseSync {
  const db = new DatabaseSync(databaseFile(folder), { readBigInts: true })
  // `erase`: deleted bytes are overwritten with zeros, and the log of a killed process is checkpointed now. The cache has 16 MiB: the
  // system caches the file as well, and a commit after a page split scans all cached pages, which with 64 MiB costs a turn more than the
  // cache saves. The log is checkpointed every 4,000 pages (16 MiB) so that commits stay short.
  db.exec(`pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; pragma busy_timeout = 5000;
    pragma cache_size = -16384; pragma wal_autocheckpoint = 4000; pragma temp_store = memory; pragma trusted_schema = off;
    pragma secure_delete = on; pragma wal_checkpoint(truncate)`)
  return db
}

/** A connection that cannot write. Works while a server runs. Throws StoreUnavailable if there is no database. */
export function openForReading(folder: string): DatabaseSync {
  try {
    const db = new DatabaseSync(databaseFile(folder), { readBigInts: true, readOnly: true })
    db.exec('pragma busy_timeout = 5000; pragma cache_size = -16384; pragma query_only = on; pragma trusted_schema = off')
    return db
  } catch (error) {
    throw asStoreError(error)
  }
}

// SQLite's primary result codes that concern the machine and not the statement: busy, locked, out of memory, read-only, I/O error, corrupt,
// full, cannot open, locking protocol, large file, not a database. https://www.sqlite.org/rescode.html
const machineCodes = new Set([5, 6, 7, 8, 10, 11, 13, 14, 15, 22, 26])

/** Returns a StoreUnavailable for a failure of the machine (disk full, I/O error), and any other error unchanged. */
export function asStoreError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  const code = 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : undefined
  return code !== undefined && machineCodes.has(code) ? new StoreUnavailable(error.message, { cause: error }) : error
}

/** The `Sql` of one connection. Each statement is prepared once. */
export function sqlOf(db: DatabaseSync, now: () => number): Sql {
  const prepared = new Map<string, StatementSync>()
  const prepare = (text: string): StatementSync => {
    const known = prepared.get(text)
    if (known) return known
    const statement = db.prepare(text)
    prepared.set(text, statement)
    return statement
  }
  const bind = (values: SqlValue[]): Record<string, SqlValue> => Object.fromEntries(values.map((value, index) => [`${index + 1}`, value]))
  return {
    engine: 'sqlite',
    now: async () => now(),
    all: async (text, ...values) => prepare(text).all(bind(values)) as Row[],
    run: async (text, ...values) => Number(prepare(text).run(bind(values)).changes),
  }
}
