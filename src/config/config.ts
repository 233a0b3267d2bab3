/**
 * Every setting: its name in the environment, default, validation and description. Read once by main.ts and by the commands; nothing else
 * reads the environment. Generated secrets are in the data folder (data-folder.ts).
 */
import { resolve } from 'node:path'
import {
  adminToken,
  BadValue,
  baseUrl,
  databaseAddress,
  encryptionKeys,
  failpointSpec,
  host,
  hostPorts,
  onOrOff,
  printable,
  redisAddress,
  visibleAscii,
  wholeNumber,
  withoutPassword,
} from './config-values.ts'
import { misplacedFailpoint } from '../failpoints.ts'
import { nearestWord } from './nearest-word.ts'
import type { Setting } from './setting.ts'
import { incompleteSignIn, signInSettings } from './sign-in-settings.ts'

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

const databaseUrlName = 'DATABASE_URL'
const percentEncoded = 'reserved characters in the password (such as / ? # @) must be percent-encoded as %2F, %3F, %23, %40'

export const settings = {
  port: {
    name: 'PORT',
    initial: '8080',
    meaning: 'Port of the API; 0 picks any free port.',
    ...wholeNumber(0, 65_535),
  },
  host: {
    name: 'TURNKEEP_HOST',
    initial: '127.0.0.1',
    meaning: 'Address to listen on; 0.0.0.0 or :: listens on all addresses.',
    accepted: 'an IP address or a host name',
    read: host,
  },
  publicUrl: {
    name: 'TURNKEEP_PUBLIC_URL',
    meaning: 'Base URL shown in curl examples and in the OpenAPI document; if not set, the address the server listens on.',
    accepted: 'an http or https URL without a query or a fragment',
    read: baseUrl,
  },
  adminPort: {
    name: 'TURNKEEP_ADMIN_PORT',
    meaning: 'Separate port for the admin API, the console and the metrics; if not set, they share PORT.',
    ...wholeNumber(0, 65_535),
  },
  adminHost: {
    name: 'TURNKEEP_ADMIN_HOST',
    initial: '127.0.0.1',
    meaning: 'Address for TURNKEEP_ADMIN_PORT to listen on. On any other than a loopback address, the metrics require the admin token.',
    accepted: 'an IP address or a host name',
    read: host,
  },
  dataFolder: {
    name: 'TURNKEEP_DATA_DIR',
    initial: './.turnkeep',
    meaning: 'Folder of the embedded database and the generated secrets; with DATABASE_URL, only the demo creates it, for its API key.',
    accepted: 'a path',
    read: (text) => (text.includes('\0') ? undefined : resolve(text)),
  },
  databaseUrl: {
    name: databaseUrlName,
    meaning: 'PostgreSQL 15 or newer, used instead of the embedded SQLite database.',
    accepted: `a URL such as postgres://user:password@host:5432/database; ${percentEncoded}`,
    read: databaseAddress,
    secret: true,
    shown: withoutPassword,
  },
  redisUrl: {
    name: 'REDIS_URL',
    meaning: 'Valkey or Redis server for rate limits; if not set, they are kept in memory with SQLite and in the database with PostgreSQL.',
    accepted: `a URL such as redis://user:password@host:6379/0 (or rediss://, valkey://, valkeys://); ${percentEncoded}`,
    read: redisAddress,
    secret: true,
    shown: withoutPassword,
  },
  adminToken: {
    name: 'TURNKEEP_ADMIN_TOKEN',
    meaning:
      'Bearer token of the admin API; generated at the first start if not set; required with DATABASE_URL, the same on every machine.',
    accepted: '16 to 512 visible ASCII characters that are hard to guess',
    read: adminToken,
    secret: true,
    shared: 'required',
    file: 'admin.token',
  },
  adminTokenEnabled: {
    name: 'TURNKEEP_ADMIN_TOKEN_ENABLED',
    initial: 'on',
    meaning: 'Accept the admin token; off: only operators and tokens for programs, see docs/operate/operators.md.',
    accepted: 'on or off',
    read: onOrOff,
  },
  adminRateLimit: {
    name: 'TURNKEEP_ADMIN_RATE_LIMIT',
    initial: '3000',
    meaning: 'Requests of one operator or token to the admin API per minute and process; further ones are answered with 429.',
    ...wholeNumber(60, 10_000_000),
  },
  adminMaxParallel: {
    name: 'TURNKEEP_ADMIN_MAX_PARALLEL',
    initial: '64',
    meaning:
      'Requests of one operator or token to the admin API in progress per process, streams included; further ones are answered with 429.',
    ...wholeNumber(1, 10_000),
  },
  ...signInSettings,
  encryptionKeys: {
    name: 'TURNKEEP_ENCRYPTION_KEY',
    meaning:
      'Keys for the secrets of providers, tools and webhooks: the first encrypts, all decrypt; generated at the first start if not set; required with DATABASE_URL, the same on every machine.',
    accepted: 'a comma-separated list of 32-byte keys in base64',
    read: encryptionKeys,
    secret: true,
    shared: 'required',
    file: 'encryption.key',
  },
  lostSecrets: {
    name: 'TURNKEEP_LOST_SECRETS',
    initial: 'off',
    meaning: 'Start although no stored provider key can be decrypted, because the encryption key is lost; then enter the secrets again.',
    accepted: 'on or off',
    read: onOrOff,
  },
  workers: {
    name: 'TURNKEEP_WORKERS',
    initial: '1',
    meaning: 'Number of server processes on this machine, which share one port; more than 1 requires DATABASE_URL.',
    ...wholeNumber(1, 1_024),
  },
  maxTurns: {
    name: 'TURNKEEP_MAX_TURNS',
    initial: '1000',
    meaning: 'Maximum number of running turns per process, nine tenths of them for one owner; further messages are answered with 503.',
    ...wholeNumber(1, 1_000_000),
  },
  drainSeconds: {
    name: 'TURNKEEP_DRAIN_SECONDS',
    // Just above the 110 s that a whole turn may take, so that a drain interrupts none.
    initial: '115',
    meaning: 'Number of seconds that running turns have to finish after SIGTERM, SIGINT or SIGHUP.',
    ...wholeNumber(0, 3_600),
  },
  retentionDays: {
    name: 'TURNKEEP_RETENTION_DAYS',
    meaning: 'Number of days without a message after which the text of a conversation is erased; if not set, text is kept.',
    ...wholeNumber(1, 36_500),
  },
  traceDays: {
    name: 'TURNKEEP_TRACE_DAYS',
    initial: '14',
    meaning: 'Number of days for which the trace of a turn is stored; 0 stores none.',
    ...wholeNumber(0, 36_500),
  },
  documentCpuMinutes: {
    name: 'TURNKEEP_DOCUMENT_CPU_MINUTES',
    initial: '30',
    meaning: 'CPU minutes in which the documents of one owner are read within an hour; the rest of them wait, and those of others do not.',
    ...wholeNumber(1, 100_000),
  },
  maxQueuedDocuments: {
    name: 'TURNKEEP_MAX_QUEUED_DOCUMENTS',
    initial: '2000',
    meaning: 'Maximum number of documents of one owner that wait to be indexed; further ones are refused until some are indexed.',
    ...wholeNumber(1, 1_000_000),
  },
  demo: {
    name: 'TURNKEEP_DEMO',
    initial: 'on',
    meaning: 'Create an owner, an agent "demo" and an API key at the first start; off by default if DATABASE_URL is set.',
    accepted: 'on or off',
    shared: 'off',
    read: onOrOff,
  },
  logLevel: {
    name: 'TURNKEEP_LOG_LEVEL',
    initial: 'info',
    meaning: 'Minimum level of the log lines written to stderr.',
    accepted: `one of ${logLevels.join(', ')}`,
    read: (text) => logLevels.find((level) => level === text),
  },
  allowedPrivateHosts: {
    name: 'TURNKEEP_ALLOW_PRIVATE_HOSTS',
    initial: '',
    meaning: 'Private host:port pairs that tools, MCP servers and URL documents may reach.',
    accepted: 'a comma-separated list of host:port',
    read: hostPorts,
  },
  openaiApiKey: {
    name: 'OPENAI_API_KEY',
    meaning: 'OpenAI API key; if set at the first start, the demo agent uses an OpenAI model.',
    accepted: 'visible ASCII characters',
    read: visibleAscii,
    secret: true,
  },
  anthropicApiKey: {
    name: 'ANTHROPIC_API_KEY',
    meaning: 'Anthropic API key; if set at the first start without an OpenAI key, the demo agent uses an Anthropic model.',
    accepted: 'visible ASCII characters',
    read: visibleAscii,
    secret: true,
  },
  failpoints: {
    name: 'TURNKEEP_FAILPOINTS',
    initial: '',
    meaning: 'Failpoints for tests; only with NODE_ENV=test.',
    accepted: 'a list of name=kill|throw|drop|delay:<ms>',
    read: failpointSpec,
  },
} as const satisfies Record<string, Setting<unknown>>

