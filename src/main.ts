/**
 * The process: settings → data folder → app → listen → drain. Nothing else reads the environment, catches signals or ends the process.
 * What a person reads goes to stdout, the log as JSON lines to stderr. Exit codes: 0 drained · 1 died of a fault · 2 could not start.
 */
import type { Logger } from 'pino'
import { startApp } from './app.ts'
import type { App } from './app.ts'
import { readConfig } from './config.ts'
import type { Config, Environment } from './config.ts'
import { DataFolderRefused, openDataFolder, readSecrets } from './data-folder.ts'
import { createFailpoints } from './failpoints.ts'
import { makeDemo } from './first-start.ts'
import type { Demo } from './first-start.ts'
import { accessLines, createLog } from './log.ts'
import { startLines } from './start-lines.ts'
import { FolderInUse, SchemaRefused } from './store/sqlite/sqlite.ts'
import { StoreUnavailable } from './store/store.ts'

// A terminal under npm delivers one Ctrl-C twice, from the terminal and from npm; a person's second one comes later than this.
const sameSignalMs = 500

/** Runs the server until a signal ends it. Resolves when it is ready. */
export async function serve(environment: Environment): Promise<void> {
  const outcome = readConfig(environment)
  if (outcome.kind === 'problems') return refuse(outcome.problems)
  const { config } = outcome
  // Whatever is written from here on, the database too, is for this user alone.
  process.umask(0o077)
  const log = createLog(config.logLevel)
  // Also an unhandled rejection comes here. Nothing can be trusted after it: the turns are finished by the next start.
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'the process ends: a fault nobody caught')
    process.exit(1)
  })
  try {
    await start(config, log)
  } catch (error) {
    const line = explain(error, config)
    if (line === undefined) throw error
    refuse([line])
  }
}

async function start(config: Config, log: Logger): Promise<void> {
  const folder = openDataFolder(config.dataFolder)
  let demo: Demo | undefined
  const app = await startApp(config, {
    ...readSecrets(config, folder),
    log,
    accessLog: createLog(config.logLevel, accessLines()),
    failpoints: createFailpoints(config.failpoints),
    // Made before the first request can come in, so that whoever finds the server ready finds the demo too.
    async beforeListening(rooms) {
      if (config.demo)
        demo = await makeDemo({ ...rooms, folder, openaiApiKey: config.openaiApiKey, anthropicApiKey: config.anthropicApiKey })
    },
  })
  drainOnSignal(app, log)
  // On a terminal the lines below say it; whoever collects stderr gets it as a line of the log.
  if (!process.stderr.isTTY) log.info({ url: app.url, adminUrl: app.adminUrl }, 'listening')
  const adminUrl = config.adminPort === undefined ? (config.publicUrl ?? app.adminUrl) : app.adminUrl
  const keyPath = folder.pathOf('demo.key')
  console.log(startLines({ url: config.publicUrl ?? app.url, adminUrl, demo: demo && { agentId: demo.agentId, keyPath } }))
}

function drainOnSignal(app: App, log: Logger): void {
  let drainingSince: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    if (drainingSince !== undefined) {
      if (performance.now() - drainingSince < sameSignalMs) return
      log.warn({ signal }, 'a second signal: the process ends at once; running turns are finished by the next start')
      process.exit(1)
    }
    drainingSince = performance.now()
    log.info({ signal }, 'draining: running turns finish, new ones are refused')
    void drain()
  }
  const drain = async (): Promise<never> => {
    try {
      await app.drain()
    } catch (error) {
      log.fatal({ err: error }, 'the drain failed')
      process.exit(1)
    }
    process.exit(0)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

/** One line for what an operator can mend; undefined for a fault of ours. */
function explain(error: unknown, config: Config): string | undefined {
  if (error instanceof FolderInUse || error instanceof SchemaRefused || error instanceof DataFolderRefused) return error.message
  if (error instanceof StoreUnavailable) return `the database in ${config.dataFolder} cannot be used: ${error.message}`
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined
  const address = 'port' in error ? `${config.host}:${String(error.port)}` : config.host
  const setting = 'port' in error && error.port === config.adminPort ? 'TURNKEEP_ADMIN_PORT' : 'PORT'
  switch (error.code) {
    case 'EADDRINUSE':
      return `${address} is in use by another program; set ${setting} to a free one`
    case 'EACCES':
      return `${address} may not be listened on by this user; set ${setting} to 1024 or more`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `TURNKEEP_HOST: ${config.host} is no address of this machine`
    default:
      return undefined
  }
}

function refuse(lines: string[]): never {
  for (const line of lines) console.error(`turnkeep: ${line}`)
  process.exit(2)
}

if (import.meta.main) await serve(process.env)
