/**
 * `turnkeep backup`: writes the database to one file, verifies it, and lists what else a restore needs. Works while servers run. Never
 * replaces an existing file and never copies a secret.
 */
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { settings } from '../../config/config.ts'
import { verify } from '../../store/queries/invariants.ts'
import type { Verdict } from '../../store/queries/invariants.ts'
import { backUp, inspectFolder } from '../../store/sqlite/sqlite.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { helpEnd } from '../terminal/command-options.ts'
import { showProgress } from './progress.ts'
import type { Progress } from './progress.ts'
import { findFolder, findStore } from './store-address.ts'
import type { StoreAddress } from './store-address.ts'
import { docPage } from '../terminal/doc-page.ts'
import { verdictLines } from './verdict-lines.ts'
import { printLine, tell } from '../terminal/print.ts'

export function define(command: Command, run: CommandRun): void {
  helpEnd(command, 'backup /backups/turnkeep-2026-11-21.db')
    .argument('[file]', 'File to write, which must not exist (default: turnkeep-<time>.db in this folder, .dump with PostgreSQL)')
    .option('--json', 'Print JSON')
    .action((file: string | undefined, options: { json?: true }) => backUpStore(run, file, options))
}

async function backUpStore(run: CommandRun, given: string | undefined, { json }: { json?: true }): Promise<void> {
  const { environment } = run
  const store = findStore(environment)
  const ending = store.kind === 'folder' ? 'db' : 'dump'
  const file = resolve(given ?? `turnkeep-${new Date().toISOString().replace(/[:.]/g, '-')}.${ending}`)
  if (statSync(file, { throwIfNoEntry: false })) throw refuseExisting(file)
  if (store.kind === 'folder') refuseWithoutDatabase(store.folder)
  const verdicts = await writeBackup(run, store, file).catch((error: unknown) => {
    throw isExisting(error) ? refuseExisting(file) : new CommandFailed(2, `cannot back up ${store.shown}: ${causeOf(error)}`)
  })
  const { size } = statSync(file)
  const broken = verdicts.filter(({ rows }) => rows.length > 0)
  const folder = findFolder(environment)
  const keep = [settings.encryptionKeys, settings.adminToken].map(({ name, file: kept }) =>
    environment[name] || store.kind === 'postgres' ? { secret: name, where: 'environment' } : { secret: kept, where: join(folder, kept) },
  )
  if (json) {
    const names = broken.map(({ name }) => name)
    printLine(run, JSON.stringify({ file, bytes: size, ok: names.length === 0, invariants: verdicts.length, broken: names, keep }, null, 2))
  } else {
    printLine(run, `Wrote ${file} (${(size / 1024 / 1024).toFixed(1)} MiB, mode 0600)`)
    printLine(
      run,
      broken.length === 0
        ? `Verified: all ${verdicts.length} invariants hold in the backup.`
        : `${broken.length} of ${verdicts.length} invariants are broken, in the backup and in the database:`,
    )
    for (const line of broken.flatMap(verdictLines)) printLine(run, line)
    printLine(run, 'Also keep these, separate from the backup. Without the first one, the API keys of providers cannot be decrypted:')
    for (const { secret, where } of keep) printLine(run, `  ${where === 'environment' ? `the value of ${secret}` : where}`)
    printLine(run, `How to restore: ${docPage('docs/operate/backup-restore.md')}`)
  }
  if (broken.length > 0) run.exitCode = 1
}

async function writeBackup(run: CommandRun, store: StoreAddress, file: string): Promise<Verdict[]> {
  const progress = run.stderr.isTTY ? showProgress(store.kind === 'folder' ? 'pages' : 'tables', run.stderr) : silent
  const report = (part: string, done: number, of: number): void => progress.tell({ phase: 'copied', part, done, of })
  try {
    if (store.kind === 'folder')
      return await backUp({ folder: store.folder, file, onProgress: ({ pages, of }) => report('', pages, of) }, verify)
    const { dumpPostgres } = await import('../../store/postgres/backup.ts')
    const onProgress = ({ tables, of, table }: { tables: number; of: number; table: string }): void => report(table, tables, of)
    const onWarning = (line: string): void => tell(run, `turnkeep: warning: ${line}`)
    return await dumpPostgres({ url: store.url, file, environment: run.environment, onProgress, onWarning }, verify)
  } finally {
    progress.end()
  }
}

/** SQLite would only report that it cannot open a file. */
function refuseWithoutDatabase(folder: string): void {
  const { database } = inspectFolder(folder)
  if (database.kind === 'absent')
    throw new CommandFailed(
      2,
      `cannot back up ${folder}: it has no database. Set TURNKEEP_DATA_DIR to the data folder of the server, or DATABASE_URL if it uses PostgreSQL.`,
    )
}

const silent: Progress = { tell: () => undefined, end: () => undefined }

const isExisting = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EEXIST'

const refuseExisting = (file: string): CommandFailed =>
  new CommandFailed(
    2,
    `cannot back up: ${file} (or its .partial file, from a backup that is running or was killed) exists; no file was replaced`,
  )
