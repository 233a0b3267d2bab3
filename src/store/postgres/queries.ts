/**
 * Reads and writes outside the turn path on PostgreSQL: a read in one read-only snapshot, a write in one transaction. As on the embedded
 * store, writes of all processes run one after the other, so what a write has read is still valid when it writes. Turns never wait for that
 * lock.
 */
import { reads } from '../queries/reads.ts'
import type { Reads } from '../queries/reads.ts'
import { performWrite } from '../queries/perform-write.ts'
import type { WriteCall } from '../queries/perform-write.ts'
import { writes } from '../queries/writes.ts'
import type { Failpoints } from '../../failpoints.ts'
import { StoreUnavailable } from '../store.ts'
import type { Row, Sql, SqlValue } from '../sql.ts'
import { commitBetween } from './commit-points.ts'
import type { Connection, Connections } from './connections.ts'
import { isConnectionLost } from './failure.ts'
import { changed } from './listen.ts'
import type { Deadlines } from './turn-path.ts'

/** The `Sql` of one connection. Statements are unnamed and planned each time, so a plan never belongs to an outdated table. */
export function sqlOf(connection: Connection): Sql {
  const query = (text: string, values: SqlValue[]) => connection.query(text, values)
  return {
    engine: 'postgres',
    all: async (text, ...values) => (await query(text, values)).rows as Row[],
    run: async (text, ...values) => (await query(text, values)).rowCount ?? 0,
    now: async () => Number((await query('select now_ms() as now', [])).rows[0].now),
  }
}

// A report may read millions of rows.
const reportMs = 120_000
// A process that freezes or disappears between two statements would hold its locks until the server notices the dead connection, which may
// take hours.
const leaving = `set local idle_in_transaction_session_timeout = ${15_000}`
// One lock for these writes of all processes in this database. The number has no meaning.
const adminWriteLockId = 7_264_011

export const beginSnapshot = 'begin isolation level repeatable read, read only'

export type AdminQueries = {
  read(name: keyof Reads, args: unknown[]): Promise<unknown>
  write(call: WriteCall): Promise<unknown>
}

export function createQueries(
  connections: Connections,
  failpoints: Failpoints,
  { lookUpMs, searchMs, writeMs }: Pick<Deadlines, 'lookUpMs' | 'searchMs' | 'writeMs'>,
): AdminQueries {
  const limitsMs = { key: lookUpMs, 'look-up': lookUpMs, search: searchMs, report: reportMs }
  return {
    read(name, args) {
      const purpose = reads[name].queue
      const limitMs = limitsMs[purpose]
      return connections.ask(purpose, limitMs, async (connection) => {
        // The database aborts as well, because an abandoned report would otherwise continue. The planner underestimates reading all chunks
        // of all agents, because it does not know that their words are stored outside the table.
        const byIndex = purpose === 'search' ? '; set local enable_seqscan = off; set local jit = off' : ''
        await connection.query(`${beginSnapshot}; set local statement_timeout = ${limitMs}; ${leaving}${byIndex}`)
        const value = await (reads[name].run as (sql: Sql, ...rest: unknown[]) => Promise<unknown>)(sqlOf(connection), ...args)
        await connection.query('commit')
        return value
      })
    },
    write: ({ name, args, author }) =>
      connections.askDurably('write', writeMs, async (connection) => {
        await connection.query(
          `begin; set local lock_timeout = ${writeMs / 2}; ${leaving}; select pg_advisory_xact_lock(${adminWriteLockId})`,
        )
        const value = await performWrite(sqlOf(connection), { name, args, author })
        const statement = writes[name].changesCaches ? `select pg_notify('${changed}', ''); commit` : 'commit'
        const committed =
          failpoints.spec === ''
            ? connection.query(statement)
            : commitBetween(writes[name].failpoints, { connection, failpoints, key: name, statement })
        await committed.catch((error: unknown) => {
          if (!isConnectionLost(error)) throw error
          // A repeated write would find its own change and report it as another's. Up to here it is repeated, because nothing of it is
          // stored.
          throw new StoreUnavailable('it is not known whether the change was stored', { cause: error })
        })
        return value
      }),
  }
}
