/**
 * `turn.orphans`: notices that a process which shares the database has ended, long before its leases expire. Each process holds an advisory lock on the
 * connection that listens, and the server releases the lock when the process ends, however that happens. A process that is frozen keeps its
 * connection. What the end of a process means for its turns is decided in src/turn/leases.ts; docs/decisions/0052-dead-processes.md says why.
 */
import type { ProcessWatch } from '../store.ts'
import type { Connection, Connections } from './connections.ts'

// One class of locks in this database. The number has no meaning.
const lockClass = 7_264_012

/** Run on the connection that listens. The second number is unique among the sessions of a server. */
export const lockOfProcess = `select pg_advisory_lock(${lockClass}, pg_backend_pid()), pg_backend_pid() as pid`

/** `ownPid`: the session that listens, or undefined while it is not connected. */
export function createProcessWatch(connections: Connections, ownPid: () => number | undefined, limitMs: number): ProcessWatch {
  let last: { own: number | undefined; all: Set<number> } = { own: undefined, all: new Set() }
  let wasConnected = false
  const ask = <Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> => connections.ask('settlement', limitMs, work)

  return {
    async look() {
      const own = ownPid()
      const [row] = await ask(async (connection) => (await connection.query(found)).rows)
      const before = last
      last = { own, all: new Set((row.pids as string[]).map(Number)) }
      const hasEnded = !before.all.isSubsetOf(last.all)
      const isConnected = own !== undefined && own === ownPid() && last.all.has(own)
      // Who starts takes the place of a process that has ended, perhaps before this one could see it.
      const isKnown = isConnected && (!wasConnected || (own === before.own && hasEnded))
      wasConnected ||= isConnected
      return { changed: hasEnded || last.all.size > before.all.size, endedAt: isKnown ? Number(row.now) : undefined }
    },
    async endLeases(before) {
      await ask((connection) => connection.query(ended, [before]))
    },
  }
}

const found = `select now_ms() as now, coalesce(array_agg(l.objid::text), '{}') as pids from pg_locks l
  where l.locktype = 'advisory' and l.classid = ${lockClass} and l.objsubid = 2 and l.granted
    and l.database = (select oid from pg_database where datname = current_database())`

// The last statement of an older version on its connection is the one that listens.
const ended = `update turns set lease_until = 0
  where state = 'running' and lease_until < $1 and lease_until > 0 and not exists (
    select from pg_stat_activity a where a.datname = current_database() and a.query like 'listen turnkeep_changed%')`
