/**
 * A real PostgreSQL for tests, from the installed programs: a private cluster in its own folder on its own port, which ends with the test
 * process. It touches no other cluster of the machine. As root it runs as `postgres` or `nobody`, because PostgreSQL refuses to run as
 * root.
 *
 *     const url = await sharedPostgres()          // the one that test/run.ts started, or one for this process
 *     const own = await makeDatabase()            // a new database in it; own.url, own.drop()
 *     const server = await startPostgres({ durable: true, lines: ["synchronous_standby_names = 'nobody'"] })
 *     await server.kill9(); await server.restart(); await server.pause(); await server.stop('fast')
 */
import { execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { channel } from 'node:diagnostics_channel'
import { chownSync, existsSync, globSync, readFileSync, statfsSync } from 'node:fs'
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { freePort, startGuarded } from './guarded-process.ts'
import type { User } from './guarded-process.ts'

const run = promisify(execFile)
const readyWithinMs = 60_000

export type PostgresServer = {
  /** The URL of the database `postgres`, as its superuser. */
  url: string
  port: number
  /** Contains the cluster (`data`), the socket and the log. */
  folder: string
  readonly pid: number
  readonly running: boolean
  /** The log until now. */
  log(): Promise<string>
  /** `fast` ends sessions regularly, `immediate` leaves a recovery to the next start. The folder stays. */
  halt(mode: 'fast' | 'immediate'): Promise<void>
  /** SIGKILL to the server and all its processes at once. The folder stays. */
  kill9(): Promise<void>
  /** Starts it again with the same folder and port. Stops it first if it is still running. */
  restart(): Promise<void>
  /** SIGSTOP to all its processes: connections stay open and nothing responds. */
  pause(): void
  resume(): void
  /** A new, empty database of this server. */
  makeDatabase(): Promise<OwnDatabase>
  /** Ends it and removes the folder. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
}

export type OwnDatabase = { url: string; name: string; drop(): Promise<void> }

export type PostgresOptions = {
  /** fsync and full_page_writes are on; otherwise off, for speed. */
  durable?: boolean
  /** Additional lines of postgresql.conf. */
  lines?: string[]
  port?: number
  /** The folder in which its own folder is created, if it needs its own disk; by default memory, or the folder for temporary files. */
  within?: string
}

const howToGet = 'install PostgreSQL 15 or newer (apt-get install postgresql, brew install postgresql)'

/** Why a test that starts its own server is not possible here, or false. For the `skip` option of a test. */
export function noPostgresServer(): string | false {
  return findBin() === undefined && `no PostgreSQL here; ${howToGet}`
}

/** Why a test that needs a database is not possible here, or false. */
export function noPostgres(): string | false {
  if (process.env['TEST_POSTGRES_URL'] || noPostgresServer() === false) return false
  return `no PostgreSQL here; ${howToGet}, or give TEST_POSTGRES_URL of one whose user may create databases`
}

/** The folder with initdb, postgres, pg_dump, psql …; undefined if there is none. */
export function findBin(): string | undefined {
  const places = [
    ...globSync(['/usr/lib/postgresql/*/bin', '/usr/pgsql-*/bin', '/opt/homebrew/opt/postgresql@*/bin', '/usr/local/opt/postgresql@*/bin'])
      .filter((place) => version(place) >= 15)
      .toSorted((a, b) => version(b) - version(a)),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ]
  return places.find((place) => ['initdb', 'postgres'].every((program) => existsSync(join(place, program))))
}

const version = (place: string): number => Number(/(\d+)\/bin$/.exec(place)?.[1] ?? 0)

/** The user of the server, if this process is root. */
export function unprivileged(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const found = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody')
  if (!found) throw new Error('PostgreSQL refuses to run as root, and there is neither a user postgres nor a user nobody')
  return { uid: Number(found[2]), gid: Number(found[3]) }
}

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const bin = findBin()
  if (bin === undefined) throw new Error(`no PostgreSQL here; ${howToGet}`)
  const user = unprivileged()
  const folder = await mkdtemp(join(options.within ?? (options.durable ? tmpdir() : folderInMemory()), 'turnkeep-postgres-'))
  if (user) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const asTheServer = { cwd: folder, ...user }
  try {
    // With the environment of the machine, initdb might use a locale that does not exist.
    const settings = ['--no-sync', '--auth=trust', '--username=postgres', '--encoding=UTF8', '--no-locale']
    await run(join(bin, 'initdb'), ['-D', data, ...settings], asTheServer)
    await appendFile(join(data, 'postgresql.conf'), [...settingsOf(folder, options), ''].join('\n'))
    return await startOver(bin, folder, options.port, user)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/**
 * On Linux the files in this folder are in memory: creating a database there takes a tenth of the CPU time. Containers often have only a
 * few MiB there, too little for the databases of a run.
 */
function folderInMemory(): string {
  const memory = '/dev/shm'
  if (!existsSync(memory)) return tmpdir()
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > 4 * 1024 ** 3 ? memory : tmpdir()
}

function settingsOf(folder: string, { durable = false, lines = [] }: PostgresOptions): string[] {
  return [
    "listen_addresses = '127.0.0.1'",
    `unix_socket_directories = '${folder}'`,
    'max_connections = 300',
    'shared_buffers = 32MB',
    'max_wal_size = 256MB',
    'autovacuum_naptime = 10min',
    // Tests read the server's log, and writing it must not slow it down.
    'log_min_messages = warning',
    `fsync = ${durable ? 'on' : 'off'}`,
    `full_page_writes = ${durable ? 'on' : 'off'}`,
    ...lines,
  ]
}

/** Starts a server for the existing cluster in `data` of the folder. */
export async function startOver(bin: string, folder: string, wanted: number | undefined, user: User | undefined): Promise<PostgresServer> {
  const data = join(folder, 'data')
  const logFile = join(folder, 'log')
  const readLog = (): Promise<string> => readFile(logFile, 'utf8')

  async function launch(on: number) {
    const started = await startGuarded(join(bin, 'postgres'), ['-D', data, '-p', String(on)], {
      log: logFile,
      folder,
      endSignal: 'QUIT',
      user,
    })
    const limit = Date.now() + readyWithinMs
    for (;;) {
      if (!started.running) throw new Error(`PostgreSQL ended while it started:\n${await readLog()}`)
      if (await answers(urlOf(on))) return started
      if (Date.now() > limit) {
        started.signalAll('SIGKILL')
        throw new Error(`PostgreSQL was not ready in ${readyWithinMs} ms:\n${await readLog()}`)
      }
      await pass(20)
    }
  }

  async function launchOnFreePort() {
    for (let tries = 1; ; tries++) {
      const on = wanted ?? (await freePort())
      try {
        return { on, started: await launch(on) }
      } catch (error) {
        if (wanted !== undefined || tries === 5 || !(error as Error).message.includes('Address already in use')) throw error
        await rm(logFile, { force: true })
      }
    }
  }

  const { on: port, started } = await launchOnFreePort()
  let server = started
  const url = urlOf(port)

  async function halt(mode: 'fast' | 'immediate'): Promise<void> {
    if (!server.running) return
    server.signalAll('SIGCONT')
    server.signal(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await server.exited
  }

  return {
    url,
    port,
    folder,
    get pid() {
      return server.pid
    },
    get running() {
      return server.running
    },
    log: readLog,
    halt,
    async kill9() {
      // It is stopped first, so that it starts no process that is not in the list.
      server.signal('SIGSTOP')
      server.signalAll('SIGKILL')
      await server.exited
    },
    async restart() {
      await halt('fast')
      server = await launch(port)
    },
    pause() {
      server.signal('SIGSTOP')
      server.signalAll('SIGSTOP')
    },
    resume: () => server.signalAll('SIGCONT'),
    makeDatabase: () => makeDatabaseIn(url),
    async stop(mode = 'immediate') {
      await halt(mode)
      freeSharedMemory(data)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const urlOf = (port: number): string => `postgres://postgres@127.0.0.1:${port}/postgres`

async function answers(url: string): Promise<boolean> {
  try {
    await withClient(url, (client) => client.query('select 1'))
    return true
  } catch {
    return false
  }
}

/** A killed server leaves a memory segment behind, named in the file that it could not remove. */
function freeSharedMemory(data: string): void {
  const left = join(data, 'postmaster.pid')
  if (!existsSync(left)) return
  const segment = readFileSync(left, 'utf8').split('\n')[6]?.trim().split(/\s+/)[1]
  if (segment) execFileSync('ipcrm', ['-m', segment])
}

let shared: Promise<PostgresServer> | undefined

/** The URL of the server of this test run: `TEST_POSTGRES_URL`, or one that is started now and ends with this process. */
export async function sharedPostgres(): Promise<string> {
  const given = process.env['TEST_POSTGRES_URL']
  if (given) return given
  shared ??= startPostgres()
  return (await shared).url
}

/** A new database of the shared server: empty, or a copy of `template`. */
export async function makeDatabase(template?: string): Promise<OwnDatabase> {
  return makeDatabaseIn(await sharedPostgres(), template)
}

async function makeDatabaseIn(serverUrl: string, template = 'template0'): Promise<OwnDatabase> {
  const name = `turnkeep_test_${randomUUID().replaceAll('-', '')}`
  channel('turnkeep-test:database').publish({ name })
  // Nothing is connected to the template, so several databases can be created from it at the same time.
  await withClient(serverUrl, (client) => client.query(`create database ${name} template ${template}`))
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    name,
    async drop() {
      await withClient(serverUrl, async (client) => {
        // A test that has failed may leave a server whose commits wait for a standby.
        await client.query('set synchronous_commit = local')
        await client.query(`drop database if exists ${name} with (force)`)
      })
    },
  }
}

/** Direct queries to a database. bigint is returned as text, as pg does. */
export async function withClient<Result>(url: string, use: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: readyWithinMs })
  // If a server ends while the client is idle, the next query reports it.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await use(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}
