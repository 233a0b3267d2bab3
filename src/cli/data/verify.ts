/**
 * `turnkeep verify`: checks every invariant of the stored data in one read snapshot, through a read-only connection, with or without a
 * running server. The invariants are in src/store/queries/invariants.ts.
 */
import type { Command } from 'commander'
import type { CommandRun, ExitCode } from '../command-run.ts'
import { verify } from '../../store/queries/invariants.ts'
import type { Verdict } from '../../store/queries/invariants.ts'
import { SchemaRefused } from '../../store/schema-refused.ts'
import { inspectFolder, readSnapshot } from '../../store/sqlite/sqlite.ts'
import type { Sql } from '../../store/sql.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { helpEnd } from '../terminal/command-options.ts'
import { findStore } from './store-address.ts'
import type { StoreAddress } from './store-address.ts'
import { docPage } from '../terminal/doc-page.ts'
import { plainRow, verdictLines } from './verdict-lines.ts'
import { printLine } from '../terminal/print.ts'

export function define(command: Command, run: CommandRun): void {
  helpEnd(command, 'verify')
    .option('--json', 'Print JSON')
    .action(async (options: { json?: true }) => {
      run.exitCode = await verifyStore(run, { json: options.json ?? false })
    })
}

/**
 * Prints the result and returns the exit code: 0 if all invariants hold, otherwise 1. Throws CommandFailed with code 2 if no database can
 * be read.
 */
async function verifyStore(run: CommandRun, { json }: { json: boolean }): Promise<ExitCode> {
  const store = findStore(run.environment)
  const verdicts = await readStore(store, verify).catch((error: unknown) => {
    throw new CommandFailed(2, whyUnread(store, error))
  })
  const broken = verdicts.filter(({ rows }) => rows.length > 0).length
  if (json) printLine(run, JSON.stringify({ ok: broken === 0, invariants: verdicts.map(asJson) }, null, 2))
  else print(run, verdicts, broken)
  return broken === 0 ? 0 : 1
}

/** Returns why the database cannot be read, and what to do about it. */
function whyUnread(store: StoreAddress, error: unknown): string {
  const { shown } = store
  // This message already says what to do.
  if (error instanceof SchemaRefused) return `cannot verify the database at ${shown}: ${error.message}`
  if (store.kind === 'postgres')
    return `cannot verify the database at ${shown}: ${causeOf(error)}\nCheck DATABASE_URL, and that a server of this version has been started on it. npx --no-install turnkeep doctor shows details.`
  const { database } = inspectFolder(store.folder)
  switch (database.kind) {
    case 'absent':
      return `no database in ${shown}: either no server has been started on this folder yet, or TURNKEEP_DATA_DIR is wrong`
    case 'unreadable':
      return `cannot read the database in ${shown}: ${database.reason}\nRun this as the user of the server. If the file is damaged, restore a backup (${docPage('docs/operate/backup-restore.md')}).`
    case 'readable':
      if (typeof database.schema === 'object')
        return `cannot verify the database in ${shown}: a newer version of Turnkeep migrated it (${database.schema.newer}). Use that version.`
      if (database.schema === 'pending')
        return `cannot verify the database in ${shown}: its schema is older than this version of Turnkeep. Start the server once to migrate it.`
      return `cannot verify the database in ${shown}: ${causeOf(error)}`
  }
}

async function readStore<Result>(store: StoreAddress, read: (sql: Sql) => Promise<Result>): Promise<Result> {
  if (store.kind === 'folder') return readSnapshot(store.folder, read)
  const [{ readPostgresSnapshot }, { refuseHalfCopied }] = await Promise.all([
    import('../../store/postgres/postgres.ts'),
    import('../../store/postgres/copy/mark.ts'),
  ])
  return readPostgresSnapshot(store.url, async (sql) => {
    await refuseHalfCopied(sql)
    return read(sql)
  })
}

function print(run: CommandRun, verdicts: Verdict[], broken: number): void {
  for (const line of verdicts.flatMap(verdictLines)) printLine(run, line)
  printLine(run, broken === 0 ? `all ${verdicts.length} invariants hold` : `broken: ${broken} of ${verdicts.length} invariants`)
}

function asJson({ id, name, sentence, rows }: Verdict): object {
  return { id, name, sentence, ok: rows.length === 0, rows: rows.map(plainRow) }
}
