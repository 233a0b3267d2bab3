/**
 * The tables to copy, in an order in which every row finds the rows that it refers to, and how a row is written as text that is the same on
 * both engines, so that digests can be compared. Does not use a connection.
 */
import { createHash } from 'node:crypto'
import type { Row, Sql, SqlValue } from '../../sql.ts'

export type ColumnType = 'text' | 'integer' | 'blob'
export type Column = { name: string; type: ColumnType }
export type Table = {
  name: string
  columns: Column[]
  /** The primary key. Rows are read and digested in its order. */
  key: Column[]
}

/** A new table of the embedded store needs an entry here or in the list of tables that are not copied. */
const copiedTables = [
  'owners',
  'providers',
  'agents',
  'agent_versions',
  'api_keys',
  'api_key_secrets',
  'end_user_limits',
  'spending',
  'conversations',
  'turns',
  'messages',
  'ledger',
  'journal',
  'turn_errors',
  'traces',
  'feedback',
  'knowledge_bases',
  'documents',
  'contents',
  'content_parts',
  'discarded_generations',
  'indexing_windows',
  'chunks',
  'chunk_vectors',
  'webhooks',
  'events',
  'deliveries',
  'audit',
  'operators',
  'passkeys',
  'admin_tokens',
]
/**
 * Tables that are not copied: internals of the embedded file, the full text, which is built again from the chunks, and sessions and links,
 * so operators sign in again.
 */
const stayingTables = /^(migrations|rebuilds|console_sessions|sign_in_secrets|chunk_terms(_\w+)?|chunk_words|sqlite_\w+)$/

/** The tables of the embedded database. Throws if one of them would not be copied. */
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

/** How a column of the source is written in its copy. A running turn arrives as an orphan, for the first process there to recover. */
export function sourceColumn(table: string, { name }: Column): string {
  return table === 'turns' && name === 'lease_until' ? `case when lease_until is null then null else 0 end` : name
}

/** The values of a row, each with its length, so that no two rows produce the same line. */
export function lineOf({ name, columns }: Table, engine: Sql['engine']): string {
  const parts = columns.map((column) => {
    const value = engine === 'sqlite' ? sourceColumn(name, column) : column.name
    const plain =
      column.type === 'blob' ? (engine === 'sqlite' ? `hex(${value})` : `upper(encode(${value}, 'hex'))`) : `cast(${value} as text)`
    return `case when ${value} is null then '-' else cast(octet_length(${plain}) as text) || ':' || ${plain} end`
  })
  return parts.join(' || ')
}

/** Rows after a key, or from the first one, in the order of the key. */
export function afterKey({ key }: Table, engine: Sql['engine'], after: boolean): string {
  const names = key.map(({ name }) => name).join(', ')
  const values = key.map(({ type }, index) => `$${index + 1}${engine === 'postgres' ? `::${postgresTypes[type]}` : ''}`).join(', ')
  return `${after ? `where (${names}) > (${values})` : ''} order by ${names}`
}

export const postgresTypes: Record<ColumnType, string> = { text: 'text', integer: 'bigint', blob: 'bytea' }

/** Converts a row's key to a text that is stored with the progress, and back. */
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

/** Sums that an operator knows from the books, in addition to the digests. */
export async function readSums(sql: Sql): Promise<Record<string, string>> {
  const [row] = await sql.all(`select
    (select coalesce(sum(balance), 0) from owners) as balances,
    (select coalesce(sum(held), 0) from owners) as held,
    (select coalesce(sum(amount), 0) from ledger) as ledger,
    (select coalesce(sum(written_off), 0) from ledger) as written_off,
    (select coalesce(sum(hold), 0) from turns) as holds,
    (select coalesce(sum(charged), 0) from turns) as charged,
    (select coalesce(sum(tool_calls), 0) from turns) as tool_calls,
    (select coalesce(sum(prompt_tokens), 0) from turns) as prompt_tokens,
    (select coalesce(sum(cached_prompt_tokens), 0) from turns) as cached_prompt_tokens,
    (select coalesce(sum(cache_write_tokens), 0) from turns) as cache_write_tokens,
    (select coalesce(sum(completion_tokens), 0) from turns) as completion_tokens,
    (select coalesce(sum(reasoning_tokens), 0) from turns) as reasoning_tokens,
    (select coalesce(sum(tokens), 0) from messages) as message_tokens`)
  return Object.fromEntries(Object.entries(row!).map(([name, value]) => [name, String(value)]))
}
