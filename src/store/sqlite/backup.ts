/**
 * Copies the database to one file from one read snapshot, with or without a running server and its writes. The source is only read. The
 * secrets that must be kept with the copy are not part of the store.
 */
import { DatabaseSync, backup } from 'node:sqlite'
import type { Sql } from '../sql.ts'
import { makeWhole } from '../whole-file.ts'
import { asStoreError, openForReading, sqlOf } from './database.ts'

export type BackupOptions = {
  /** The data folder. */
  folder: string
  /** Must not exist. Created with mode 0600, completely or not at all. */
  file: string
  onProgress: (copied: { pages: number; of: number }) => void
}

// 4 MiB at a time: a hundred progress reports for a large file, and no noticeable wait for a small one.
const pagesEach = 1_000

/**
 * Copies, then returns what `check` returns for the copy. The file gets its name only if `check` did not throw. Throws StoreUnavailable if
 * there is no database or no space, and the file system's error (EEXIST) if `file` exists.
 */
export async function backUp<Result>({ folder, file, onProgress }: BackupOptions, check: (sql: Sql) => Promise<Result>): Promise<Result> {
  const source = openForReading(folder)
  try {
    return await makeWhole(file, async (partial) => {
      // One snapshot from the first page to the last. Otherwise every commit of the server would restart the copy.
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

/** Turns the copy into one file without a separate log. The next process that opens it enables the log again. */
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
