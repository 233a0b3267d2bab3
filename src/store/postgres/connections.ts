/**
 * The connections of one process to PostgreSQL by purpose, and how a call uses them: with a client-side deadline, and repeated while its
 * outcome is unknown and time is left. So every call must be safe to repeat. Does not know any table.
 */
import pg from 'pg'
import type { Pool, PoolClient, QueryConfig, QueryResult } from 'pg'
import { StoreUnavailable } from '../store.ts'
import { asStoreError, isConnectionLost, isWorthAnother, Unheard } from './failure.ts'
import { within } from '../../deadline.ts'

/**
 * Twelve in total: two for admissions and rate windows, two to end turns and renew leases, one for look-ups of API keys, two for other
 * look-ups, two for searches, one for operators' writes, one for reports, one that listens; and one for a vacuum when there is something to
 * vacuum. Operators' writes wait for each other and never delay a look-up.
 */
export type Purpose = 'admission' | 'settlement' | 'key' | 'look-up' | 'search' | 'write' | 'report' | 'vacuum'
// A first message needs one connection of each of these.
const firstNeeded: Purpose[] = ['admission', 'settlement', 'key', 'look-up']
const poolSizes: Record<Purpose, number> = { admission: 2, settlement: 2, key: 1, 'look-up': 2, search: 2, write: 1, report: 1, vacuum: 1 }

export type Log = { warn(facts: object, message: string): void; info(facts: object, message: string): void }

export type Connections = {
  /** Opens the first connections before a request needs them, because opening one may take longer than a deadline. Never rejects. */
  greet(): Promise<void>
  /**
   * Runs `work` on one connection. `deadlineMs` counts from now and includes the wait for the connection. Rejects with StoreUnavailable or
   * an internal error. `onRetry` receives the error of each attempt that is repeated.
   */
  ask<Result>(purpose: Purpose, deadlineMs: number, work: Work<Result>, onRetry?: (error: unknown) => void): Promise<Result>
  /** The same for durable commits, which wait for a synchronous standby if there is one. */
  askDurably<Result>(purpose: Purpose, deadlineMs: number, work: Work<Result>): Promise<Result>
  close(): Promise<void>
}

export type Work<Result> = (connection: Connection) => Promise<Result>

export type Connection = {
  query(query: string | QueryConfig, values?: unknown[]): Promise<QueryResult>
  /**
   * One statement that is its own transaction. `onRow` receives each row before the commit is durable. If it becomes durable, the same
   * objects are in the result (`turn.durable-first`).
   */
  queryEarly(query: QueryConfig, onRow: (row: Record<string, unknown>) => void): Promise<QueryResult>
  /** As the server reported it when the connection was opened. */
  processId: number | undefined
  /** Closes its socket, as a broken network would; for failpoints. */
  drop(): void
}

// A server in the same network is reached within milliseconds. One that does not answer within a second counts as unreachable
// (fault.postgres-unreachable).
const connectMs = 1_000
// A short pause for a server that restarts. An attempt costs one connection, so each pause is twice as long as the one before.
const [minPauseMs, maxPauseMs] = [50, 1_000]
// With this many statements waiting, the problem is the database itself. Fewer may belong to a frozen process, which is no reason to refuse
// other requests.
const maxStuck = 3
// Running calls may finish. A server that does not respond does not confirm the end of a connection either.
const closeMs = 2_500

