/**
 * What moves house: every table of the embedded store, in an order in which each finds what it refers to, and how one of its rows is written
 * as a text that is the same on both engines, so that two digests can be compared. Knows no connection.
 */
import { createHash } from 'node:crypto'
import type { Row, Sql, SqlValue } from '../../sql.ts'

export type ColumnType = 'text' | 'integer' | 'blob'
export type Column = { name: string; type: ColumnType }
export type Table = {
  name: string
  columns: Column[]
  /** The primary key, in order: rows are read and digested in it. */
  key: Column[]
}

/** A new table of the embedded store is a line here, or one of those that stay. */
const copiedTables = [
  'owners',
  'providers',
  'agents',
  'agent_versions',
  'api_keys',
  'api_key_secrets',
  'conversations',
  'turns',
  'messages',
  'ledger',
  'journal',
  'knowledge_bases',
  'documents',
  'contents',
  'content_parts',
  'discarded_generations',
  'chunks',
  'chunk_vectors',
  'audit',
]
/** The embedded file's own affairs. The full text is made anew from the chunks; who is signed in signs in again where it moves to. */
const stayingTables = /^(migrations|rebuilds|console_sessions|chunk_terms(_\w+)?|chunk_words|sqlite_\w+)$/

/** The tables as the embedded database has them. Throws where one of them would be left behind. */
export async function readTables(sql: Sql): Promise<Table[]> {
  const present = (await sql.all(`select name from sqlite_master where type = 'table'`)).map(({ name }) => String(name))
  const forgotten = present.filter((name) => !copiedTables.includes(name) && !stayingTables.test(name))
  if (forgotten.length > 0) throw new Error(`a copy would leave behind: ${forgotten.join(', ')}`)
  const tables: Table[] = []
  for (const name of copiedTables) {
    const rows = await sql.all('select name, lower(type) as type, pk from pragma_table_info($1) order by cid', name)
    const columns = rows.map((row) => ({ name: String(row['name']), type: row['type'] as ColumnType }))
    const keyed = rows.map(({ pk }, index) => ({ place: Number(pk), column: columns[index]! })).filter(({ place }) => place > 0)
    tables.push({ name, columns, key: keyed.toSorted((a, b) => a.place - b.place).map(({ column }) => column) })
  }
  return tables
}

/** What a column of the source is in its copy. A running turn arrives as an orphan, for the first process there to recover. */
export function sourceColumn(table: string, { name }: Column): string {
  return table === 'turns' && name === 'lease_until' ? `case when lease_until is null then null else 0 end` : name
}

/** A row's values with the length of each, one after the other: no two rows have the same line. */
export function lineOf({ name, columns }: Table, engine: Sql['engine']): string {
  const parts = columns.map((column) => {
    const value = engine === 'sqlite' ? sourceColumn(name, column) : column.name
    const plain =
      column.type === 'blob' ? (engine === 'sqlite' ? `hex(${value})` : `upper(encode(${value}, 'hex'))`) : `cast(${value} as text)`
    return `case when ${value} is null then '-' else cast(octet_length(${plain}) as text) || ':' || ${plain} end`
  })
  return parts.join(' || ')
}

/** Rows after a key, or from the first one, in the key's order. */
export function afterKey({ key }: Table, engine: Sql['engine'], after: boolean): string {
  const names = key.map(({ name }) => name).join(', ')
  const values = key.map(({ type }, index) => `$${index + 1}${engine === 'postgres' ? `::${postgresTypes[type]}` : ''}`).join(', ')
  return `${after ? `where (${names}) > (${values})` : ''} order by ${names}`
}

export const postgresTypes: Record<ColumnType, string> = { text: 'text', integer: 'bigint', blob: 'bytea' }

/** A row's key as a text that is kept with the progress, and back. */
export function keyText({ key }: Table, row: Row): string {
  return JSON.stringify(key.map(({ name }) => plainText(row[name]!)))
}

export function keyValues({ key }: Table, text: string): SqlValue[] {
  const parts = JSON.parse(text) as string[]
  return key.map(({ type }, index) => {
    const part = parts[index]!
    return type === 'integer' ? BigInt(part) : type === 'blob' ? Buffer.from(part, 'hex') : part
  })
}

const plainText = (value: SqlValue): string => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value))

export type Digest = { rows: number; sha256: string }

/** Adds up lines, in order. */
export function createDigest(): { add(line: string | Uint8Array): void; end(): Digest } {
  const hash = createHash('sha256')
  let rows = 0
  return {
    add(line) {
      hash.update(line)
      hash.update('\n')
      rows++
    },
    end: () => ({ rows, sha256: hash.digest('hex') }),
  }
}

/** Figures that a person knows from the books, beside the digests that already say all. */
export async function readSums(sql: Sql): Promise<Record<string, string>> {
  const [row] = await sql.all(`select
    (select coalesce(sum(balance), 0) from owners) as balances,
    (select coalesce(sum(held), 0) from owners) as held,
    (select coalesce(sum(amount), 0) from ledger) as ledger,
    (select coalesce(sum(written_off), 0) from ledger) as written_off,
    (select coalesce(sum(hold), 0) from turns) as holds,
    (select coalesce(sum(charged), 0) from turns) as charged,
    (select coalesce(sum(prompt_tokens), 0) from turns) as prompt_tokens,
    (select coalesce(sum(completion_tokens), 0) from turns) as completion_tokens,
    (select coalesce(sum(tokens), 0) from messages) as message_tokens`)
  return Object.fromEntries(Object.entries(row!).map(([name, value]) => [name, String(value)]))
}
