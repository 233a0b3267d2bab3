/**
 * Allows one process per data folder: an exclusive transaction stays open on lock.db. The kernel ends it however the process ends,
 * including kill -9, so holding the lock proves that the process that ran the turns before is dead.
 */
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { asStoreError } from './database.ts'

/** Another process uses this data folder. */
export class FolderInUse extends Error {}

/**
 * Holds the lock until `close()` or the end of the process. Throws FolderInUse immediately, and StoreUnavailable if the file cannot be
 * created, such as on a full disk.
 */
export function lockFolder(folder: string): { close(): void } {
  const db = new DatabaseSync(join(folder, 'lock.db'), { timeout: 0, open: false })
  try {
    db.open()
    db.exec('pragma journal_mode = delete; begin exclusive')
  } catch (error) {
    if (db.isOpen) db.close()
    if (error instanceof Error && /locked|busy/i.test(error.message)) {
      throw new FolderInUse(`the data folder ${folder} is in use by another Turnkeep process`)
    }
    throw asStoreError(error)
  }
  // A store may be closed twice.
  return { close: () => void (db.isOpen && db.close()) }
}