export function createConnections(url: string, log: Log): Connections {
  const clients = new Set<pg.ClientBase>()
  const pools = Object.fromEntries(
    Object.entries(poolSizes).map(([purpose, max]) => {
      const pool = new pg.Pool({
        ...clientOptions(url),
        Client: ClosedClient,
        max,
        connectionTimeoutMillis: connectMs,
        idleTimeoutMillis: 0,
      })
      // Errors of idle connections arrive here. Without a listener they would end the process.
      pool.on('error', (error) => log.warn({ cause: error.message }, 'lost an idle database connection'))
      pool.on('connect', (client) => {
        client.on('error', () => undefined)
        clients.add(client)
      })
      pool.on('remove', (client) => clients.delete(client))
      return [purpose, pool]
    }),
  ) as Record<Purpose, Pool>
  /** A call had no answer in time: commits may be waiting for a standby. */
  let inDoubt = false

  async function ask<Result>(
    purpose: Purpose,
    deadlineMs: number,
    work: Work<Result>,
    onRetry?: (error: unknown) => void,
  ): Promise<Result> {
    const until = performance.now() + deadlineMs
    for (let tries = 0; ; tries++) {
      try {
        return await once(pools[purpose], until, work)
      } catch (error) {
        if (error instanceof Unheard) inDoubt = true
        const worthAnother = isWorthAnother(error) || isConnectionLost(error)
        const pauseMs = Math.min(maxPauseMs, minPauseMs * 2 ** tries)
        if (!worthAnother || performance.now() + pauseMs >= until) throw asStoreError(error)
        onRetry?.(error)
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }
  }

  const askDurably = <Result>(purpose: Purpose, deadlineMs: number, work: Work<Result>): Promise<Result> =>
    ask(purpose, deadlineMs, async (connection) => {
      if (inDoubt) {
        await refuseWhileCommitsWait(connection)
        inDoubt = false
      }
      return work(connection)
    })

  async function greet(): Promise<void> {
    for (const outcome of await Promise.allSettled(firstNeeded.map((purpose) => pools[purpose].connect()))) {
      if (outcome.status === 'fulfilled') outcome.value.release()
      else log.warn({ cause: asStoreError(outcome.reason).message }, 'could not open a database connection at startup')
    }
  }

  return {
    greet,
    ask,
    askDurably,
    async close() {
      const gone = [...clients].map((client) => new Promise((resolve) => client.once('end', resolve)))
      const ended = Promise.all([...Object.values(pools).map((pool) => pool.end()), ...gone])
      await before(performance.now() + closeMs, ended, 'the connections did not end in time').catch(() => clients.forEach(hangUp))
    },
  }
}

/**
 * After its deadline, a statement continues in the server with its locks: a commit that waits for a synchronous standby until that returns,
 * another one until its disk responds. While `maxStuck` statements of any process wait like this, no durable call is sent. Otherwise each
 * attempt would occupy another connection until all of them wait.
 */
async function refuseWhileCommitsWait(connection: Connection): Promise<void> {
  const { rows } = await connection.query(`select count(*) as stuck from pg_stat_activity
    where usename = current_user and datname = current_database() and state = 'active' and wait_event_type is distinct from 'Client' and (
      wait_event = 'SyncRep' and query_start < clock_timestamp() - interval '500 milliseconds'
      or query ~ '^select [a-z_]+_v[0-9]+' and query_start < clock_timestamp() - interval '2500 milliseconds')`)
  if (Number(rows[0].stuck) < maxStuck) return
  throw new StoreUnavailable('the database does not finish a transaction: it is waiting for a standby or for its disk')
}

async function once<Result>(pool: Pool, until: number, work: Work<Result>): Promise<Result> {
  const connecting = pool.connect()
  const client = await before(until, connecting, 'no connection to the database came free in time').catch((error: unknown) => {
    if (error instanceof Unheard) connecting.then((late) => late.release()).catch(() => undefined)
    throw error
  })
  const processId = (client as unknown as { processID: number | null }).processID ?? undefined
  let started = false
  const query: Connection['query'] = (text, values) => {
    started ||= typeof text === 'string' && text.startsWith('begin')
    return client.query(text as string, values)
  }
  const queryEarly: Connection['queryEarly'] = (text, onRow) =>
    new Promise((resolve, reject) => {
      const asked = new FlushedQuery(text as QueryConfig<unknown[]>, undefined, (error: Error | null | undefined, result: QueryResult) =>
        error ? reject(error) : resolve(result),
      )
      asked.on('row', onRow)
      client.query(asked)
    })
  const done = work({ query, queryEarly, processId, drop: () => hangUp(client) })
  try {
    const result = await before(until, done, 'the database did not answer in time')
    client.release()
    return result
  } catch (error) {
    if (isConnectionLost(error)) {
      // Never a cancel request: a commit that waits for its standby would be released without replication. Only the socket is closed.
      destroy(client)
      done.catch(() => undefined)
    } else if (!started) client.release()
    else {
      await before(performance.now() + connectMs, client.query('rollback'), 'no end of a transaction').then(
        () => client.release(),
        () => destroy(client),
      )
    }
    throw error
  }
}

/** Rejects with Unheard if there is no `answer` by `until`. */
function before<Value>(until: number, answer: Promise<Value>, words: string): Promise<Value> {
  return within(Math.max(1, until - performance.now()), answer, () => {
    throw new Unheard(words)
  })
}

type Protocol = { execute(portal: { portal: string }): void; flush(): void; sync(): void }

/**
 * A statement whose rows the server sends before it commits. It commits at Sync, and otherwise sends nothing until it has; Flush in front of
 * it makes it send the rows. All of it is one packet, so nothing takes another round trip. `_getRows` is where pg sends Execute and Sync.
 */
class FlushedQuery extends pg.Query {
  _getRows(connection: Protocol): void {
    connection.execute({ portal: '' })
    // mutant: turn.durable-first-2
    connection.flush()
    connection.sync()
  }
}

function destroy(client: PoolClient): void {
  hangUp(client)
  client.release(true)
}

/**
 * A pool forgets a connection that was refused, and leaves its socket open until the server closes it. Without a password that takes a
 * minute.
 */
class ClosedClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    const { connection } = this as unknown as { connection: NodeJS.EventEmitter }
    connection.once('error', () => hangUp(this))
  }
}

/** Closes the socket without waiting. */
export function hangUp(client: pg.ClientBase): void {
  ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
}

/** The address that a URL leads to, with what pg takes from the environment. Never contains a user or a password. */
export function addressOf(url: string): { host: string; port: number; database: string } {
  const { host, port, database = '' } = new pg.Client(clientOptions(url))
  return { host, port, database }
}

/** The options of every connection: exact integers, and no unlimited wait. */
export function clientOptions(url: string): pg.ClientConfig {
  return {
    // Parameters in the URL have priority over options. A copy recognizes servers by this name.
    connectionString: url.replace(/(?<=[?&])application_name=[^&]*&?/g, ''),
    application_name: 'turnkeep',
    connectionTimeoutMillis: connectMs,
    // A connection that a network has dropped silently is noticed within a minute. Linux alone would ask after two hours.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser: parserOf },
  }
}

const { builtins } = pg.types
const integers = new Set<number>([builtins.INT2, builtins.INT4, builtins.INT8])

/** Integers as bigint, as the embedded store returns them; also sums, which are numeric in PostgreSQL. */
function parserOf(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (integers.has(oid)) return BigInt
  if (oid === builtins.NUMERIC) return (value) => (/^-?\d+$/.test(value) ? BigInt(value) : Number(value))
  if (oid === builtins.BOOL) return (value) => (value === 't' ? 1n : 0n)
  return pg.types.getTypeParser(oid, format as 'text') as (value: string) => unknown
}
