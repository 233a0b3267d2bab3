/**
 * Frees what was erased, once an hour where something was, since a few rows would wait long for the database's own vacuum. No reader gets to
 * those bytes again; in free space, in the database's log, on standbys and in backups they last until they are overwritten or age out
 * (docs/operate/retention.md). Ruling `erase`.
 */
import type { Connections } from './connections.ts'

// A process that ends waits for it; what takes longer goes on in the database, and is asked for again an hour later.
const maxMs = 60 * 1000

/** Does nothing where nothing was erased after `since`; answers the time of the newest erasure that is now done with. */
export function vacuumErased(connections: Connections, since: number): Promise<number> {
  return connections.ask('vacuum', maxMs, async (connection) => {
    const { rows } = await connection.query('select max(erased_at) as newest from turns where erased_at is not null')
    const newest = rows[0].newest === null ? 0 : Number(rows[0].newest)
    if (newest <= since) return since
    // One each: it cannot run within a transaction, and two processes that come at once do not wait for each other.
    for (const table of ['messages', 'turns', 'journal', 'conversations']) await connection.query(`vacuum (skip_locked) ${table}`)
    return newest
  })
}
