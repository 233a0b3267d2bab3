/**
 * `turnkeep copy`: everything from the data folder's embedded database into PostgreSQL, and what to set afterwards. The server of that folder
 * must be stopped. Never prints a secret or the address's password.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { settings } from '../../config/config.ts'
import type { Environment } from '../../config/config.ts'
import { CopyRefused, copyHouse } from '../../store/copy.ts'
import type { CopyReport } from '../../store/copy.ts'
import { SchemaRefused } from '../../store/schema-refused.ts'
import { FolderInUse } from '../../store/sqlite/sqlite.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { helpEnd, writeExitCodes } from '../terminal/command-options.ts'
import { showProgress } from './progress.ts'
import { databaseAddress, findFolder } from './store-address.ts'

type CopyCommand = { to: string; json?: true }
type ToSet = { setting: string; value: string }

const codes = writeExitCodes(
  'all of it is there, proven',
  'what arrived differs',
  'it could not be done; where it was stopped, run it again',
)

export function define(command: Command, environment: Environment): void {
  helpEnd(command, 'copy --to postgres://turnkeep@db.internal/turnkeep', codes)
    .requiredOption('--to <address>', 'the empty PostgreSQL database; its password may stand in PGPASSWORD or ~/.pgpass instead')
    .option('--json', 'print JSON')
    .action((options: CopyCommand) => copyStore(environment, options))
}

async function copyStore(environment: Environment, { to, json }: CopyCommand): Promise<void> {
  const folder = findFolder(environment)
  const { url, shown } = databaseAddress(to, '--to')
  const startedAt = performance.now()
  const progress = showProgress('rows')
  const report = await copyHouse({
    folder,
    url,
    onProgress: ({ phase, table, rows, of }) => progress.tell({ phase, part: table, done: rows, of }),
  })
    .catch((error: unknown) => {
      throw refusal(error, folder, shown)
    })
    .finally(() => progress.end())
  const seconds = (performance.now() - startedAt) / 1000
  const toSet = whatToSet(environment, folder, shown)
  if (json) console.log(JSON.stringify({ ...report, folder, to: shown, seconds: Number(seconds.toFixed(1)), set: toSet }, null, 2))
  else print(report, { folder, shown, seconds, toSet })
  if (report.kind === 'different') process.exitCode = 1
}

function refusal(error: unknown, folder: string, shown: string): CommandFailed {
  if (error instanceof FolderInUse) return new CommandFailed(2, `${error.message}: stop it first, so that nothing happens there meanwhile`)
  if (error instanceof CopyRefused || error instanceof SchemaRefused) return new CommandFailed(2, `nothing was copied: ${error.message}`)
  const again = 'What has arrived stays; the same command goes on where this one stood.'
  return new CommandFailed(2, `the copy of ${folder} to ${shown} stopped: ${causeOf(error)}\n${again}`)
}

function print(
  report: CopyReport,
  { folder, shown, seconds, toSet }: { folder: string; shown: string; seconds: number; toSet: ToSet[] },
): void {
  const { kind, tables, found, sums, invariants, differences } = report
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  if (kind === 'different') {
    console.log(`DIFFERENT: what arrived in ${shown} is not what is in ${folder}. No server will start on it.`)
    for (const { what, source, copy } of differences)
      console.log(`  ${what}\n    in the folder      ${source}\n    in the database    ${copy}`)
    console.log('Something else wrote to that database, or it is damaged. Drop it, create it again, and copy anew.')
    return
  }
  const width = Math.max(...tables.map(({ name }) => name.length))
  for (const table of tables) console.log(`${table.name.padEnd(width)}  ${table.rows.toLocaleString('en-US').padStart(12)}`)
  if (kind === 'before') {
    console.log(`This very copy of ${folder} to ${shown} was finished and verified before; nothing was done now.`)
  } else {
    if (found > 0) console.log(`${found.toLocaleString('en-US')} rows were there from a run that was stopped; this one went on.`)
    console.log(`Copied ${rows.toLocaleString('en-US')} rows in ${seconds.toFixed(1)} s from ${folder} to ${shown}.`)
    console.log(
      `Verified, read back from there: every count, ${Object.keys(sums).length} sums, a SHA-256 of every table, all ${invariants} invariants.`,
    )
  }
  console.log('\nFrom now on start every server process with these settings:')
  const names = Math.max(...toSet.map(({ setting }) => setting.length))
  for (const { setting, value } of toSet) console.log(`  ${setting.padEnd(names)}  ${value}`)
  console.log(`Then put ${folder} away, so that no server is started on the old data again: docs/operate/moving-house.md.`)
}

/** Where each secret is, never what it is. */
function whatToSet(environment: Environment, folder: string, shown: string): ToSet[] {
  const secrets = [settings.encryptionKeys, settings.adminToken].map(({ name, file }): ToSet => {
    const path = join(folder, file)
    if (environment[name]) return { setting: name, value: 'the value of this environment, as before' }
    return { setting: name, value: existsSync(path) ? `what ${path} holds` : `${path} is missing: the value of the former server` }
  })
  return [{ setting: settings.databaseUrl.name, value: `${shown}, as --to was given` }, ...secrets]
}
