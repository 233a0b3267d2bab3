/**
 * The shared store: PostgreSQL, for several processes or machines. Implements store.ts; its clock and its durability are those of the
 * database: an outcome is returned when the database confirms the commit (docs/operate/postgresql.md says what that requires).
 */
import { createFailpoints } from '../../failpoints.ts'
import type { Failpoints } from '../../failpoints.ts'
import type { Author } from '../queries/audit.ts'
import { reads } from '../queries/reads.ts'
import type { Reads } from '../queries/reads.ts'
import { writes } from '../queries/writes.ts'
import type { Writes } from '../queries/writes.ts'
import { boundMethods, methodsOf } from '../methods.ts'
import type { Methods } from '../methods.ts'
import { SchemaRefused } from '../schema-refused.ts'
import type { SharedStore } from '../store.ts'
import { createQueries, sqlOf } from './queries.ts'
import { refuseHalfCopied } from './copy/mark.ts'
import { addressOf, createConnections } from './connections.ts'
import type { Connection, Connections, Log } from './connections.ts'
import { TakesNoWrites, asStoreError } from './failure.ts'
import { createTurnPath } from './turn-path.ts'
import type { Deadlines } from './turn-path.ts'
import { listen, ofTurns } from './listen.ts'
import { createProcessWatch } from './process-watch.ts'
import { migrate, readMigrations, readState } from './migrate.ts'
import type { Migration, SchemaState } from './migrate.ts'
import { vacuumErased } from './vacuum.ts'

export { readPostgresSnapshot } from './snapshot.ts'
export type { Migration, SchemaState }

export type PostgresOptions = {
  /** postgres://… */
  url: string
  /** A failpoints.ts specification; empty for none. */
  failpoints?: string
  deadlines?: Partial<Deadlines>
  /** Other migrations than the ones next to this file, for tests of two versions. */
  migrations?: Migration[]
  log: Log
}

const oldestVersion = 15
// A start may wait for the migrations of another process.
const openMs = 600_000
// A database that starts together with this process, such as in a Compose project, is ready within this time.
const firstContactMs = 30_000
// A running database answers within this time. After it, the log says what the start is waiting for.
const warnAfterMs = 2_000
const warnAgainMs = 10_000
// A message that is this late is repeated anyway.
const messageMs = 1_000
const defaultDeadlines: Deadlines = {
  admissionMs: 1_000,
  settlementMs: 2_000,
  windowMs: 250,
  lookUpMs: 1_000,
  searchMs: 2_000,
  writeMs: 10_000,
}

/** Throws SchemaRefused, StoreUnavailable. Waits a while for a database that is starting. */
export async function openPostgresStore({ url, failpoints: spec = '', deadlines, migrations, log }: PostgresOptions): Promise<SharedStore> {
  const failpoints = createFailpoints(spec)
  const connections = createConnections(url, log)
  const first = waitForFirstContact(url, log)
  try {
    const { pooled, settings } = await connections.ask(
      'look-up',
      firstContactMs,
      async (connection) => {
        const server = await readServer(connection)
        if (server.standby) throw new TakesNoWrites('the database is a standby and takes no writes')
        return server
      },
      first.failed,
    )
    first.end()
    if (settings.synchronous_commit === 'off' || settings.fsync === 'off')
      log.warn(
        settings,
        'the database confirms commits before they are on disk (synchronous_commit or fsync is off): a crash may lose answered turns',
      )
    await failpoints.reach('start.before-migrations')
    const newer = await connections.ask('look-up', openMs, (connection) => migrate(connection, migrations ?? readMigrations()))
    await failpoints.reach('start.after-migrations')
    await connections.ask('look-up', openMs, (connection) => refuseHalfCopied(sqlOf(connection)))
    await connections.greet()
    if (newer.length > 0) log.warn({ newer }, 'the database was migrated by a newer version of Turnkeep that is compatible with this one')
    if (pooled)
      log.info(
        {},
        'connected through a connection pooler: statements are not prepared, and changes by other processes arrive within a second',
      )
    return createStore(url, connections, { pooled, failpoints, deadlines: { ...defaultDeadlines, ...deadlines }, log })
  } catch (error) {
    first.end()
    await connections.close()
    throw error
  }
}

/** Logs what a start waits for: the address of the database, and why the last attempt failed. Never logs the password. */
function waitForFirstContact(url: string, log: Log): { failed(error: unknown): void; end(): void } {
  let cause = 'no response yet'
  const warn = (): void => {
    log.warn({ ...addressOf(url), cause, maxSeconds: firstContactMs / 1000 }, 'waiting for the database')
    timer = setTimeout(warn, warnAgainMs)
  }
  let timer = setTimeout(warn, warnAfterMs)
  return { failed: (error) => (cause = asStoreError(error).message), end: () => clearTimeout(timer) }
}

type StoreParts = { pooled: boolean; failpoints: Failpoints; deadlines: Deadlines; log: Log }

