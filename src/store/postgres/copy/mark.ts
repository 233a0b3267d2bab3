/** The mark that a copy leaves in the database: whether a copy was started and is not finished. Read-only. */
import { SchemaRefused } from '../../schema-refused.ts'
import type { Sql } from '../../sql.ts'

/** Throws SchemaRefused for an unfinished copy: a server on it would generate replies again that the source has already stored. */
export async function refuseHalfCopied(sql: Sql): Promise<void> {
  if (await isHalfCopied(sql))
    throw new SchemaRefused('a copy into this database is not finished: run `turnkeep copy` again to its end, or use another database')
}

export async function isHalfCopied(sql: Sql): Promise<boolean> {
  const there = await sql.all(`select 1 where to_regclass('copy_progress') is not null`)
  return there.length > 0 && (await sql.all('select 1 from copy_progress where finished_at is null limit 1')).length > 0
}
