/**
 * The connections of one process to PostgreSQL, by what they are kept for, and how a call is made on them: with a deadline of ours, asked
 * again while its outcome is unknown and time is left. Every call made here must be one that may be asked twice. Knows no table.
 */
import pg from 'pg'
import type { Pool, PoolClient, QueryConfig, QueryResult } from 'pg'
import { StoreUnavailable } from '../store.ts'
import { asStoreError, isConnectionLost, isWorthAnother, Unheard } from './failure.ts'

/**
 * Eleven in all: two that admit and spend windows, two that end and keep turns whatever the others do, two that look up, two that search, one that
 * writes for the operator, one for reports, one that listens; and one for a vacuum, made where there is something to vacuum. Operators' writes wait for each other and never keep a look-up waiting.
 */
export type Purpose = 'admission' | 'settlement' | 'look-up' | 'search' | 'write' | 'report' | 'vacuum'
const ofTurns: Purpose[] = ['admission', 'settlement']
const poolSizes: Record<Purpose, number> = { admission: 2, settlement: 2, 'look-up': 2, search: 2, write: 1, report: 1, vacuum: 1 }

export type Log = { warn(facts: object, message: string): void; info(facts: object, message: string): void }

export type Connections = {
  /** Makes the first connections that turns need before a turn does: making one may take longer than a window has. Never rejects. */
  greet(): Promise<void>
  /** Runs `work` on one connection; `deadlineMs` counts from now and bounds the wait for the connection too. Rejects with StoreUnavailable or a fault. */
  ask<Result>(purpose: Purpose, deadlineMs: number, work: Work<Result>): Promise<Result>
  /** The same for what commits durably, and so waits for a synchronous standby where there is one. */
  askDurably<Result>(purpose: Purpose, deadlineMs: number, work: Work<Result>): Promise<Result>
  close(): Promise<void>
}

export type Work<Result> = (connection: Connection) => Promise<Result>

export type Connection = {
  query(query: string | QueryConfig, values?: unknown[]): Promise<QueryResult>
  /** As the server told it when the connection was made. */
  processId: number | undefined
  /** Closes its socket, as a network does that breaks; for failpoints. */
  drop(): void
}

// Reaching a server of the same network takes milliseconds; one that does not answer in a second is told as gone (fault.postgres-unreachable).
const connectMs = 1_000
// A moment for a server that restarts; a try costs one connection, so each pause is twice the one before it.
const [minPauseMs, maxPauseMs] = [50, 1_000]
// One may be a process of ours that froze, which is no reason to refuse what others send; more than these are the database's own trouble.
const maxStuck = 3
// What is under way may end; a server that says nothing says no farewell either.
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
      // A connection that breaks while nothing is asked of it tells it here, and without a listener would end the process.
      pool.on('error', (error) => log.warn({ cause: error.message }, 'lost an idle database connection'))
      pool.on('connect', (client) => {
        client.on('error', () => undefined)
        clients.add(client)
      })
      pool.on('remove', (client) => clients.delete(client))
      return [purpose, pool]
    }),
  ) as Record<Purpose, Pool>
  /** Something was not heard of in time: commits may be waiting for a standby. */
  let inDoubt = false

  async function ask<Result>(purpose: Purpose, deadlineMs: number, work: Work<Result>): Promise<Result> {
    const until = performance.now() + deadlineMs
    for (let tries = 0; ; tries++) {
      try {
        return await once(pools[purpose], until, work)
      } catch (error) {
        if (error instanceof Unheard) inDoubt = true
        const worthAnother = isWorthAnother(error) || isConnectionLost(error)
        const pauseMs = Math.min(maxPauseMs, minPauseMs * 2 ** tries)
        if (!worthAnother || performance.now() + pauseMs >= until) throw asStoreError(error)
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
    for (const outcome of await Promise.allSettled(ofTurns.map((purpose) => pools[purpose].connect()))) {
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
 * A statement that nobody waits for any more goes on in the server, with its locks: a commit that waits for a synchronous standby until that is
 * back, another one until its disk answers. So that no call adds another one for each time it is tried, until all connections there are stand
 * like that, nothing durable is sent while one of ours does.
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
  let begun = false
  const query: Connection['query'] = (text, values) => {
    begun ||= typeof text === 'string' && text.startsWith('begin')
    return client.query(text as string, values)
  }
  const done = work({ query, processId, drop: () => hangUp(client) })
  try {
    const result = await before(until, done, 'the database did not answer in time')
    client.release()
    return result
  } catch (error) {
    if (isConnectionLost(error)) {
      // Never a cancel: a commit that waits for its standby would be let go of unreplicated. The socket alone is closed.
      destroy(client)
      done.catch(() => undefined)
    } else if (!begun) client.release()
    else {
      await before(performance.now() + connectMs, client.query('rollback'), 'no end of a transaction').then(
        () => client.release(),
        () => destroy(client),
      )
    }
    throw error
  }
}

/** Rejects with Unheard where `answer` is not there by `until`. */
async function before<Value>(until: number, answer: Promise<Value>, words: string): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const tell = (): void => late.reject(new Unheard(words))
  // After a blocked loop a timer fires before what has already arrived is read: that gets its chance first.
  const timer = setTimeout(() => setImmediate(tell), Math.max(1, until - performance.now()))
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function destroy(client: PoolClient): void {
  hangUp(client)
  client.release(true)
}

/** A pool forgets a connection that was refused, and leaves its socket open until the server closes it: for want of a password that is a minute. */
class ClosedClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    const { connection } = this as unknown as { connection: NodeJS.EventEmitter }
    connection.once('error', () => hangUp(this))
  }
}

/** Closes the socket and waits for nobody. */
export function hangUp(client: pg.ClientBase): void {
  ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
}

/** What every connection of ours is made with: integers whole, and no wait for ever. */
export function clientOptions(url: string): pg.ClientConfig {
  return {
    // What the address says beats what is said beside it, and by this name a copy sees that a server works here.
    connectionString: url.replace(/(?<=[?&])application_name=[^&]*&?/g, ''),
    application_name: 'turnkeep',
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    types: { getTypeParser: parserOf },
  }
}

const { builtins } = pg.types
const integers = new Set<number>([builtins.INT2, builtins.INT4, builtins.INT8])

/** Integers as bigint, as the embedded store reads them; a sum of them too, which PostgreSQL makes a numeric. */
function parserOf(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (integers.has(oid)) return BigInt
  if (oid === builtins.NUMERIC) return (value) => (/^-?\d+$/.test(value) ? BigInt(value) : Number(value))
  if (oid === builtins.BOOL) return (value) => (value === 't' ? 1n : 0n)
  return pg.types.getTypeParser(oid, format as 'text') as (value: string) => unknown
}
