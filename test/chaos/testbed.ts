/**
 * Everything that a chaos run disturbs: the servers at their fixed ports and what they depend on, which is a data folder on its own disk,
 * or a private PostgreSQL behind one proxy per server and a private Redis. `close` removes all of it, and so does the guard if the harness
 * is killed. Chooses no fault.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ampleAdminLimits } from '../support/admin-limits.ts'
import { verify } from '../../src/store/queries/invariants.ts'
import type { Verdict } from '../../src/store/queries/invariants.ts'
import { readPostgresSnapshot } from '../../src/store/postgres/postgres.ts'
import { readSnapshot } from '../../src/store/sqlite/sqlite.ts'
import type { Row, Sql } from '../../src/store/sql.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import type { FaultProxy } from '../support/fault-proxy.ts'
import { startPostgres } from '../support/postgres-server.ts'
import type { OwnDatabase, PostgresServer } from '../support/postgres-server.ts'
import { startRedis } from '../support/redis-server.ts'
import type { RedisServer } from '../support/redis-server.ts'
import { makeClock, noClock } from './clock.ts'
import type { Clock } from './clock.ts'
import { makeDisk, noDisk } from './disk.ts'
import type { Disk } from './disk.ts'
import { startGuard } from './guard.ts'
import type { History } from './history.ts'
import { superviseServer } from './supervised-server.ts'
import type { SupervisedServer } from './supervised-server.ts'
import type { Random } from './random.ts'
import type { ChaosOptions, StoreKind } from './schedule.ts'
import type { LogWatch } from './log-watch.ts'

/** The part that callers see. */
export type Target = {
  /** Indexed by place. A place without a server refuses connections. */
  urls: string[]
  adminToken: string
  store: StoreKind
  /** A place with a running server, if there is one. */
  adminUrl(): string
}

export type SharedStores = { server: PostgresServer; database: OwnDatabase; proxies: FaultProxy[]; redis: RedisServer }

export type Testbed = {
  options: ChaosOptions
  history: History
  /** Contains everything that does not belong to a single server. */
  folder: string
  target: Target
  supervisedServers: SupervisedServer[]
  /** The instructions to one process, read by obey.ts. */
  ordersOf(supervised: number): string
  /** Settings with which a command connects to the store without the proxies. */
  storeEnv: Record<string, string>
  program: string | undefined
  shared: SharedStores | undefined
  disk: Disk | undefined
  clock: Clock | undefined
  /** All invariants, in the stored rows. */
  verify(): Promise<Verdict[]>
  read<Result>(read: (sql: Sql) => Promise<Result>): Promise<Result>
  /** Drains every server, which must succeed. */
  drain(): Promise<void>
  /** Kills what is left and removes everything. */
  close(): Promise<void>
}

export type TestbedOptions = {
  options: ChaosOptions
  /** The bin/turnkeep.js of another copy of the source. */
  program?: string | undefined
  history: History
  random: Random
  logWatch: LogWatch
  /** Private addresses that the servers may reach. */
  allow: string[]
}

const adminToken = 'chaos-5e81c07f2ab94d63'

/** Why a kind of fault is not possible on this machine, by its name. */
export function impossible(): Partial<Record<'disk' | 'clock', string>> {
  const [disk, clock] = [noDisk(), noClock()]
  return { ...(disk && { disk }), ...(clock && { clock }) }
}

