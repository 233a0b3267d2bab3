/**
 * One read snapshot of the database for work that takes as long as it takes: a check, a backup, the proof of a copy. A connection of its own,
 * beside running servers; what breaks it ends the work, which is never begun anew by itself. Only reads.
 */
import pg from 'pg'
import type { Sql } from '../sql.ts'
import { beginSnapshot, sqlOf } from './queries.ts'
import { clientOptions } from './connections.ts'
import type { Connection } from './connections.ts'
import { asStoreError } from './failure.ts'

// Once, and perhaps to another continent.
const connectMs = 10_000

/** Throws StoreUnavailable, and what `read` throws. */
export async function readPostgresSnapshot<Result>(url: string, read: (sql: Sql) => Promise<Result>): Promise<Result> {
  // By another name than a server's, which a copy looks for.
  const client = new pg.Client({ ...clientOptions(url), connectionTimeoutMillis: connectMs, application_name: 'turnkeep reader' })
  // Told by whatever is asked of it next.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(`${beginSnapshot}; set local idle_in_transaction_session_timeout = 0; set local statement_timeout = 0`)
    return await read(sqlOf(client as unknown as Connection))
  } catch (error) {
    throw asStoreError(error)
  } finally {
    await client.end().catch(() => undefined)
  }
}
