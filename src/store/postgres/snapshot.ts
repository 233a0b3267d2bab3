/**
 * One read snapshot of the database for long work: a check, a backup, the proof of a copy. It has its own connection next to running
 * servers. A failure ends the work, which is not repeated automatically. Read-only.
 */
import pg from 'pg'
import type { Sql } from '../sql.ts'
import { beginSnapshot, sqlOf } from './queries.ts'
import { clientOptions } from './connections.ts'
import type { Connection } from './connections.ts'
import { asStoreError } from './failure.ts'

// Needed once, and the server may be on another continent.
const connectMs = 10_000

/** Throws StoreUnavailable, and whatever `read` throws. */
export async function readPostgresSnapshot<Result>(url: string, read: (sql: Sql) => Promise<Result>): Promise<Result> {
  // With another name than a server, because a copy looks for servers.
  const client = new pg.Client({ ...clientOptions(url), connectionTimeoutMillis: connectMs, application_name: 'turnkeep reader' })
  // The next query reports it.
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