type Settings = typeof settings
type ValueOf<S> = S extends { read: (text: string) => infer Value } ? Exclude<Value, undefined> : never

/** All validated settings. A setting that is absent and has no default is undefined. */
export type Config = { [Key in keyof Settings]: ValueOf<Settings[Key]> | (Settings[Key] extends { initial: string } ? never : undefined) }

export type Environment = Record<string, string | undefined>
/** `problems`: one line each, with the setting and the accepted values, and never the value of a secret. */
export type ConfigOutcome = { kind: 'config'; config: Config } | { kind: 'problems'; problems: string[] }

/** Reads the whole environment. An empty value counts as absent. Unknown names that start with TURNKEEP_ are problems, too. */
export function readConfig(environment: Environment): ConfigOutcome {
  const values: Record<string, unknown> = {}
  const problems = unknownNames(environment)
  for (const [key, setting] of Object.entries<Setting<unknown>>(settings)) {
    const text = textOf(setting, environment)
    if (text === undefined) {
      if (setting.shared === 'required' && isShared(environment))
        problems.push(`${setting.name}: must be set with DATABASE_URL, to the same value on every machine`)
      continue
    }
    try {
      values[key] = setting.read(text)
      if (values[key] === undefined) throw new BadValue(`must be ${setting.accepted}${setting.secret ? '' : `, not "${printable(text)}"`}`)
    } catch (error) {
      if (!(error instanceof BadValue)) throw error
      problems.push(`${setting.name}: ${error.message}`)
    }
  }
  if (typeof values['workers'] === 'number' && values['workers'] > 1 && !isShared(environment))
    problems.push('TURNKEEP_WORKERS: more than 1 requires DATABASE_URL; only one process can use the embedded database')
  if (environment[settings.adminHost.name] && values['adminPort'] === undefined)
    problems.push('TURNKEEP_ADMIN_HOST: requires TURNKEEP_ADMIN_PORT; without it the admin API listens on TURNKEEP_HOST')
  if (values['failpoints'] !== '' && environment['NODE_ENV'] !== 'test')
    problems.push('TURNKEEP_FAILPOINTS: can only be set with NODE_ENV=test')
  problems.push(...incompleteSignIn(values))
  const misplaced =
    typeof values['failpoints'] === 'string' && misplacedFailpoint(values['failpoints'], isShared(environment) ? 'postgres' : 'sqlite')
  if (misplaced) problems.push(`TURNKEEP_FAILPOINTS: ${misplaced}`)
  return problems.length > 0 ? { kind: 'problems', problems } : { kind: 'config', config: values as Config }
}