export async function openTestbed({ options, program, history, random, logWatch, allow }: TestbedOptions): Promise<Testbed> {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-chaos-'))
  const guard = startGuard(folder)
  const ports = await freePorts(options.processes + (options.store === 'postgres' ? options.processes + 2 : 0))
  const serverPorts = ports.splice(0, options.processes)
  const undo: (() => unknown)[] = []
  const supervisedServers: SupervisedServer[] = []
  async function close(): Promise<void> {
    await Promise.all(supervisedServers.map((supervised) => supervised.close('kill')))
    for (const step of undo.toReversed()) await step()
    await rm(folder, { recursive: true, force: true })
    guard.done()
  }
  try {
    const shared = options.store === 'postgres' ? await openShared(options.processes, ports, undo) : undefined
    const withDisk = options.store === 'sqlite' && options.faults.includes('disk')
    const disk = withDisk ? makeDisk(join(folder, 'disk')) : undefined
    if (disk) undo.push(() => disk.remove())
    const dataFolder = disk?.folder ?? join(folder, 'data')
    if (!disk) mkdirSync(dataFolder)
    const clock = options.faults.includes('clock') ? makeClock(join(folder, 'clock')) : undefined
    const storeEnv: Record<string, string> = shared ? { DATABASE_URL: shared.database.url } : { TURNKEEP_DATA_DIR: dataFolder }
    const secrets = { TURNKEEP_ADMIN_TOKEN: adminToken, TURNKEEP_ENCRYPTION_KEY: randomBytes(32).toString('base64') }
    const ordersOf = (supervised: number): string => join(folder, `orders-${supervised}`)
    const drawLife = (supervised: number, number: number) => {
      const own = random.fork(`life ${number} of ${supervised}`)
      // On SQLite only every second process run, because the run would never have the real time otherwise.
      const moved = options.store === 'sqlite' ? number % 2 === 0 : supervised === options.processes - 1
      return { clock: clock !== undefined && moved, drainSeconds: own.pick([0, 1, 3, 6]) }
    }
    for (const [number, port] of serverPorts.entries()) {
      supervisedServers.push(
        superviseServer({
          number,
          history,
          ...(program !== undefined && { program }),
          env: (processRun) => ({
            ...storeEnv,
            ...(shared && { DATABASE_URL: shared.proxies[number]!.through(shared.database.url), REDIS_URL: shared.redis.url }),
            ...secrets,
            HOME: folder,
            PORT: String(port),
            TURNKEEP_DEMO: 'off',
            ...ampleAdminLimits,
            TURNKEEP_DRAIN_SECONDS: String(processRun.drainSeconds),
            TURNKEEP_ALLOW_PRIVATE_HOSTS: allow.join(','),
            CHAOS_ORDERS: ordersOf(number),
            // A heap that is full within a second, and ten times what a run needs.
            NODE_OPTIONS: `--import=${new URL('./obey.ts', import.meta.url).href} --max-old-space-size=512`,
            ...(processRun.clock && clock?.env),
          }),
          draw: (processRun) => drawLife(number, processRun),
          onTrouble: (processRun, line) => logWatch.line(number, processRun, line),
          onEnd: (processRun, end) => logWatch.end(number, processRun, end),
          onPid: guard.tell,
        }),
      )
    }
    await Promise.all(supervisedServers.map((supervised) => supervised.listening()))
    const read: Testbed['read'] = (use) => (shared ? readPostgresSnapshot(shared.database.url, use) : readSnapshot(dataFolder, use))
    const urls = serverPorts.map((port) => `http://127.0.0.1:${port}`)
    return {
      options,
      history,
      folder,
      target: {
        urls,
        adminToken,
        store: options.store,
        adminUrl: () => urls[supervisedServers.findIndex(({ processRun }) => processRun.listens && !processRun.end)] ?? urls[0]!,
      },
      supervisedServers,
      ordersOf,
      storeEnv: { ...storeEnv, ...secrets },
      program,
      shared,
      disk,
      clock,
      read,
      verify: () => read(verify),
      drain: async () => void (await Promise.all(supervisedServers.map((supervised) => supervised.close('drain')))),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function openShared(processes: number, ports: number[], undo: (() => unknown)[]): Promise<SharedStores> {
  const [postgresPort, redisPort, ...proxyPorts] = ports
  const server = await startPostgres({ durable: true, port: postgresPort! })
  undo.push(() => server.stop())
  const redis = await startRedis({ port: redisPort! })
  undo.push(() => redis.stop())
  const database = await server.makeDatabase()
  const proxies: FaultProxy[] = []
  for (const port of proxyPorts.slice(0, processes)) {
    const proxy = await startFaultProxy(server.port, { port })
    undo.push(() => proxy.close())
    proxies.push(proxy)
  }
  return { server, database, proxies, redis }
}

// Below the ports of outgoing connections (from 32768 on Linux, from 49152 elsewhere), so that a server that was down for a second finds
// its port free again.
const [lowestPort, highestPort] = [20_000, 32_000]

async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>()
  while (found.size < count) {
    const port = lowestPort + Math.floor(Math.random() * (highestPort - lowestPort))
    if (await isFree(port)) found.add(port)
  }
  return [...found]
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  const free = await new Promise<boolean>((resolve) => {
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => resolve(true))
  })
  if (free) await new Promise((resolve) => probe.close(resolve))
  return free
}

/** The state that is required after a run: no turn is running and nothing is held. Each line names an exception. */
export async function unquiet(sql: Sql): Promise<string[]> {
  const running = await sql.all(`select request_id, state, attempt from turns where state = 'running' limit 20`)
  const holds = await sql.all('select id as owner_id, held from owners where held <> 0 limit 20')
  const shown = (row: Row): string =>
    Object.entries(row)
      .map(([name, value]) => `${name} ${String(value)}`)
      .join(', ')
  return [...running.map((row) => `a turn still runs: ${shown(row)}`), ...holds.map((row) => `something is still held: ${shown(row)}`)]
}
