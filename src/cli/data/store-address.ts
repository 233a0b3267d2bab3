/**
 * Finds the database and the Redis server for commands that work without a running server. Uses only the settings that name them, so that
 * an invalid value of another setting does not stop the command. The `shown` form of an address never contains its password.
 */
import { readConfig, settings } from '../../config/config.ts'
import type { Environment } from '../../config/config.ts'
import { CommandFailed } from '../terminal/command-failed.ts'

/** `shown` is the address as it may be printed. */
export type StoreAddress = { kind: 'folder'; folder: string; shown: string } | { kind: 'postgres'; url: string; shown: string }

/** Throws CommandFailed with code 2 if a setting is invalid. */
export function findStore(environment: Environment): StoreAddress {
  const given = environment[settings.databaseUrl.name]
  if (given) return { kind: 'postgres', ...databaseAddress(given, settings.databaseUrl.name) }
  const folder = findFolder(environment)
  return { kind: 'folder', folder, shown: folder }
}

/** Returns the data folder, even if the server uses PostgreSQL. Throws CommandFailed with code 2 if the setting is invalid. */
export function findFolder(environment: Environment): string {
  const { name } = settings.dataFolder
  const outcome = readConfig({ [name]: environment[name] })
  if (outcome.kind === 'problems') throw new CommandFailed(2, outcome.problems.join('\nturnkeep: '))
  return outcome.config.dataFolder
}

/** Returns REDIS_URL, or undefined if it is not set. Throws CommandFailed with code 2 if it is invalid. */
export function findRedis(environment: Environment): string | undefined {
  const { name, read, accepted } = settings.redisUrl
  const given = environment[name]
  if (!given) return undefined
  const url = read(given)
  if (url === undefined) throw new CommandFailed(2, `${name}: must be ${accepted}`)
  return url
}

/** `source` is the name of the setting or option. Throws CommandFailed with code 2; the message never contains the invalid text. */
export function databaseAddress(text: string, source: string): { url: string; shown: string } {
  const { read, accepted, shown } = settings.databaseUrl
  const url = read(text)
  if (url === undefined) throw new CommandFailed(2, `${source}: must be ${accepted}`)
  return { url, shown: shown(url) }
}
