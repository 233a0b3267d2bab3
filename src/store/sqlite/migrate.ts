/**
 * Migrates a database file to the schema of this version: plain .sql files in order, each in one transaction and recorded with its
 * checksum. Refuses a newer schema, and a migration that was changed after it ran. Makes a backup first if there is data to lose.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { SchemaRefused } from '../schema-refused.ts'
import { nameWhole } from '../whole-file.ts'
import { databaseFile } from './database.ts'

export type Migration = { name: string; text: string }

const migrationsFolder = new URL('./migrations/', import.meta.url)

export function readMigrations(): Migration[] {
  const names = readdirSync(migrationsFolder).filter((name) => name.endsWith('.sql'))
  return names.toSorted().map((name) => ({ name, text: readFileSync(new URL(name, migrationsFolder), 'utf8') }))
}

const checksum = (text: string): string => createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex')

/** `folder` is where the backup goes. Undefined for a database in memory. */
export function migrate(db: DatabaseSync, migrations: Migration[], folder: string | undefined): void {
  db.exec('create table if not exists migrations (name text primary key, checksum text not null, applied_at integer not null) strict')
  const applied = db.prepare('select name, checksum from migrations order by name').all() as { name: string; checksum: string }[]
  for (const [index, old] of applied.entries()) {
    const known = migrations[index]
    if (known?.name !== old.name) throw new SchemaRefused(`the database was migrated by a newer Turnkeep (${old.name}); use that version`)
    if (checksum(known.text) !== old.checksum) throw new SchemaRefused(`migration ${old.name} has changed since it was applied`)
  }
  const pending = migrations.slice(applied.length)
  if (pending.length > 0 && applied.length > 0 && folder !== undefined) copyBefore(db, folder, applied.length)
  for (const migration of pending) {
    db.exec('begin immediate')
    try {
      db.exec(migration.text)
      db.prepare('insert into migrations values (?, ?, ?)').run(migration.name, checksum(migration.text), Date.now())
      db.exec('commit')
    } catch (error) {
      if (db.isTransaction) db.exec('rollback')
      throw error
    }
  }
}

/** The copy gets its name when it is complete. What a start that was killed has left of one is replaced. */
function copyBefore(db: DatabaseSync, folder: string, version: number): void {
  const name = `${databaseFile(folder)}.before-${String(version + 1).padStart(4, '0')}`
  const partial = `${name}.partial`
  rmSync(partial, { force: true })
  try {
    db.prepare('vacuum into ?').run(partial)
    nameWhole(partial, `${name}-${Date.now()}`)
  } finally {
    rmSync(partial, { force: true })
  }
}
