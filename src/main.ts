/**
 * The server process: settings → data folder → app → listen → drain. With TURNKEEP_WORKERS above 1 it is the supervisor of several workers,
 * or one of them. Only this file reads the environment, handles signals and ends a process that has started. Text for people goes to
 * stdout, the log goes to stderr as JSON lines. Exit codes: 0 drained, 1 crashed, 2 could not start.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { agentSlug } from './agent-slug.ts'
import { readConfig, settings } from './config/config.ts'
import type { Config, Environment } from './config/config.ts'
import { DataFolderRefused, openDataFolder, readSecrets } from './config/data-folder.ts'
import type { DataFolder, Secrets } from './config/data-folder.ts'
import { createFailpoints } from './failpoints.ts'
import { makeDemo } from './process/first-start.ts'
import { accessLines, createLog } from './observability/log.ts'
import { returnMemoryWhenIdle } from './process/idle-memory.ts'
import { startLines } from './process/start-lines.ts'
import { SchemaRefused } from './store/schema-refused.ts'
import { StoreUnavailable } from './store/store.ts'
import type { Store } from './store/store.ts'
import { openStores } from './process/open-stores.ts'
import type { Stores } from './process/open-stores.ts'
import { checkSecrets, SecretsRefused } from './process/secrets-check.ts'
import { openWorkerLink } from './process/worker-link.ts'
import type { Ready, WorkerLink } from './process/worker-link.ts'

// Under npm, a terminal delivers one Ctrl-C twice: from the terminal and from npm. A second one from a person comes later than this.
const sameSignalMs = 500

/**
 * Runs the server until a signal ends it. Resolves when it is ready. `onStore` receives the open store before the server listens. Only the
 * development server (dev/server.ts) passes it, and it is not called with several workers.
 */
export async function serve(environment: Environment, onStore?: (store: Store) => void): Promise<Pick<Ready, 'url' | 'adminUrl'>> {
  // The first process of a container ignores signals that it does not handle, and a start may have to wait for its database.
  for (const signal of endingSignals) process.on(signal, endUnstarted)
  const config = configOf(environment)
  const log = openLog(config)
  try {
    const ready = config.workers === 1 ? await serveHere(config, environment, log, { onStore }) : await supervise(config, environment, log)
    // A terminal gets the lines below instead. Whatever collects stderr gets a log line.
    if (!process.stderr.isTTY) log.info({ url: ready.url, adminUrl: ready.adminUrl }, 'listening')
    const adminUrl = config.adminPort === undefined ? (config.publicUrl ?? ready.adminUrl) : ready.adminUrl
    const tokenPath = config.adminToken === undefined ? join(config.dataFolder, settings.adminToken.file) : undefined
    writePid(config.dataFolder, log)
    console.log(startLines({ url: config.publicUrl ?? ready.url, adminUrl, tokenPath, limiter: ready.limiter, demo: ready.demo }))
    return ready
  } catch (error) {
    const line = await explain(error, config)
    if (line === undefined) throw error
    return refuse([line])
  }
}

/** The PID of the server is in `server.pid` of the data folder, as long as the server runs and ends by itself. */
function writePid(dataFolder: string, log: Logger): void {
  // With PostgreSQL, a server may have no folder, or one that it cannot write to.
  if (!existsSync(dataFolder)) return
  const file = join(dataFolder, 'server.pid')
  try {
    writeFileSync(file, `${process.pid}\n`)
  } catch (error) {
    log.warn({ err: error }, 'server.pid could not be written')
    return
  }
  process.on('exit', () => {
    // Another server may have started meanwhile, with the same folder and PostgreSQL.
    if (existsSync(file) && readFileSync(file, 'utf8') === `${process.pid}\n`) rmSync(file)
  })
}

/** Runs one of several workers on this machine. `role` comes from the supervisor. */
async function serveAsWorker(environment: Environment, role: string): Promise<void> {
  const link = openWorkerLink(role)
  const config = configOf(environment)
  try {
    link.ready(await serveHere(config, environment, openLog(config, link.number), { link }))
  } catch (error) {
    const line = await explain(error, config)
    if (line === undefined) throw error
    await link.refused(line)
    process.exit(2)
  }
}

