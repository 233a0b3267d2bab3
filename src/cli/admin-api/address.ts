/**
 * Where the admin API is and what opens it, for a command: from its flag, the settings' names in the environment and the data folder.
 * Other settings are not looked at, so that a command for a server elsewhere is not stopped by them. Never prints the token.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig, settings } from '../../config/config.ts'
import type { Config, Environment } from '../../config/config.ts'
import { CommandFailed } from '../terminal/command-failed.ts'

const needed = [settings.port, settings.host, settings.publicUrl, settings.adminPort, settings.dataFolder, settings.adminToken]

/** The settings by which a server is found. Throws CommandFailed with code 2 where one is wrong. */
export function readAddressSettings(environment: Environment): Config {
  const outcome = readConfig(Object.fromEntries(needed.map(({ name }) => [name, environment[name]])))
  if (outcome.kind === 'problems') throw new CommandFailed(2, outcome.problems.join('\nturnkeep: '))
  return outcome.config
}

/** The base address of the admin API, without a slash at its end. `given` is the flag's value. */
export function adminUrl(config: Config, given: string | undefined): string {
  if (given !== undefined) return checkedUrl(given)
  if (config.adminPort !== undefined) return localUrl(config, config.adminPort)
  return config.publicUrl ?? localUrl(config, config.port)
}

/** This machine's own address of the API. */
export function localUrl({ host }: Config, port: number): string {
  if (port === 0) throw new CommandFailed(2, 'the server listens on any free port (0): name its address with --url')
  // An address to listen on everywhere is none to call.
  const called = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${called.includes(':') ? `[${called}]` : called}:${port}`
}

/** Undefined where there is neither the setting nor the file. Throws CommandFailed where the file cannot be read. */
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
      `the admin token in ${path} cannot be read (${code}): run this as the server's user, or set TURNKEEP_ADMIN_TOKEN`,
    )
  }
}

function checkedUrl(text: string): string {
  const outcome = readConfig({ [settings.publicUrl.name]: text })
  const url = outcome.kind === 'config' ? outcome.config.publicUrl : undefined
  if (url === undefined) throw new CommandFailed(2, `--url must be ${settings.publicUrl.accepted}, as http://127.0.0.1:8080`)
  return url
}
