/**
 * Copies the database to one file from one snapshot, while servers run and write. PostgreSQL's pg_dump writes it, so pg_restore can read
 * it. The database is only read, and its password is never shown, not even in the process list.
 */
import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { globSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { Sql } from '../sql.ts'
import { makeWhole } from '../whole-file.ts'
import { refuseHalfCopied } from './copy/mark.ts'
import { inspectPostgres } from './postgres.ts'
import { readPostgresSnapshot } from './snapshot.ts'

/** The backup is not possible. The message is one line for the operator. */
export class BackupRefused extends Error {}

export type DumpOptions = {
  url: string
  /** Must not exist. Created with mode 0600, completely or not at all. */
  file: string
  /** Where programs are found, and other variables for pg_dump. */
  environment: Record<string, string | undefined>
  onProgress: (dumped: { tables: number; of: number; table: string }) => void
  /** Called with one line if the file cannot be restored everywhere. */
  onWarning: (line: string) => void
  /** Where PostgreSQL's programs are, in addition to PATH. Set by tests. */
  folders?: string[]
}

/**
 * Calls `check` with the snapshot that is written, and returns its result. The file gets its name only if it was written completely, read
 * back, and `check` did not throw. Throws BackupRefused, StoreUnavailable, SchemaRefused, and the file system's error (EEXIST) if `file`
 * exists.
 */
export async function dumpPostgres<Result>(options: DumpOptions, check: (sql: Sql) => Promise<Result>): Promise<Result> {
  const { url, file, environment, onProgress, onWarning, folders = globSync(usualFolders) } = options
  const { version, pooled, schema } = await inspectPostgres(url)
  if (schema.kind === 'absent') throw new BackupRefused('there is no Turnkeep in that database')
  // pg_dump leaves settings behind on its connection, and the next server that gets this connection from a pooler would have them.
  if (pooled) throw new BackupRefused('a pooler stands before the database: name PostgreSQL itself in DATABASE_URL for a backup')
  const tools = { folder: await findTools(version, { folders, environment, onWarning }), environment }
  return readPostgresSnapshot(url, async (sql) => {
    await refuseHalfCopied(sql)
    const [row] = await sql.all('select pg_export_snapshot() as snapshot, (select count(*) from pg_stat_user_tables) as tables')
    const [snapshot, of] = [String(row!['snapshot']), Number(row!['tables'])]
    return makeWhole(file, async (partial) => {
      const result = await check(sql)
      await dump(tools, { url, file: partial, snapshot }, (tables, table) => onProgress({ tables, of, table }))
      await readBack(tools, partial)
      return result
    })
  })
}

type Tools = { folder: string; environment: Record<string, string | undefined> }

// Where the packages of Debian and Red Hat keep the programs of each version, in addition to PATH.
const usualFolders = ['/usr/lib/postgresql/*/bin', '/usr/pgsql-*/bin']

type ToolsSearch = Pick<DumpOptions, 'environment' | 'onWarning'> & { folders: string[] }

/** Returns the folder of the programs. */
async function findTools(version: number, { folders: usual, environment, onWarning }: ToolsSearch): Promise<string> {
  const folders = new Set([...(environment['PATH'] ?? '').split(delimiter).filter(Boolean), ...usual])
  const found = await Promise.all(
    [...folders].map(async (folder) => ({ folder, version: await versionOf(join(folder, 'pg_dump'), environment) })),
  )
  const { folder, warning } = chooseTools(found, version)
  if (warning !== undefined) onWarning(warning)
  return folder
}

// From this version on, pg_dump writes archives that older programs cannot read, and pg_restore sends a setting (transaction_timeout) that
// older servers refuse.
const incompatibleFrom = 17

/**
 * The oldest pg_dump that supports the server (`version` 0: none can be run), because a restore needs a pg_restore that is as new. One that
 * is older than the server refuses to run. Throws BackupRefused.
 */
export function chooseTools(found: { folder: string; version: number }[], server: number): { folder: string; warning?: string } {
  const install = `install the client programs of PostgreSQL ${server} (Debian: postgresql-client-${server})`
  const sorted = found.filter(({ version }) => version > 0).toSorted((a, b) => a.version - b.version)
  const newest = sorted.at(-1)
  if (!newest) throw new BackupRefused(`pg_dump was not found: ${install}`)
  const chosen = sorted.find(({ version }) => version >= server)
  if (!chosen) throw new BackupRefused(`pg_dump ${newest.version} is older than the database: ${install}`)
  const { folder, version } = chosen
  if (server >= incompatibleFrom || version < incompatibleFrom) return { folder }
  return {
    folder,
    warning: `the backup cannot be restored into PostgreSQL ${server}, because pg_dump ${version} writes it: ${install} and back up again, or restore into PostgreSQL ${incompatibleFrom} or newer`,
  }
}

/** 0 if no pg_dump can be run. */
async function versionOf(program: string, environment: Tools['environment']): Promise<number> {
  try {
    const { stdout } = await promisify(execFile)(program, ['--version'], { env: environment })
    return Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1] ?? 0)
  } catch {
    // Not installed, or not for this machine: try the next one.
    return 0
  }
}

