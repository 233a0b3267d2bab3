/**
 * The secrets of the service itself: the admin token, the encryption keys, and the passwords of the database and of Redis. A file that
 * others write, such as a declaration for `apply`, must never make the service send or show one of them.
 */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { settings } from './config.ts'
import type { Environment } from './config.ts'
import type { Setting } from './setting.ts'

// Secret settings that are meant for a provider, and only for a provider.
const ofProviders: string[] = [settings.openaiApiKey.name, settings.anthropicApiKey.name]
// The PostgreSQL driver reads it.
const ofDrivers = ['PGPASSWORD']
// A shorter value may be part of a text by chance.
const minValueLength = 12

const every: Setting<unknown>[] = Object.values(settings)
const secretNames = [...every.filter(({ secret }) => secret).map(({ name }) => name), ...ofDrivers]

/** Returns true for the name of a variable that holds a secret of the service. Windows ignores the case of such names. */
export function isOwnSecret(variable: string, use: 'provider' | 'tool'): boolean {
  const name = variable.toUpperCase()
  return secretNames.includes(name) && !(use === 'provider' && ofProviders.includes(name))
}

export type OwnSecret = { name: string; value: string }

/** Returns the values of the service's secrets, from the environment and from the files in the data folder. */
export function ownSecrets(environment: Environment): OwnSecret[] {
  const dataFolder = resolve(environment[settings.dataFolder.name] || settings.dataFolder.initial)
  const found = secretNames.filter((name) => !ofProviders.includes(name)).map((name) => ({ name, value: environment[name] }))
  for (const { name, file } of every) if (file) found.push({ name, value: readIfThere(join(dataFolder, file)) })
  return found.flatMap(({ name, value }) => valuesOf(value).map((one) => ({ name, value: one })))
}

/** Returns each key of a list of encryption keys, too. */
function valuesOf(text = ''): string[] {
  return [...new Set([text.trim(), ...text.split(',').map((part) => part.trim())])].filter(({ length }) => length >= minValueLength)
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // The file does not exist, or only the user of the server may read it: then this process cannot reveal it either.
    return undefined
  }
}
