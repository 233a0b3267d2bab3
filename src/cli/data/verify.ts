/**
 * `turnkeep verify`: every invariant of the stored data as one read snapshot sees it, through a connection that cannot write, so beside a
 * running server or without one. The invariants themselves are the store's.
 */
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { maxRows, verify } from '../../store/queries/invariants.ts'
import type { Verdict } from '../../store/queries/invariants.ts'
import { SchemaRefused } from '../../store/schema-refused.ts'
import { inspectFolder, readSnapshot } from '../../store/sqlite/sqlite.ts'
import type { Row, Sql } from '../../store/sql.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { helpEnd } from '../terminal/command-options.ts'
import { findStore } from './store-address.ts'
import type { StoreAddress } from './store-address.ts'

export function define(command: Command, environment: Environment): void {
  helpEnd(command, 'verify')
    .option('--json', 'print JSON')
    .action(async (options: { json?: true }) => {
      process.exitCode = await verifyStore(environment, { json: options.json ?? false })
    })
}

/** Prints the verdicts; answers the exit code: 0 all hold, 1 one is broken. Throws CommandFailed with code 2 where there is nothing to check. */
async function verifyStore(environment: Environment, { json }: { json: boolean }): Promise<number> {
  const store = findStore(environment)
  const verdicts = await readStore(store, verify).catch((error: unknown) => {
    throw new CommandFailed(2, whyUnread(store, error))
  })
  const broken = verdicts.filter(({ rows }) => rows.length > 0).length
  if (json) console.log(JSON.stringify({ ok: broken === 0, invariants: verdicts.map(asJson) }, null, 2))
  else print(verdicts, broken)
  return broken === 0 ? 0 : 1
}

/** What is the matter, and what to do about it. */
function whyUnread(store: StoreAddress, error: unknown): string {
  const { shown } = store
  // It says what to do.
  if (error instanceof SchemaRefused) return `the database at ${shown} cannot be checked: ${error.message}`
  if (store.kind === 'postgres')
    return `the database at ${shown} cannot be checked: ${causeOf(error)}\nIs it the right DATABASE_URL, and has a server of this version been started on it? npx turnkeep doctor looks closer.`
  const { database } = inspectFolder(store.folder)
  switch (database.kind) {
    case 'absent':
      return `there is no database in ${shown}: no server has been started on this folder yet, or TURNKEEP_DATA_DIR should name another one`
    case 'unreadable':
      return `the database in ${shown} cannot be read: ${database.reason}\nRun this as the server’s user; a damaged file is replaced by a backup (docs/operate/backup-restore.md).`
    case 'readable':
      if (typeof database.schema === 'object')
        return `the database in ${shown} was migrated by a newer Turnkeep (${database.schema.newer}): check it with that version`
      if (database.schema === 'pending')
        return `the database in ${shown} is older than this Turnkeep: start the server once, which migrates it`
      return `the database in ${shown} cannot be checked: ${causeOf(error)}`
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

function print(verdicts: Verdict[], broken: number): void {
  const width = Math.max(...verdicts.map(({ name }) => name.length))
  for (const { id, name, sentence, rows } of verdicts) {
    console.log(`${rows.length === 0 ? 'ok    ' : 'BROKEN'}  ${id.padEnd(3)}  ${name.padEnd(width)}  ${sentence}`)
    for (const row of rows) console.log(`        ${JSON.stringify(plain(row))}`)
    if (rows.length === maxRows) console.log(`        only the first ${maxRows} rows are shown`)
  }
  console.log(broken === 0 ? `all ${verdicts.length} invariants hold` : `broken: ${broken} of ${verdicts.length} invariants`)
}

function asJson({ id, name, sentence, rows }: Verdict): object {
  return { id, name, sentence, ok: rows.length === 0, rows: rows.map(plain) }
}

/** Amounts may pass what a JSON number holds exactly, so every integer is a decimal string. */
function plain(row: Row): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? value.toString() : value]))
}
