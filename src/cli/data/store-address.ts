/**
 * Where the stored data and the rate windows are, for a command that works on it without a server: from the settings that say so alone, so that no
 * other one stops it. What is shown of an address never holds its password.
 */
import { readConfig, settings } from '../../config/config.ts'
import type { Environment } from '../../config/config.ts'
import { CommandFailed } from '../terminal/command-failed.ts'

/** `shown`: for a person. */
export type StoreAddress = { kind: 'folder'; folder: string; shown: string } | { kind: 'postgres'; url: string; shown: string }

/** Throws CommandFailed with code 2. */
export function findStore(environment: Environment): StoreAddress {
  const given = environment[settings.databaseUrl.name]
  if (given) return { kind: 'postgres', ...databaseAddress(given, settings.databaseUrl.name) }
  const folder = findFolder(environment)
  return { kind: 'folder', folder, shown: folder }
}

/** The data folder, whether or not the server works with a database instead. Throws CommandFailed with code 2. */
export function findFolder(environment: Environment): string {
  const { name } = settings.dataFolder
  const outcome = readConfig({ [name]: environment[name] })
  if (outcome.kind === 'problems') throw new CommandFailed(2, outcome.problems.join('\nturnkeep: '))
  return outcome.config.dataFolder
}

/** Undefined where the rate windows are elsewhere. Throws CommandFailed with code 2. */
export function findRedis(environment: Environment): string | undefined {
  const { name, read, accepted } = settings.redisUrl
  const given = environment[name]
  if (!given) return undefined
  const url = read(given)
  if (url === undefined) throw new CommandFailed(2, `${name}: must be ${accepted}`)
  return url
}

/** `source` is the setting or flag that holds the text. Throws CommandFailed with code 2, without a word of the text. */
export function databaseAddress(text: string, source: string): { url: string; shown: string } {
  const { read, accepted, shown } = settings.databaseUrl
  const url = read(text)
  if (url === undefined) throw new CommandFailed(2, `${source}: must be ${accepted}`)
  return { url, shown: shown(url) }
}
