/**
 * Opens a connection to the one database file of a data folder, and tells failures of the machine from faults of ours.
 * Never migrates and never decides anything about turns.
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
  // `erase`: what is deleted is overwritten with zeros, and what a killed process left in its log is folded back now.
  // 16 MiB of cache: the system caches the file too, and a commit after a page was split looks through all pages that are cached, which with
  // 64 MiB cost a turn more than what it spared. The log is folded back every 4,000 pages (16 MiB) so that commits stay short.
  db.exec(`pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; pragma busy_timeout = 5000;
    pragma cache_size = -16384; pragma wal_autocheckpoint = 4000; pragma temp_store = memory; pragma trusted_schema = off;
    pragma secure_delete = on; pragma wal_checkpoint(truncate)`)
  return db
}

/** A connection that cannot write; works beside a running server. Throws StoreUnavailable where there is no database. */
export function openForReading(folder: string): DatabaseSync {
  try {
    const db = new DatabaseSync(databaseFile(folder), { readBigInts: true, readOnly: true })
    db.exec('pragma busy_timeout = 5000; pragma cache_size = -16384; pragma query_only = on; pragma trusted_schema = off')
    return db
  } catch (error) {
    throw asStoreError(error)
  }
}

// Primary result codes of SQLite that say something about the machine, not about our statement: busy, locked, out of memory, read-only,
// I/O error, corrupt, full, cannot open, locking protocol, large file, not a database. https://www.sqlite.org/rescode.html
const machineCodes = new Set([5, 6, 7, 8, 10, 11, 13, 14, 15, 22, 26])

/** StoreUnavailable for a failure of the machine (a full disk, an I/O error); any other error as it is. */
export function asStoreError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  const code = 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : undefined
  return code !== undefined && machineCodes.has(code) ? new StoreUnavailable(error.message, { cause: error }) : error
}

/** The `Sql` of one connection; statements are prepared once. */
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