/**
 * The environment for a command that must open the same store: variables of other programs, such as those for certificates, and the
 * settings of the store.
 */
export function storeEnvironment({ dataFolder, databaseUrl }: Config, environment: Environment): Environment {
  const ours: string[] = Object.values(settings).map(({ name }) => name)
  const others = Object.entries(environment).filter(([name]) => !ours.includes(name))
  return { ...Object.fromEntries(others), [settings.dataFolder.name]: dataFolder, [databaseUrlName]: databaseUrl }
}

/** The value that is used if nothing is set, or undefined if the setting has no default. */
export function initialOf({ initial, shared }: Setting<unknown>, environment: Environment): string | undefined {
  return isShared(environment) && shared !== undefined && shared !== 'required' ? shared : initial
}

function textOf(setting: Setting<unknown>, environment: Environment): string | undefined {
  return environment[setting.name] || initialOf(setting, environment)
}

function isShared(environment: Environment): boolean {
  return Boolean(environment[databaseUrlName])
}

function unknownNames(environment: Environment): string[] {
  const known = Object.values(settings).map((setting) => setting.name)
  return Object.keys(environment)
    .filter((name) => name.startsWith('TURNKEEP_') && !known.some((setting) => setting === name))
    .map((name) => {
      // Some settings have names that other programs use, too, without the prefix.
      const unprefixed = name.slice('TURNKEEP_'.length)
      const nearest = known.find((setting) => setting === unprefixed) ?? nearestWord(name, known, 3)
      const hint = nearest === undefined ? 'run npx --no-install turnkeep config for a list of all settings' : `did you mean ${nearest}?`
      return `${printable(name)}: unknown setting; ${hint}`
    })
}
