/**
 * Finds the URL and the token of the admin API from the `--url` option, the environment and the data folder. Ignores all other settings, so
 * that an invalid value does not stop a command for a server on another machine. Never prints the token.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig, settings } from '../../config/config.ts'
import type { Config, Environment } from '../../config/config.ts'
import { CommandFailed } from '../terminal/command-failed.ts'

const needed = [
  settings.port,
  settings.host,
  settings.publicUrl,
  settings.adminPort,
  settings.adminHost,
  settings.dataFolder,
  settings.adminToken,
]

/** Reads the settings that locate a server. Throws CommandFailed with code 2 if one of them is invalid. */
export function readAddressSettings(environment: Environment): Config {
  const outcome = readConfig(Object.fromEntries(needed.map(({ name }) => [name, environment[name]])))
  if (outcome.kind === 'problems') throw new CommandFailed(2, outcome.problems.join('\nturnkeep: '))
  return outcome.config
}

/** Returns the base URL of the admin API without a trailing slash. `given` is the value of `--url`. */
export function adminUrl(config: Config, given: string | undefined): string {
  if (given !== undefined) return checkedUrl(given)
  if (config.adminPort !== undefined) return localUrl({ host: config.adminHost }, config.adminPort)
  return config.publicUrl ?? localUrl(config, config.port)
}

/** Returns the URL of the API on this machine. Throws CommandFailed with code 2 if PORT is 0. */
export function localUrl({ host }: Pick<Config, 'host'>, port: number): string {
  if (port === 0)
    throw new CommandFailed(2, 'cannot find the server: PORT is 0, so it listens on any free port. Give its address with --url.')
  // A wildcard listen address cannot be called.
  const called = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${called.includes(':') ? `[${called}]` : called}:${port}`
}

/** Returns undefined if neither the setting nor the file exists. Throws CommandFailed with code 2 if the file cannot be read. */
export function findAdminToken({ adminToken, dataFolder }: Config): string | undefined {
  if (adminToken !== undefined) return adminToken
  const path = join(dataFolder, settings.adminToken.file)
  try {
    return readFileSync(path, 'utf8').trim() || undefined
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new CommandFailed(
      2,
      `cannot read the admin token in ${path} (${code}): run this as the user of the server, or set TURNKEEP_ADMIN_TOKEN`,
    )
  }
}

function checkedUrl(text: string): string {
  const outcome = readConfig({ [settings.publicUrl.name]: text })
  const url = outcome.kind === 'config' ? outcome.config.publicUrl : undefined
  if (url === undefined) throw new CommandFailed(2, `--url must be ${settings.publicUrl.accepted}, such as http://127.0.0.1:8080`)
  return url
}