function configOf(environment: Environment): Config {
  const outcome = readConfig(environment)
  if (outcome.kind === 'problems') return refuse(outcome.problems)
  // From here on, all files are created for this user only, including the database.
  process.umask(0o077)
  return outcome.config
}

function openLog(config: Config, worker?: number): Logger {
  const log = createLog(config.logLevel, { worker })
  // Also handles unhandled rejections. After one of them the state of the process is unknown, so it exits. The next start or another
  // process finishes its turns.
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'process exiting: uncaught exception')
    process.exit(1)
  })
  return log
}

type HereOptions = { link?: WorkerLink; onStore?: ((store: Store) => void) | undefined }

async function serveHere(config: Config, environment: Environment, log: Logger, { link, onStore }: HereOptions = {}): Promise<Ready> {
  const makesDemo = link ? link.makesDemo : config.demo
  // With PostgreSQL the folder holds only the demo's key, so a read-only file system is acceptable.
  const folder = makesDemo || config.databaseUrl === undefined ? openDataFolder(config.dataFolder) : undefined
  const secrets = secretsOf(config, folder)
  const failpoints = createFailpoints(config.failpoints)
  const stores = openStores(config, { monotonicMs: () => performance.now(), failpoints, log }).then(async (opened) => {
    // Only one process at a time has the embedded store open, so no other one stores a key of its own in between.
    await checkedSecrets(opened, config, secrets)
    return opened
  })
  // The failure is reported to whoever awaits the promise, which may be later than it happens.
  stores.catch(() => undefined)
  const { startApp } = await import('./app.ts')
  let demo: Ready['demo']
  const app = await startApp(config, {
    ...secrets,
    stores,
    log,
    accessLog: createLog(config.logLevel, { worker: link?.number, destination: accessLines() }),
    failpoints,
    environment,
    among: link,
    // Created before the server accepts requests, so that the demo exists when the server is ready.
    async beforeListening(modules) {
      onStore?.(modules.store)
      if (!makesDemo || !folder) return
      const { openaiApiKey, anthropicApiKey } = config
      const made = await makeDemo({ ...modules, folder, openaiApiKey, anthropicApiKey })
      demo = made && { agent: agentSlug(made.agentName) || made.agentId, keyPath: folder.pathOf('demo.key') }
    },
  })
  returnMemoryWhenIdle(() => app.turns.running)
  const drain = drainOnSignal(log, {
    async drain() {
      await app.drain()
      await link?.lastFigures(await app.figures())
      return 0
    },
  })
  link?.serve({ figures: app.figures, drain: () => drain({ by: 'supervisor' }), log })
  return { url: app.url, adminUrl: app.adminUrl, limiter: app.limiter, demo }
}

/** Closes the stores if their secrets cannot be decrypted. */
async function checkedSecrets({ store, window }: Stores, config: Config, { encryptionKeys, storeKey }: Secrets): Promise<void> {
  const keyFile = join(config.dataFolder, settings.encryptionKeys.file)
  const why = config.encryptionKeys
    ? 'TURNKEEP_ENCRYPTION_KEY does not contain its key'
    : storeKey
      ? `${keyFile} is missing`
      : `${keyFile} contains another key`
  try {
    if (!config.lostSecrets) await checkSecrets(store, encryptionKeys, why)
    storeKey?.()
  } catch (error) {
    await window.close()
    await store.close()
    throw error
  }
}

async function supervise(config: Config, environment: Environment, log: Logger): Promise<Ready> {
  const { choosePorts, startWorkers } = await import('./process/workers.ts')
  const ports = await choosePorts(config)
  const { workers: count, demo: makesDemo, drainSeconds } = config
  const workers = startWorkers({ count, program: import.meta.filename, environment, ports, makesDemo, drainSeconds, log })
  drainOnSignal(log, {
    drain: () => new Promise(() => workers.drain()),
    kill: () => workers.kill(),
  })
  void workers.ended.then(({ code, line }) => (code === 2 ? refuse([line ?? 'worker failed to start']) : process.exit(code)))
  return workers.ready
}

