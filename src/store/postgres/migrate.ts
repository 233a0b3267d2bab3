/**
 * Migrates a database to the schema of this version: plain .sql files in order, each in one transaction and all with one lock, so that any
 * number of processes may start at the same time. Migrations only add, so an older version keeps running next to a newer one. A rare
 * migration that removes something has `-- contract` in its first line, and a version that does not know it is refused.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { SchemaRefused } from '../schema-refused.ts'
import type { Connection } from './connections.ts'

export type Migration = { name: string; text: string }

/** `pending`: the next start migrates it. `newer`: a migration that this version does not know; it may be compatible or not. */
export type SchemaState = { kind: 'fits' } | { kind: 'pending'; names: string[] } | { kind: 'newer'; names: string[]; refused: boolean }

const migrationsFolder = new URL('./migrations/', import.meta.url)
// One lock for all processes that migrate this database. The number has no meaning.
const migrating = 7_264_010

export function readMigrations(): Migration[] {
  const names = readdirSync(migrationsFolder).filter((name) => name.endsWith('.sql'))
  return names.toSorted().map((name) => ({ name, text: readFileSync(new URL(name, migrationsFolder), 'utf8') }))
}

const checksum = (text: string): string => createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex')
const isContract = (text: string): boolean => text.startsWith('-- contract')

/** Throws SchemaRefused. Returns the names of compatible migrations that this version does not know. */
export async function migrate(connection: Connection, migrations: Migration[]): Promise<string[]> {
  for (;;) {
    // A process that freezes here must not block the starts of others for hours. A long statement is not idle.
    await connection.query(`begin; set local idle_in_transaction_session_timeout = 15000; select pg_advisory_xact_lock(${migrating})`)
    await connection.query(`create table if not exists migrations (
      name text collate "C" primary key, checksum text not null, contract boolean not null, applied_at bigint not null)`)
    const state = await readState(connection, migrations)
    const next = state.kind === 'pending' ? migrations.find(({ name }) => name === state.names[0]) : undefined
    if (next) {
      await connection.query(next.text)
      await connection.query(
        `insert into migrations (name, checksum, contract, applied_at)
         values ($1, $2, $3, floor(extract(epoch from clock_timestamp()) * 1000)::bigint)`,
        [next.name, checksum(next.text), isContract(next.text)],
      )
    }
    await connection.query('commit')
    if (state.kind === 'newer') {
      if (!state.refused) return state.names
      throw new SchemaRefused(`the database was migrated by a newer Turnkeep (${state.names[0]}); use that version`)
    }
    if (!next) return []
  }
}

/** Throws SchemaRefused if a migration was changed after it ran. Read-only. The table of migrations must exist. */
export async function readState(connection: Connection, migrations: Migration[]): Promise<SchemaState> {
  const { rows } = await connection.query('select name, checksum, contract from migrations order by name')
  const applied = new Map<string, string>(rows.map((row) => [row.name, row.checksum]))
  for (const { name, text } of migrations) {
    const old = applied.get(name)
    if (old !== undefined && old !== checksum(text)) throw new SchemaRefused(`migration ${name} has changed since it was applied`)
  }
  const known = new Set(migrations.map(({ name }) => name))
  const newer = rows.filter((row) => !known.has(row.name))
  const pending = migrations.filter(({ name }) => !applied.has(name)).map(({ name }) => name)
  if (newer.some((row) => row.contract === 1n)) return { kind: 'newer', names: newer.map((row) => row.name), refused: true }
  if (pending.length > 0) return { kind: 'pending', names: pending }
  return newer.length > 0 ? { kind: 'newer', names: newer.map((row) => row.name), refused: false } : { kind: 'fits' }
}
