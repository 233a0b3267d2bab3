/**
 * Reports the state of a data folder's database without opening it for work: whether it exists, whether a process uses it, whether its
 * schema fits this version. Writes nothing and migrates nothing.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { asStoreError, databaseFile, openForReading } from './database.ts'
import { readMigrations } from './migrate.ts'

export type Inspection = {
  /** Another process holds the lock of the folder now. */
  inUse: boolean
  database:
    | { kind: 'absent' }
    | { kind: 'unreadable'; reason: string }
    /** `pending`: the next start migrates it. `newer`: the migration that this version does not know. */
    | { kind: 'readable'; schema: 'fits' | 'pending' | { newer: string } }
}

/** `folder` exists. */
export function inspectFolder(folder: string): Inspection {
  return { inUse: isLocked(folder), database: inspectDatabase(folder) }
}

function inspectDatabase(folder: string): Inspection['database'] {
  if (!existsSync(databaseFile(folder))) return { kind: 'absent' }
  try {
    const db = openForReading(folder)
    try {
      const applied = db.prepare('select name from migrations order by name').all() as { name: string }[]
      const known = readMigrations()
      const newer = applied.find(({ name }, index) => known[index]?.name !== name)
      if (newer) return { kind: 'readable', schema: { newer: newer.name } }
      return { kind: 'readable', schema: applied.length < known.length ? 'pending' : 'fits' }
    } finally {
      db.close()
    }
  } catch (error) {
    return { kind: 'unreadable', reason: asStoreError(error).message }
  }
}

/** Checks the lock through a read-only connection, so it never blocks a starting server for longer than this one statement. */
function isLocked(folder: string): boolean {
  const file = join(folder, 'lock.db')
  if (!existsSync(file)) return false
  const db = new DatabaseSync(file, { readOnly: true, timeout: 0 })
  try {
    db.prepare('select count(*) from sqlite_master').get()
    return false
  } catch (error) {
    if (error instanceof Error && /locked|busy/i.test(error.message)) return true
    throw error
  } finally {
    db.close()
  }
}