/** Returns both secrets. With PostgreSQL they must be set (config.ts); otherwise they are generated in the data folder. */
function secretsOf({ adminToken, encryptionKeys }: Config, folder: DataFolder | undefined): Secrets {
  if (folder) return readSecrets({ adminToken, encryptionKeys }, folder)
  if (adminToken === undefined || encryptionKeys === undefined) throw new Error('a secret is missing, and there is no folder to keep one')
  return { adminToken, encryptionKeys }
}

type Ending = {
  /** Resolves with the exit code. */
  drain(): Promise<number>
  /** What has to end together with this process if it ends immediately. */
  kill?: () => void
}

/** Returns a function that starts the drain, as a signal does. */
function drainOnSignal(log: Logger, ending: Ending): (why: object) => void {
  let drainingSince: number | undefined
  const begin = (why: object): void => {
    if (drainingSince !== undefined) return
    drainingSince = performance.now()
    log.info(why, 'draining: finishing running turns, rejecting new ones')
    ending.drain().then(process.exit, (error: unknown) => {
      log.fatal({ err: error }, 'drain failed')
      process.exit(1)
    })
  }
  const onSignal = (signal: NodeJS.Signals): void => {
    if (drainingSince === undefined) return begin({ signal })
    // A terminal that is closed may send several of them, and no one is there who wants the process to end immediately.
    if (signal === 'SIGHUP' || performance.now() - drainingSince < sameSignalMs) return
    log.warn({ signal }, 'second signal received: exiting immediately; the next start finishes the running turns')
    ending.kill?.()
    process.exit(1)
  }
  for (const signal of endingSignals) process.off(signal, endUnstarted).on(signal, onSignal)
  return begin
}

// SIGHUP: the terminal or the SSH connection was closed.
const endingSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
/** Nothing has started yet that would have to be drained. */
const endUnstarted = (): never => process.exit(0)

/** Returns one line for an error that the operator can fix, and undefined for an internal error. */
async function explain(error: unknown, config: Config): Promise<string | undefined> {
  // Imported on demand: a supervisor, and a successful start with PostgreSQL, do not need it.
  const { FolderInUse } = await import('./store/sqlite/sqlite.ts')
  if (
    error instanceof FolderInUse ||
    error instanceof SchemaRefused ||
    error instanceof DataFolderRefused ||
    error instanceof SecretsRefused
  )
    return error.message
  if (error instanceof StoreUnavailable) {
    return config.databaseUrl === undefined
      ? `the database in ${config.dataFolder} cannot be used: ${error.message}`
      : `the database of DATABASE_URL cannot be used: ${settings.databaseUrl.shown(config.databaseUrl)}: ${error.message}`
  }
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined
  // The error of a listener has its address, and its port unless that is 0; the error of a lookup has its host name.
  const at = 'address' in error ? error.address : 'hostname' in error ? error.hostname : undefined
  const hostsDiffer = config.adminHost !== config.host
  const isAdmin =
    'port' in error ? error.port === config.adminPort && !(hostsDiffer && at === config.host) : hostsDiffer && at === config.adminHost
  const host = isAdmin ? config.adminHost : config.host
  const [portSetting, hostSetting] = isAdmin ? ['TURNKEEP_ADMIN_PORT', 'TURNKEEP_ADMIN_HOST'] : ['PORT', 'TURNKEEP_HOST']
  const address = 'port' in error ? `${host}:${String(error.port)}` : host
  switch (error.code) {
    case 'EADDRINUSE':
      return `${address} is in use by another program; set ${portSetting} to a free one`
    case 'EACCES':
      return `${address} may not be listened on by this user; set ${portSetting} to 1024 or more`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${hostSetting}: ${host} is no address of this machine`
    case 'ENOTSUP':
      return 'TURNKEEP_WORKERS: several processes cannot share a port on this system; leave it at 1'
    default:
      return undefined
  }
}

function refuse(lines: string[]): never {
  for (const line of lines) console.error(`turnkeep: ${line}`)
  process.exit(2)
}

if (import.meta.main) {
  const [word, role] = process.argv.slice(2)
  await (word === '--worker' && role !== undefined ? serveAsWorker(process.env, role) : serve(process.env))
}
