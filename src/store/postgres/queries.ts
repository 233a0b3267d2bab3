/**
 * Cold reads and writes on PostgreSQL: a read in one snapshot that cannot write, a write in one transaction. Writes of all processes come one
 * after the other, as the embedded store's do, so that what one of them found still stands when it writes; turns never wait for that lock.
 */
import { reads, reports, searches } from '../queries/reads.ts'
import type { Reads } from '../queries/reads.ts'
import { performWrite, writes } from '../queries/writes.ts'
import type { WriteCall } from '../queries/writes.ts'
import type { Failpoints } from '../../failpoints.ts'
import { StoreUnavailable } from '../store.ts'
import type { Row, Sql, SqlValue } from '../sql.ts'
import { commitBetween } from './commit-points.ts'
import type { Connection, Connections } from './connections.ts'
import { isConnectionLost } from './failure.ts'
import { changed } from './listen.ts'

/** The `Sql` of one connection. Statements have no name: they are planned anew each time, so never on what the tables were. */
export function sqlOf(connection: Connection): Sql {
  const query = (text: string, values: SqlValue[]) => connection.query(text, values)
  return {
    engine: 'postgres',
    all: async (text, ...values) => (await query(text, values)).rows as Row[],
    run: async (text, ...values) => (await query(text, values)).rowCount ?? 0,
    now: async () => Number((await query('select now_ms() as now', [])).rows[0].now),
  }
}

// A look-up answers in milliseconds or its caller is told that the store is away, and a search in tens of them; a report may walk through
// millions of rows.
const limitsMs = { 'look-up': 1_000, search: 2_000, report: 120_000 }
const writeMs = 10_000
// A process that freezes or vanishes between two statements would hold its locks until its connection is found dead, which may take hours.
const leaving = `set local idle_in_transaction_session_timeout = ${15_000}`
// One lock for all cold writes of all processes in this database; the number means nothing.
const adminWriteLockId = 7_264_011

export const beginSnapshot = 'begin isolation level repeatable read, read only'

export type AdminQueries = {
  read(name: keyof Reads, args: unknown[]): Promise<unknown>
  write(call: WriteCall): Promise<unknown>
}

export function createQueries(connections: Connections, failpoints: Failpoints): AdminQueries {
  return {
    read(name, args) {
      const purpose = reports.has(name) ? 'report' : searches.has(name) ? 'search' : 'look-up'
      const limitMs = limitsMs[purpose]
      return connections.ask(purpose, limitMs, async (connection) => {
        // The database gives up too, or a report that nobody waits for would run on.
        // Reading all chunks of all agents looks cheap to the planner, which does not know that their words are stored beside the table.
        const byIndex = purpose === 'search' ? '; set local enable_seqscan = off; set local jit = off' : ''
        await connection.query(`${beginSnapshot}; set local statement_timeout = ${limitMs}; ${leaving}${byIndex}`)
        const value = await (reads[name] as (sql: Sql, ...rest: unknown[]) => Promise<unknown>)(sqlOf(connection), ...args)
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
          // Made again it would find its own change and tell it as somebody else's. Until here it is asked again: nothing of it is stored.
          throw new StoreUnavailable('it is not known whether the change was stored', { cause: error })
        })
        return value
      }),
  }
}
