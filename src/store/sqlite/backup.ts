/**
 * A copy of the database in one file, as one read snapshot sees it: beside a running server, however much it writes, or without one.
 * Only reads the source. What must be kept beside it (secrets) is not the store's affair.
 */
import { DatabaseSync, backup } from 'node:sqlite'
import type { Sql } from '../sql.ts'
import { makeWhole } from '../whole-file.ts'
import { asStoreError, openForReading, sqlOf } from './database.ts'

export type BackupOptions = {
  /** The data folder. */
  folder: string
  /** Must not exist; made with mode 0600, whole or not at all. */
  file: string
  onProgress: (copied: { pages: number; of: number }) => void
}

// 4 MiB at a time: a hundred reports of progress for a large file, and no visible wait for a small one.
const pagesEach = 1_000

/**
 * Copies, then answers what `check` says of the copy; the file is there under its name only where `check` did not throw. Throws
 * StoreUnavailable where there is no database or no room, and the file system's own error (EEXIST) where `file` is there already.
 */
export async function backUp<Result>({ folder, file, onProgress }: BackupOptions, check: (sql: Sql) => Promise<Result>): Promise<Result> {
  const source = openForReading(folder)
  try {
    return await makeWhole(file, async (partial) => {
      // One snapshot from the first page to the last: without it every commit of the server would start the copy again.
      source.exec('begin')
      source.prepare('select count(*) from sqlite_master').get()
      await backup(source, partial, {
        rate: pagesEach,
        progress: ({ totalPages, remainingPages }) => onProgress({ pages: totalPages - remainingPages, of: totalPages }),
      })
      return checkCopy(partial, check)
    })
  } catch (error) {
    throw asStoreError(error)
  } finally {
    source.close()
  }
}

/** As one file without a log beside it: whoever opens it next turns the log on again. */
async function checkCopy<Result>(file: string, check: (sql: Sql) => Promise<Result>): Promise<Result> {
  const db = new DatabaseSync(file, { readBigInts: true })
  try {
    db.exec('pragma journal_mode = delete; pragma query_only = on; begin')
    const [integrity] = db.prepare('pragma quick_check(1)').all()
    if (integrity?.['quick_check'] !== 'ok') throw new Error(`the copy is damaged: ${String(integrity?.['quick_check'])}`)
    return await check(sqlOf(db, Date.now))
  } finally {
    db.close()
  }
}
