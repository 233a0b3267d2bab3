/**
 * `turnkeep backup`: the embedded database in one file, verified after it is written, and what else must be kept for a restore. Works beside
 * a running server. Never replaces a file, never copies a secret.
 */
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { readConfig, settings } from '../config.ts'
import type { Environment } from '../config.ts'
import { verify } from '../store/cold/invariants.ts'
import { backUp } from '../store/sqlite/sqlite.ts'
import { CommandFailed, causeOf } from './command-failed.ts'
import { helpEnd } from './command-options.ts'

export function define(command: Command, environment: Environment): void {
  helpEnd(command, 'backup /backups/turnkeep-2026-11-21.db')
    .argument('[file]', 'the file to write; it must not exist; default: turnkeep-<time>.db in this folder')
    .option('--json', 'print JSON')
    .action((file: string | undefined, options: { json?: true }) => backUpStore(environment, file, options))
}

async function backUpStore(environment: Environment, given: string | undefined, { json }: { json?: true }): Promise<void> {
  const outcome = readConfig(environment)
  if (outcome.kind === 'problems') throw new CommandFailed(2, outcome.problems.join('\nturnkeep: '))
  const folder = outcome.config.dataFolder
  const file = resolve(given ?? `turnkeep-${new Date().toISOString().replace(/[:.]/g, '-')}.db`)
  if (statSync(file, { throwIfNoEntry: false })) throw refuseExisting(file)
  const progress = process.stderr.isTTY ? showProgress : () => undefined
  const verdicts = await backUp({ folder, file, onProgress: progress }, verify).catch((error: unknown) => {
    throw isExisting(error) ? refuseExisting(file) : new CommandFailed(2, `no backup of ${folder} was made: ${causeOf(error)}`)
  })
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  const { size } = statSync(file)
  const broken = verdicts.filter(({ rows }) => rows.length > 0).map(({ name }) => name)
  const keep = [settings.encryptionKeys, settings.adminToken].map(({ name, file: kept }) =>
    environment[name] ? { secret: name, where: 'environment' } : { secret: kept, where: join(folder, kept) },
  )
  if (json) {
    console.log(JSON.stringify({ file, bytes: size, ok: broken.length === 0, invariants: verdicts.length, broken, keep }, null, 2))
  } else {
    console.log(`Written: ${file} (${(size / 1024 / 1024).toFixed(1)} MiB, mode 0600)`)
    console.log(
      broken.length === 0
        ? `Verified: all ${verdicts.length} invariants hold in it.`
        : `BROKEN in it, as in the store: ${broken.join(', ')}`,
    )
    console.log('Keep these too, apart from the backup; without the first, the API keys of providers cannot be opened again:')
    for (const { secret, where } of keep) console.log(`  ${where === 'environment' ? `the value of ${secret}` : where}`)
    console.log('To restore: docs/operate/backup-restore.md.')
  }
  if (broken.length > 0) process.exitCode = 1
}

function showProgress({ pages, of }: { pages: number; of: number }): void {
  process.stderr.write(`\rcopied ${Math.floor((pages * 100) / Math.max(1, of))} % of ${of.toLocaleString('en-US')} pages`)
}

const isExisting = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EEXIST'

const refuseExisting = (file: string): CommandFailed =>
  new CommandFailed(2, `${file} is there already (or a .partial of a backup that runs or was killed): nothing was replaced`)
