/**
 * Entries of the audit log: one for each change, stored in the transaction of that change, and one for each reading of end users' texts. Each
 * write declares its entries, and audited-fields.ts has what an entry shows. audit-log.ts reads them.
 */
import type { Sql } from '../sql.ts'

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

/** `audit.reads`: what someone read, texts of end users, such as the messages of a conversation. */
export type Reading = { verb: 'read' | 'export'; noun: string; subjectId: string }

/** `[reading]`, if a text was found. */
export const readingIf = (found: unknown, noun: string, subjectId: string): Reading[] => (found ? [{ verb: 'read', noun, subjectId }] : [])

/** The subject of a reading over all agents, such as of the feedback on turns or of excerpts of conversations. */
export const allAgents = 'all'

export const authorIdOf = (author: Actor): string | null => ('id' in author ? author.id : null)
