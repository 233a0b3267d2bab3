/**
 * `turnkeep copy`: copies everything from the embedded database of the data folder to PostgreSQL and prints the settings to change
 * afterwards. The server of that folder must be stopped. Never prints a secret or the password of the database URL.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { settings } from '../../config/config.ts'
import type { Environment } from '../../config/config.ts'
import { CopyRefused, copyToPostgres } from '../../store/copy.ts'
import type { CopyReport } from '../../store/copy.ts'
import { SchemaRefused } from '../../store/schema-refused.ts'
import { FolderInUse } from '../../store/sqlite/sqlite.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { helpEnd, writeExitCodes } from '../terminal/command-options.ts'
import { showProgress } from './progress.ts'
import { databaseAddress, findFolder } from './store-address.ts'
import { writeCopyNote } from './copy-note.ts'
import { docPage } from '../terminal/doc-page.ts'
import { printLine, tell } from '../terminal/print.ts'

type CopyCommand = { to: string; json?: true }
type ToSet = { setting: string; value: string }

const codes = writeExitCodes(
  'the copy is complete and verified',
  'the copy differs from the source',
  'the copy failed or was interrupted; run it again to continue',
)

export function define(command: Command, run: CommandRun): void {
  helpEnd(command, 'copy --to postgres://turnkeep@db.internal/turnkeep', codes)
    .requiredOption('--to <url>', 'Empty PostgreSQL database; the password can be in PGPASSWORD or ~/.pgpass instead')
    .option('--json', 'Print JSON')
    .action((options: CopyCommand) => copyStore(run, options))
}

async function copyStore(run: CommandRun, { to, json }: CopyCommand): Promise<void> {
  const { environment } = run
  const folder = findFolder(environment)
  const { url, shown } = databaseAddress(to, '--to')
  const startedAt = performance.now()
  const progress = showProgress('rows', run.stderr)
  const report = await copyToPostgres({
    folder,
    url,
    onProgress: ({ phase, table, rows, of }) => progress.tell({ phase, part: table, done: rows, of }),
  })
    .catch((error: unknown) => {
      throw refusal(error, folder, shown)
    })
    .finally(() => progress.end())
  const seconds = (performance.now() - startedAt) / 1000
  if (report.kind !== 'different') noteCopy(run, folder, shown)
  const toSet = whatToSet(environment, folder, shown)
  if (json) printLine(run, JSON.stringify({ ...report, folder, to: shown, seconds: Number(seconds.toFixed(1)), set: toSet }, null, 2))
  else print(run, report, { folder, shown, seconds, toSet })
  if (report.kind === 'different') run.exitCode = 1
}

/** The copy is complete without the note, so a folder that is not writable is no failure. */
function noteCopy(run: CommandRun, folder: string, shown: string): void {
  try {
    writeCopyNote(folder, shown)
  } catch (error) {
    tell(run, `turnkeep: cannot write into ${folder}: ${causeOf(error)}. Move the folder away, or doctor will inspect it.`)
  }
}

function refusal(error: unknown, folder: string, shown: string): CommandFailed {
  if (error instanceof FolderInUse) return new CommandFailed(2, `cannot copy: ${error.message}. Stop that process first.`)
  if (error instanceof CopyRefused || error instanceof SchemaRefused) return new CommandFailed(2, `cannot copy: ${error.message}`)
  const again = 'Run the same command again to continue where it stopped.'
  return new CommandFailed(2, `cannot copy ${folder} to ${shown}: ${causeOf(error)}\n${again}`)
}

function print(
  run: CommandRun,
  report: CopyReport,
  { folder, shown, seconds, toSet }: { folder: string; shown: string; seconds: number; toSet: ToSet[] },
): void {
  const { kind, tables, found, sums, invariants, differences } = report
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  if (kind === 'different') {
    printLine(run, `DIFFERENT: the data in ${shown} does not match ${folder}. No server will start on that database.`)
    for (const { what, source, copy } of differences) printLine(run, `  ${what}\n    source      ${source}\n    copy        ${copy}`)
    printLine(run, 'Something else wrote to that database, or it is damaged. Drop the database, create it again, and repeat the copy.')
    return
  }
  const width = Math.max(...tables.map(({ name }) => name.length))
  for (const table of tables) printLine(run, `${table.name.padEnd(width)}  ${table.rows.toLocaleString('en-US').padStart(12)}`)
  if (kind === 'before') {
    printLine(run, `This copy of ${folder} to ${shown} was already completed and verified. Nothing was changed.`)
  } else {
    if (found > 0) printLine(run, `Continued an interrupted copy, which had copied ${found.toLocaleString('en-US')} rows.`)
    printLine(run, `Copied ${rows.toLocaleString('en-US')} rows in ${seconds.toFixed(1)} s from ${folder} to ${shown}.`)
    printLine(
      run,
      `Verified by reading it back: row counts, ${Object.keys(sums).length} sums, a SHA-256 of every table, and all ${invariants} invariants.`,
    )
  }
  printLine(run, '\nStart every server process with these settings from now on:')
  const names = Math.max(...toSet.map(({ setting }) => setting.length))
  for (const { setting, value } of toSet) printLine(run, `  ${setting.padEnd(names)}  ${value}`)
  printLine(
    run,
    `Then move ${folder} away, so that no server can start on the old data. See ${docPage('docs/operate/migrate-to-postgresql.md')}.`,
  )
}

/** Returns where to find the value of each secret, never the value itself. */
function whatToSet(environment: Environment, folder: string, shown: string): ToSet[] {
  const secrets = [settings.encryptionKeys, settings.adminToken].map(({ name, file }): ToSet => {
    const path = join(folder, file)
    if (environment[name]) return { setting: name, value: 'unchanged: the value in this environment' }
    return { setting: name, value: existsSync(path) ? `the content of ${path}` : `${path} is missing: use the value of the old server` }
  })
  return [{ setting: settings.databaseUrl.name, value: `${shown} (with the password, as given with --to)` }, ...secrets]
}