function createStore(url: string, connections: Connections, { pooled, failpoints, deadlines, log }: StoreParts): SharedStore {
  const listeners: (() => void)[] = []
  const heard: ((message: string) => void)[] = []
  const notify = (): void => listeners.forEach((listener) => listener())
  const onMessage = (message: string): void => heard.forEach((listener) => listener(message))
  // Behind a pooler, every transaction may use another connection, so LISTEN does not work.
  const listener = pooled ? undefined : listen(url, { onChange: notify, onMessage }, log)
  const queries = createQueries(connections, failpoints, deadlines)
  async function write(author: Author | undefined, name: keyof Writes, args: unknown[]): Promise<unknown> {
    try {
      return await queries.write({ name, args, author })
    } finally {
      // Also after a failure: the change may be stored although its answer was lost.
      if (writes[name].changesCaches) notify()
    }
  }
  let vacuumedAt = 0

  return {
    ...createTurnPath({ connections, failpoints, named: !pooled, deadlines }),
    read: methodsOf<Reads>(reads, (name, args) => queries.read(name, args)),
    write: methodsOf<Writes>(writes, (name, args) => write(undefined, name, args)),
    writeAs: boundMethods<Author, Methods<Writes>>(writes, write),
    async forget(depth) {
      if (depth === 'vacuum') vacuumedAt = await vacuumErased(connections, vacuumedAt)
      return 'forgotten'
    },
    onChange: (reported) => void listeners.push(reported),
    messages: pooled
      ? undefined
      : {
          onMessage: (reported) => void heard.push(reported),
          // Not durable, so its commit does not wait for the disk.
          async send(messages) {
            await connections.ask('look-up', messageMs, (connection) =>
              connection.query(
                `select set_config('synchronous_commit', 'off', true), (select count(pg_notify('${ofTurns}', message)) from unnest($1::text[]) as m (message))`,
                [messages],
              ),
            )
          },
        },
    processes: createProcessWatch(connections, () => listener?.pid(), deadlines.settlementMs),
    async ping() {
      await connections.ask('look-up', deadlines.admissionMs, async (connection) => {
        const { rows } = await connection.query('show transaction_read_only')
        if (rows[0].transaction_read_only === 'on') throw new TakesNoWrites('the database takes no writes: a standby')
      })
    },
    async close() {
      await listener?.close()
      await connections.close()
    },
  }
}

export type ServerFound = {
  /** For example 15. */
  version: number
  /** A pooler such as PgBouncer changes the connection between transactions. */
  pooled: boolean
  /** The values that `show` returns. They determine how durable a commit is. */
  settings: { synchronous_commit: string; fsync: string; full_page_writes: string; synchronous_standby_names: string }
  standby: boolean
  maxConnections: number
  usedConnections: number
  /** The database's clock in epoch milliseconds, and how long the query took. */
  now: number
  roundTripMs: number
}

/** Throws SchemaRefused if this PostgreSQL is too old or does not use UTF-8. */
async function readServer(connection: Connection): Promise<ServerFound> {
  const askedAt = performance.now()
  const { rows } = await connection.query(`select pg_backend_pid() as pid, current_setting('server_version_num') as version,
    current_setting('server_encoding') as encoding, current_setting('default_transaction_isolation') as isolation,
    current_setting('synchronous_commit') as synchronous_commit, current_setting('fsync') as fsync,
    current_setting('full_page_writes') as full_page_writes, current_setting('synchronous_standby_names') as synchronous_standby_names,
    pg_is_in_recovery() as standby, current_setting('max_connections') as max_connections,
    (select count(*) from pg_stat_activity where backend_type = 'client backend') as used,
    floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now`)
  const roundTripMs = performance.now() - askedAt
  const [row] = rows
  const version = Math.floor(Number(row.version) / 10_000)
  if (version < oldestVersion) throw new SchemaRefused(`the database is PostgreSQL ${version}; Turnkeep needs ${oldestVersion} or newer`)
  if (row.encoding !== 'UTF8') throw new SchemaRefused(`the database is encoded in ${row.encoding}; Turnkeep needs one in UTF8`)
  // Each statement of the turn path must see the changes that it waited for.
  if (row.isolation !== 'read committed')
    throw new SchemaRefused(
      `default_transaction_isolation is "${row.isolation}" for this user or database; Turnkeep needs "read committed"`,
    )
  const { synchronous_commit, fsync, full_page_writes, synchronous_standby_names } = row
  return {
    version,
    pooled: connection.processId !== Number(row.pid),
    settings: { synchronous_commit, fsync, full_page_writes, synchronous_standby_names },
    standby: row.standby === 1n,
    maxConnections: Number(row.max_connections),
    usedConnections: Number(row.used),
    now: Number(row.now),
    roundTripMs,
  }
}

export type PostgresInspection = ServerFound & { schema: SchemaState | { kind: 'absent' } }

/** Writes nothing and migrates nothing. Throws StoreUnavailable, SchemaRefused. */
export async function inspectPostgres(url: string): Promise<PostgresInspection> {
  const connections = createConnections(url, silent)
  try {
    return await connections.ask('look-up', 5_000, async (connection) => {
      const server = await readServer(connection)
      const { rows } = await connection.query(`select to_regclass('migrations') is not null as present`)
      return { ...server, schema: rows[0].present === 1n ? await readState(connection, readMigrations()) : { kind: 'absent' } }
    })
  } finally {
    await connections.close()
  }
}

const silent: Log = { warn: () => undefined, info: () => undefined }
