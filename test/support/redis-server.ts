/**
 * A real Redis or Valkey for tests, from the installed program: without persistence, on its own port, ended with the test process. It
 * touches no other server of the machine.
 *
 *     const own = await makeRedis()               // an empty database of the run's server; its number is in own.url
 *     const server = await startRedis({ lines: ['maxmemory 1mb'] })
 *     await server.kill9(); await server.restart(); server.pause(); await server.stop()
 */
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { freePort, startGuarded } from './guarded-process.ts'

const readyWithinMs = 30_000
/** Enough for a separate one for every app of a run. */
const databases = 10_000

export type RedisServer = {
  /** The URL of database 0. */
  url: string
  port: number
  folder: string
  readonly pid: number
  readonly running: boolean
  log(): Promise<string>
  /** Ends it regularly; `restart` starts it again, empty. */
  halt(): Promise<void>
  /** SIGKILL. */
  kill9(): Promise<void>
  /** Starts it again on the same port, empty. */
  restart(): Promise<void>
  /** SIGSTOP: connections stay open and nothing responds. */
  pause(): void
  resume(): void
  /** Ends it and removes the folder. */
  stop(): Promise<void>
}

const howToGet = 'install Redis or Valkey (apt-get install redis-server, brew install valkey)'

/** Why a test that starts its own server is not possible here, or false. For the `skip` option of a test. */
export function noRedisServer(): string | false {
  return findProgram() === undefined && `no Redis here; ${howToGet}`
}

/** Why a test that needs a Redis database is not possible here, or false. */
export function noRedis(): string | false {
  if (process.env['TEST_REDIS_URL'] || noRedisServer() === false) return false
  return `no Redis here; ${howToGet}, or give TEST_REDIS_URL of one that may be emptied`
}

function findProgram(): string | undefined {
  const places = (process.env['PATH'] ?? '').split(delimiter)
  return places.flatMap((place) => ['valkey-server', 'redis-server'].map((name) => join(place, name))).find((file) => existsSync(file))
}

export async function startRedis(options: { lines?: string[]; port?: number } = {}): Promise<RedisServer> {
  const program = findProgram()
  if (program === undefined) throw new Error(`no Redis here; ${howToGet}`)
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-redis-'))
  const file = join(folder, 'redis.conf')
  const logFile = join(folder, 'log')
  const readLog = (): Promise<string> => readFile(logFile, 'utf8')
  const settings = ['bind 127.0.0.1', 'save ""', 'appendonly no', `databases ${databases}`, `dir ${folder}`, ...(options.lines ?? [])]
  await writeFile(file, [...settings, ''].join('\n'))

  async function launch(on: number) {
    const started = await startGuarded(program!, [file, '--port', String(on)], { log: logFile, folder, endSignal: 'TERM' })
    const limit = Date.now() + readyWithinMs
    for (;;) {
      if (!started.running) throw new Error(`Redis ended while it started:\n${await readLog()}`)
      if (await answers(urlOf(on))) return started
      if (Date.now() > limit) {
        started.signal('SIGKILL')
        throw new Error(`Redis was not ready in ${readyWithinMs} ms:\n${await readLog()}`)
      }
      await pass(10)
    }
  }

  async function launchOnFreePort() {
    for (let tries = 1; ; tries++) {
      const on = options.port ?? (await freePort())
      try {
        return { on, started: await launch(on) }
      } catch (error) {
        if (options.port !== undefined || tries === 5 || !(error as Error).message.includes('in use')) throw error
        await rm(logFile, { force: true })
      }
    }
  }

  const first = await launchOnFreePort().catch(async (error: unknown) => {
    await rm(folder, { recursive: true, force: true })
    throw error
  })
  const port = first.on
  let server = first.started

  async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (!server.running) return
    server.signal('SIGCONT')
    server.signal(signal)
    await server.exited
  }

  return {
    url: urlOf(port),
    port,
    folder,
    get pid() {
      return server.pid
    },
    get running() {
      return server.running
    },
    log: readLog,
    halt: () => end('SIGTERM'),
    kill9: () => end('SIGKILL'),
    async restart() {
      await end('SIGTERM')
      server = await launch(port)
    },
    pause: () => server.signal('SIGSTOP'),
    resume: () => server.signal('SIGCONT'),
    async stop() {
      await end('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const urlOf = (port: number): string => `redis://127.0.0.1:${port}/0`

async function answers(url: string): Promise<boolean> {
  try {
    return (await withRedis(url, (client) => client.ping())) === 'PONG'
  } catch {
    return false
  }
}

let shared: Promise<RedisServer> | undefined

/** The URL of the server of this test run: `TEST_REDIS_URL`, or one that is started now and ends with this process. */
async function sharedRedis(): Promise<string> {
  const given = process.env['TEST_REDIS_URL']
  if (given) return given
  shared ??= startRedis()
  return (await shared).url
}

/** An empty database of the shared server for one app; `drop` empties it. */
export async function makeRedis(): Promise<{ url: string; drop(): Promise<void> }> {
  const url = new URL(await sharedRedis())
  // All processes of the run count in the same key.
  url.pathname = '/0'
  const number = await withRedis(url.href, (client) => client.incr('turnkeep-test:databases'))
  const [, known] = (await withRedis(url.href, (client) => client.config('GET', 'databases'))) as string[]
  url.pathname = `/${1 + (number % (Number(known) - 1))}`
  const drop = async (): Promise<void> => void (await withRedis(url.href, (client) => client.flushdb()))
  await drop()
  return { url: url.href, drop }
}

/** Direct access to a database. */
export async function withRedis<Result>(url: string, use: (client: Redis) => Promise<Result>): Promise<Result> {
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await use(client)
  } finally {
    client.disconnect()
  }
}
