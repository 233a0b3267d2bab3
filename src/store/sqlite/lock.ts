/**
 * One process a data folder: an exclusive transaction held open on lock.db. The kernel frees it however the process ends, kill -9 included,
 * so holding it proves that whoever ran the turns before is dead.
 */
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { asStoreError } from './database.ts'

/** Another process serves this data folder. */
export class FolderInUse extends Error {}

/** Holds until `close()` or the end of the process. Throws FolderInUse at once, and StoreUnavailable where the file cannot be made, as on a full disk. */
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
