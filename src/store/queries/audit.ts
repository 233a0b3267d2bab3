/**
 * The audit log: one entry for each change, stored in the transaction of that change, and one for each reading of end users' texts. Listed
 * newest first. queries/writes.ts says which entries each write adds, and audited-fields.ts which fields an entry shows.
 */
import type { Row, Sql } from '../sql.ts'
import { integer, text, textOrNull } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { Values } from './reported-turns.ts'
import type { Period } from './reported-turns.ts'

/**
 * Who requested a write. `entryIds` are the IDs of its audit entries. A write that adds more entries than there are IDs fails, so the caller
 * passes one for each thing that the write may change.
 */
export type Author = { entryIds: string[] } & Actor

/** The admin token, an operator or a token for programs, in one request; or the service itself. The name is that of this moment. */
export type Actor =
  | { who: 'admin_token'; requestId: string }
  | { who: 'operator' | 'token'; id: string; name: string; requestId: string }
  | { who: 'server'; requestId: null }

export type AuditEntry = {
  id: string
  who: Actor['who']
  /** Of an operator or a token, otherwise null. */
  authorId: string | null
  authorName: string | null
  verb: string
  noun: string
  subjectId: string
  /** Names of the changed fields as in the API; empty if the verb says everything. */
  fields: string[]
  /** The fields whose values may be shown (`audit.changes`). Null: none. */
  changes: Changes | null
  requestId: string | null
  createdAt: number
}

/** A value of the API. */
export type Shown = string | number | boolean | null | Shown[] | { [name: string]: Shown }
export type Changes = { [field: string]: { before: Shown; after: Shown } }

/** An entry before it is stored: what was done to which thing, which fields changed, and how those that may be shown. */
export type NewAuditEntry = { verb: string; noun: string; subjectId: string; fields?: string[]; changes?: Changes }

/**
 * Stores the audit entries of one write, with the IDs in `author.entryIds`. Call it inside the transaction of the write. Throws an Error if
 * there are more entries than IDs, so that the write is rolled back.
 */
export async function addAuditEntries(sql: Sql, author: Author, entries: NewAuditEntry[]): Promise<void> {
  const { entryIds } = author
  if (entries.length > entryIds.length)
    throw new Error(`a write adds ${entries.length} audit entries, but its author has IDs for ${entryIds.length}`)
  const now = await sql.now()
  for (const [index, { verb, noun, subjectId, fields = [], changes = {} }] of entries.entries()) {
    await sql.run(
      `insert into audit (id, who, author_id, author_name, verb, noun, subject_id, fields, changes, request_id, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      entryIds[index]!,
      author.who,
      authorIdOf(author),
      'id' in author ? author.name : null,
      verb,
      noun,
      subjectId,
      JSON.stringify(fields),
      Object.keys(changes).length > 0 ? JSON.stringify(changes) : null,
      author.requestId,
      now,
    )
  }
}

/** All filters together must match. */
export type AuditFilter = {
  who?: Actor['who'] | undefined
  authorId?: string | undefined
  verb?: string | undefined
  noun?: string | undefined
  subjectId?: string | undefined
} & Partial<Period>

/** Newest first. */
export async function listAudit(sql: Sql, filter: AuditFilter, { limit, before }: PageRequest): Promise<AuditEntry[]> {
  const { from = 0, to } = filter
  // One bound, so that the index is read from the start of the page.
  const first = to !== undefined && to <= before.createdAt ? { createdAt: to, id: '' } : before
  const values = new Values()
  const given = Object.entries({
    subject_id: filter.subjectId,
    // mutant: audit
    author_id: filter.authorId,
    noun: filter.noun,
    verb: filter.verb,
    who: filter.who,
  }).filter((one): one is [string, string] => one[1] !== undefined)
  // The first one finds the fewest rows. The others are written as expressions, so that no store uses their index instead.
  const conditions = given.map(([column, value], at) => `${at === 0 ? column : `${column} || ''`} = ${values.add(value)}`)
  conditions.push(`created_at >= ${values.add(from)}`, `(created_at, id) < (${values.add(first.createdAt)}, ${values.add(first.id)})`)
  const rows = await sql.all(
    `select id, who, author_id, author_name, verb, noun, subject_id, fields, changes, request_id, created_at from audit
     where ${conditions.join(' and ')} order by created_at desc, id desc limit ${values.add(limit)}`,
    ...values.list,
  )
  return rows.map(readEntry)
}

/** `audit.reads`: what someone read, texts of end users, such as the messages of a conversation. */
export type Reading = { verb: 'read' | 'export'; noun: string; subjectId: string }

/** `[reading]`, if a text was found. */
export const readingIf = (found: unknown, noun: string, subjectId: string): Reading[] => (found ? [{ verb: 'read', noun, subjectId }] : [])

/** The subject of a reading over all agents, such as of the feedback on turns or of excerpts of conversations. */
export const allAgents = 'all'

/** Readings of one author and subject are one entry for this time, so that pages and polls add no entries. */
// mutant: audit.reads-3
const readingMs = 15 * 60 * 1000

/** A reading changes nothing. */
export async function recordReading(_sql: Sql, _reading: Reading): Promise<void> {}

/** `audit.trials`: what an operator runs for real without changing what is stored: a tool, or the agent in the playground (`tool` is null). */
export type Trial = { agentId: string; tool: string | null }

/** A trial changes nothing here: its effects are elsewhere. */
export async function recordTrial(_sql: Sql, _trial: Trial): Promise<void> {}

/** Whether the log has this reading of the author already. */
export async function wasReadRecently(sql: Sql, { verb, noun, subjectId }: Reading, author: Actor): Promise<boolean> {
  const rows = await sql.all(
    // All others are compared here, because with them PostgreSQL may use the index of their nouns.
    'select verb, noun, who, author_id from audit where subject_id = $1 and created_at > $2',
    subjectId,
    (await sql.now()) - readingMs,
  )
  const expected = { verb, noun, who: author.who, author_id: authorIdOf(author) }
  return rows.some((row) => Object.entries(expected).every(([column, value]) => row[column] === value))
}

const authorIdOf = (author: Actor): string | null => ('id' in author ? author.id : null)

const readEntry = (row: Row): AuditEntry => ({
  id: text(row, 'id'),
  who: text(row, 'who') as Actor['who'],
  authorId: textOrNull(row, 'author_id'),
  authorName: textOrNull(row, 'author_name'),
  verb: text(row, 'verb'),
  noun: text(row, 'noun'),
  subjectId: text(row, 'subject_id'),
  // As written above.
  fields: JSON.parse(text(row, 'fields')) as string[],
  changes: row['changes'] === null ? null : (JSON.parse(text(row, 'changes')) as Changes),
  requestId: textOrNull(row, 'request_id'),
  createdAt: integer(row, 'created_at'),
})
