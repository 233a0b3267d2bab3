/**
 * One process a data folder: an exclusive transaction held open on lock.db. The kernel frees it however the process ends, kill -9 included,
 * so holding it proves that whoever ran the turns before is dead.
 */
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'

/** Another process serves this data folder. */
export class FolderInUse extends Error {}

/** Holds until `close()` or the end of the process. Throws FolderInUse at once. */
export function lockFolder(folder: string): { close(): void } {
  const db = new DatabaseSync(join(folder, 'lock.db'), { timeout: 0 })
  try {
    db.exec('pragma journal_mode = delete; begin exclusive')
  } catch (error) {
    db.close()
    if (error instanceof Error && /locked|busy/i.test(error.message)) {
      throw new FolderInUse(`the data folder ${folder} is in use by another Turnkeep process`)
    }
    throw error
  }
  // A store may be closed twice.
  return { close: () => void (db.isOpen && db.close()) }
}
