/** `turnkeep doctor`: checks for common problems, one after the other, and prints how to fix each. Fixes nothing itself. */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { settings } from '../../config/config.ts'
import type { Config, Environment } from '../../config/config.ts'
import { adminUrl, findAdminToken, localUrl, readAddressSettings } from '../admin-api/address.ts'
import { createAdminClient, isFields } from '../admin-api/client.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { helpEnd, withServerOptions, writeExitCodes } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'
import { checkPostgres } from './database-checks.ts'
import { checkConfinement, checkFolder, checkNode, checkOpenFiles, checkSecrets, checkSettings } from './machine-checks.ts'
import { jsonText, printLine } from '../terminal/print.ts'
import { styled } from '../terminal/style.ts'
import { checkRedis } from './redis-checks.ts'
import { checkPort, checkProviders, checkServer, checkToken, checkWebhooks, probe } from './server-checks.ts'
import { readCopyNote } from '../data/copy-note.ts'
import type { CopyNote } from '../data/copy-note.ts'
import { findRedis, findStore } from '../data/store-address.ts'
import { checkStore, inspect } from './store-checks.ts'
import { checkStream } from './stream-check.ts'
import { escapeForTerminal } from '../terminal/table.ts'

// A local server answers within milliseconds.
const statusTimeoutMs = 3_000

type DoctorOptions = ServerOptions & { providers?: true }

export function define(command: Command, run: CommandRun): void {
  const codes = writeExitCodes('no check failed (there may be warnings)', 'a check failed', 'invalid usage')
  withServerOptions(helpEnd(command, 'doctor --providers', codes))
    .option('--providers', 'Also make one small call to every provider, for which it may charge')
    .action((options: DoctorOptions) => examine(run, options))
}

async function examine(run: CommandRun, options: DoctorOptions): Promise<void> {
  const findings: Finding[] = []
  for await (const finding of findAll(run.environment, options)) {
    findings.push(finding)
    if (!options.json) printFinding(run, finding)
  }
  const failed = findings.filter(({ status }) => status === 'fail').length
  const warned = findings.filter(({ status }) => status === 'warn').length
  if (options.json) printLine(run, jsonText({ ok: failed === 0, checks: findings }, 2))
  else
    printLine(
      run,
      failed + warned === 0 ? '\nNo problems found.' : `\n${failed} failed, ${warned} ${warned === 1 ? 'warning' : 'warnings'}.`,
    )
  if (failed > 0) run.exitCode = 1
}

async function* findAll(environment: Environment, options: DoctorOptions): AsyncGenerator<Finding> {
  yield checkNode(process.versions.node)
  yield* checkSettings(environment)
  yield* checkOpenFiles(settings.maxTurns.read(environment[settings.maxTurns.name] || settings.maxTurns.initial) ?? 0)
  yield await checkConfinement()
  const known = readable(() => ({ config: readAddressSettings(environment), store: findStore(environment), redis: findRedis(environment) }))
  if (!known) return
  const { config, store, redis } = known
  let inUse = false
  if (store.kind === 'folder') {
    const inspection = inspect(config)
    inUse = inspection.inUse
    const abandoned = inUse ? undefined : await checkAbandoned(config, environment, options)
    if (abandoned) yield abandoned
    else {
      yield ok('store', `SQLite, in ${config.dataFolder}, because DATABASE_URL is not set`)
      yield* checkFolder(config)
      yield* checkSecrets(config, environment)
      yield* await checkStore(config, inspection, environment)
    }
  } else {
    yield* checkPostgres(store.url, store.shown, environment)
  }
  if (redis !== undefined) yield await checkRedis(redis)
  yield* checkRunning(config, environment, options, inUse)
}

const withItsSettings = 'Run doctor with the settings of the server, including DATABASE_URL.'

/** Finds out whether the servers use PostgreSQL, so that a data folder from before the migration is not inspected. */
async function checkAbandoned(config: Config, environment: Environment, options: DoctorOptions): Promise<Finding | undefined> {
  const folder = config.dataFolder
  const note = noteIn(folder)
  if (note)
    return warn(
      'store',
      `${folder} was copied to ${note.database} on ${note.copiedAt.slice(0, 10)} and has not been used since: not inspected`,
      `${withItsSettings} Then move the folder away.`,
    )
  if ((await storeOfServer(config, environment, options)) !== 'postgres') return undefined
  return warn('store', `the running server uses PostgreSQL, and not ${folder}: not inspected`, withItsSettings)
}

function noteIn(folder: string): CopyNote | undefined {
  try {
    return readCopyNote(folder)
  } catch {
    // The checks of the folder report that this user cannot read it.
    return undefined
  }
}

/** Returns undefined if no server answers, or if it does not accept the token: the checks of the server report that. */
async function storeOfServer(config: Config, environment: Environment, options: DoctorOptions): Promise<string | undefined> {
  if ((config.port === 0 && options.url === undefined) || findAdminToken(config) === undefined) return undefined
  try {
    const client = createAdminClient(environment, options)
    const { store } = await client.call('GET', '/status', { signal: AbortSignal.timeout(statusTimeoutMs) })
    return isFields(store) ? String(store['kind']) : undefined
  } catch (error) {
    if (error instanceof CommandFailed) return undefined
    throw error
  }
}

/** Returns undefined if a setting is invalid: checkSettings has already reported it. */
function readable<Read>(read: () => Read): Read | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof CommandFailed) return undefined
    throw error
  }
}

async function* checkRunning(config: Config, environment: Environment, options: DoctorOptions, inUse: boolean): AsyncGenerator<Finding> {
  // With PORT=0, only the log of the server knows the actual port.
  if (config.port === 0 && options.url === undefined) {
    yield warn(
      'server',
      'PORT is 0, so the port of the server is unknown',
      'Run npx --no-install turnkeep doctor --url with the address of the server.',
    )
    return
  }
  if (options.url === undefined) yield await checkPort(config, await probe(localUrl(config, config.port)))
  const url = adminUrl(config, options.url)
  const found = await probe(url)
  yield* checkServer(url, found, inUse || options.url !== undefined || config.publicUrl !== undefined)
  if (found.kind !== 'ours') return
  if (findAdminToken(config) === undefined) {
    yield fail(
      'admin token',
      'no admin token found',
      'Set TURNKEEP_ADMIN_TOKEN, or set TURNKEEP_DATA_DIR to the data folder of the server.',
    )
    return
  }
  const client = createAdminClient(environment, options)
  const token = await checkToken(client)
  yield token
  if (token.status !== 'ok') return
  if (options.providers) yield* checkProviders(client)
  yield* checkWebhooks(client)
  const stream = config.publicUrl === undefined ? undefined : await checkStream(config, config.publicUrl, client)
  if (stream) yield stream
}

const marks = { ok: ['green', 'ok  '], warn: ['yellow', 'warn'], fail: ['red', 'FAIL'] } as const

function printFinding(run: CommandRun, { check, status, says, fix }: Finding): void {
  const [color, mark] = marks[status]
  printLine(run, `${styled(run, color, mark)}  ${escapeForTerminal(check).padEnd(12)}  ${escapeForTerminal(says)}`)
  if (fix !== undefined) printLine(run, `      ${' '.repeat(12)}  ${escapeForTerminal(fix)}`)
}
