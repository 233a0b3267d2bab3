/**
 * Removes what was erased from the database's own files, between transactions of the writer (`erase`). Deleted bytes are already zeros
 * (`secure_delete`). What remains are old pages in the log, and occasionally a copy in the unused part of a page, which SQLite leaves when
 * it moves rows between pages; only rewriting the file removes those.
 */
import type { DatabaseSync } from 'node:sqlite'

// Rewriting takes about 2 s on an ordinary disk. Larger files are for the operator to rewrite, at a suitable time.
const maxRebuiltBytes = 256 * 1024 * 1024

/** See `Store.forget` in store.ts. If nothing was erased since the last rewrite, `vacuum` only checkpoints the log, as `wal` does. */
export function forget(
  db: Pick<DatabaseSync, 'exec' | 'prepare' | 'isTransaction'>,
  depth: 'wal' | 'vacuum',
): 'forgotten' | 'busy' | 'too_large' {
  if (depth === 'wal') return checkpointWal(db)
  const erased = db
    .prepare('select 1 from turns where erased_at is not null and erased_at >= (select coalesce(max(rebuilt_at), 0) from rebuilds) limit 1')
    .get()
  if (!erased) return checkpointWal(db)
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
  return checkpointWal(db)
}

/** Never waits for a reader, because commits would wait behind it. */
function checkpointWal(db: Pick<DatabaseSync, 'exec' | 'prepare'>): 'forgotten' | 'busy' {
  db.exec('pragma busy_timeout = 0')
  try {
    return db.prepare('pragma wal_checkpoint(truncate)').get()?.['busy'] === 0n ? 'forgotten' : 'busy'
  } finally {
    db.exec('pragma busy_timeout = 5000')
  }
}
