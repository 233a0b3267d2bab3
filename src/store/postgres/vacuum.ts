/**
 * Frees what was erased, at most once an hour (`erase`), because the database's own vacuum would wait long for a few rows. No reader can
 * access those bytes again. They remain in free space, in the database's log, on standbys and in backups until they are overwritten or
 * expire (docs/operate/retention.md).
 */
import type { Connections } from './connections.ts'

// A stopping process waits for it. A longer vacuum continues in the database, and is requested again an hour later.
const maxMs = 60 * 1000

/** Does nothing if nothing was erased after `since`. Returns the time of the newest erasure that is finished. */
export function vacuumErased(connections: Connections, since: number): Promise<number> {
  return connections.ask('vacuum', maxMs, async (connection) => {
    const { rows } = await connection.query('select max(erased_at) as newest from turns where erased_at is not null')
    const newest = rows[0].newest === null ? 0 : Number(rows[0].newest)
    if (newest <= since) return since
    // One by one: a vacuum cannot run within a transaction, and two processes do not wait for each other.
    for (const table of ['messages', 'turns', 'journal', 'traces', 'feedback', 'conversations'])
      await connection.query(`vacuum (skip_locked) ${table}`)
    return newest
  })
}