type Dump = { url: string; file: string; snapshot: string }

async function dump(
  { folder, environment }: Tools,
  { url, file, snapshot }: Dump,
  onTable: (tables: number, table: string) => void,
): Promise<void> {
  const { address, password } = withoutPassword(url)
  const env = { ...environment, ...(password === undefined ? {} : { PGPASSWORD: password }), LC_ALL: 'C' }
  // A rate window lasts a minute, so it is not restored.
  const what = [`--snapshot=${snapshot}`, '--exclude-table-data=rate_windows', `--dbname=${address}`]
  const how = ['--format=custom', `--file=${file}`, '--no-password', '--verbose']
  const child = spawn(join(folder, 'pg_dump'), [...how, ...what], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let tables = 0
  let last = ''
  createInterface({ input: child.stderr }).on('line', (line) => {
    last = line
    const table = /dumping contents of table "(?:public\.)?(.+)"/.exec(line)?.[1]
    if (table !== undefined) onTable(++tables, table)
  })
  await ended(child, () => `pg_dump ended without a backup: ${last.replace(/^pg_dump: (error: |detail: )?/, '')}${certificateHelp(last)}`)
}

/** Node contains root certificates, and pg_dump reads them from a file. */
const certificateHelp = (line: string): string =>
  /certificate verif/i.test(line)
    ? ' (pg_dump reads root certificates from a file: add sslrootcert=/etc/ssl/certs/ca-certificates.crt to DATABASE_URL; see docs/operate/postgresql.md)'
    : ''

/** Unpacks everything, because an archive without its end is useless. */
async function readBack({ folder, environment }: Tools, file: string): Promise<void> {
  const child = spawn(join(folder, 'pg_restore'), ['--file=-', file], { env: environment, stdio: 'ignore' })
  await ended(child, () => 'what was written cannot be read back')
}

function ended(child: ChildProcess, reason: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve() : reject(new BackupRefused(reason()))))
  })
}

/** The URL in the form that PostgreSQL's own programs accept: they know fewer query parameters than the driver. */
function withoutPassword(url: string): { address: string; password: string | undefined } {
  const address = new URL(url)
  const password = address.searchParams.get('password') ?? (address.password === '' ? undefined : decodeURIComponent(address.password))
  address.password = ''
  if (['true', '1'].includes(address.searchParams.get('ssl') ?? '') || address.searchParams.get('sslmode') === 'no-verify')
    address.searchParams.set('sslmode', 'require')
  for (const ours of ['password', 'ssl', 'uselibpqcompat']) address.searchParams.delete(ours)
  return { address: String(address), password }
}
