/**
 * The source of a copy: the embedded store, read in one snapshot while no server may use its folder. No row of it is changed, so it can
 * still be used afterwards.
 */
import { existsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { verify } from '../../queries/invariants.ts'
import type { Verdict } from '../../queries/invariants.ts'
import { databaseFile, openForReading, sqlOf } from '../../sqlite/database.ts'
import { inspectFolder } from '../../sqlite/inspect.ts'
import { lockFolder } from '../../sqlite/lock.ts'
import type { Row, Sql, SqlValue } from '../../sql.ts'
import { afterKey, createDigest, keyValues, lineOf, readTables, sourceColumn } from './tables.ts'
import type { Digest, Table } from './tables.ts'
import { openIndex } from './words.ts'

/** The copy is not possible. The message is one line for the operator. */
export class CopyRefused extends Error {}

export type CopySource = {
  readonly tables: Table[]
  readonly sql: Sql
  count(table: Table): number
  /** A digest of every row as it will be in the copy. */
  digest(table: Table, onRows: (rows: number) => void): Digest
  /** Returns the rows in key order, starting after the given key. A chunk includes the words that find it. */
  rows(table: Table, after: string | null): Iterable<Row>
  verify(): Promise<Verdict[]>
  close(): void
}

const rowsATell = 1_000

/** Holds the folder until `close()`. Throws CopyRefused, FolderInUse, StoreUnavailable. */
export async function openCopySource(folder: string): Promise<CopySource> {
  if (!existsSync(databaseFile(folder)))
    throw new CopyRefused(`there is no database in ${folder}; TURNKEEP_DATA_DIR names the folder to copy`)
  const lock = lockFolder(folder)
  try {
    refuseOtherSchema(folder)
    return await readFolder(openForReading(folder), lock)
  } catch (error) {
    lock.close()
    throw error
  }
}

function refuseOtherSchema(folder: string): void {
  const { database } = inspectFolder(folder)
  if (database.kind !== 'readable') throw new CopyRefused(`the database in ${folder} cannot be read`)
  if (database.schema === 'pending')
    throw new CopyRefused(`the database in ${folder} is of an older Turnkeep: start this version on it once, stop it, then copy`)
  if (database.schema !== 'fits')
    throw new CopyRefused(`the database in ${folder} was migrated by a newer Turnkeep (${database.schema.newer}); copy with that version`)
}

async function readFolder(db: DatabaseSync, lock: { close(): void }): Promise<CopySource> {
  const findWords = openIndex(db)
  db.exec('begin')
  const sql = sqlOf(db, Date.now)
  const each = (text: string, values: SqlValue[]): Iterable<Row> =>
    db.prepare(text).iterate(Object.fromEntries(values.map((value, index) => [`${index + 1}`, value]))) as Iterable<Row>
  return {
    tables: await readTables(sql),
    sql,
    count: ({ name }) => Number(db.prepare(`select count(*) as n from ${name}`).get()!['n']),
    digest(table, onRows) {
      const digest = createDigest()
      let unreported = 0
      // As bytes: a text is compared by the bytes in the file, not by its decoded form.
      const line = `cast(${lineOf(table, 'sqlite')} as blob)`
      for (const row of each(`select ${line} as line from ${table.name} ${afterKey(table, 'sqlite', false)}`, [])) {
        digest.add(row['line'] as Uint8Array)
        if (++unreported < rowsATell) continue
        onRows(unreported)
        unreported = 0
      }
      onRows(unreported)
      return digest.end()
    },
    *rows(table, after) {
      const columns = table.columns.map((column) => `${sourceColumn(table.name, column)} as ${column.name}`).join(', ')
      const text = `select ${columns} from ${table.name} ${afterKey(table, 'sqlite', after !== null)}`
      for (const row of each(text, after === null ? [] : keyValues(table, after)))
        yield table.name === 'chunks' ? { ...row, ...findWords(row) } : row
    },
    verify: () => verify(sql),
    close() {
      db.close()
      lock.close()
    },
  }
}
