/**
 * Takes what was erased out of the database's own files, between transactions of the writer. Deleted bytes are zeros already
 * (`secure_delete`); what remains are old pages in the log, and now and then a copy in the unused part of a page, which SQLite leaves behind
 * when it moves rows between pages: only writing the file anew takes those. Ruling `erase`.
 */
import type { DatabaseSync } from 'node:sqlite'

// Some 2 s of standstill on an ordinary disk. Larger files are the operator's to rebuild, at an hour of the operator's choice.
const maxRebuiltBytes = 256 * 1024 * 1024

/** See store.ts. `file` does nothing where nothing was erased since the last time. */
export function forget(
  db: Pick<DatabaseSync, 'exec' | 'prepare' | 'isTransaction'>,
  depth: 'log' | 'file',
): 'forgotten' | 'busy' | 'too_large' {
  if (depth === 'log') return foldLog(db)
  const erased = db
    .prepare('select 1 from turns where erased_at is not null and erased_at >= (select coalesce(max(rebuilt_at), 0) from rebuilds) limit 1')
    .get()
  if (!erased) return foldLog(db)
  const bytes = db.prepare('select page_count * page_size as bytes from pragma_page_count, pragma_page_size').get()?.['bytes']
  if (typeof bytes !== 'bigint' || bytes > maxRebuiltBytes) return 'too_large'
  const rebuiltAt = db.prepare('select max(erased_at) + 1 as at from turns where erased_at is not null').get()!['at']!
  db.exec('vacuum')
  db.exec('begin immediate')
  try {
    db.exec('delete from rebuilds')
    db.prepare('insert into rebuilds values (?)').run(rebuiltAt)
    db.exec('commit')
  } finally {
    if (db.isTransaction) db.exec('rollback')
  }
  return foldLog(db)
}

/** Never waits for a reader: commits wait behind it. */
function foldLog(db: Pick<DatabaseSync, 'exec' | 'prepare'>): 'forgotten' | 'busy' {
  db.exec('pragma busy_timeout = 0')
  try {
    return db.prepare('pragma wal_checkpoint(truncate)').get()?.['busy'] === 0n ? 'forgotten' : 'busy'
  } finally {
    db.exec('pragma busy_timeout = 5000')
  }
}
