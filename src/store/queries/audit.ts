/**
 * The audit log: one entry for each change, stored in the transaction of that change and listed newest first. An entry contains only names
 * and IDs, never a value, a secret or a user's text. queries/writes.ts says which entries each write adds.
 */
import type { Row, Sql } from '../sql.ts'
import type { AgentContent } from './agents.ts'
import { integer, text, textOrNull } from './columns.ts'
import type { PageRequest } from './paging.ts'

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
  /** Names of the changed fields in snake case; empty if the verb says everything. */
  fields: string[]
  requestId: string | null
  createdAt: number
}

/** An entry before it is stored: what was done to which row, and the stored names of the fields that changed. */
export type NewAuditEntry = { verb: string; noun: string; subjectId: string; fields: string[] }

/**
 * Stores the audit entries of one write, with the IDs in `author.entryIds`. Call it inside the transaction of the write. Throws an Error if
 * there are more entries than IDs, so that the write is rolled back.
 */
export async function addAuditEntries(sql: Sql, author: Author, entries: NewAuditEntry[]): Promise<void> {
  const { entryIds } = author
  if (entries.length > entryIds.length)
    throw new Error(`a write adds ${entries.length} audit entries, but its author has IDs for ${entryIds.length}`)
  const now = await sql.now()
  for (const [index, { verb, noun, subjectId, fields }] of entries.entries()) {
    await sql.run(
      `insert into audit (id, who, author_id, author_name, verb, noun, subject_id, fields, request_id, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      entryIds[index]!,
      author.who,
      'id' in author ? author.id : null,
      'id' in author ? author.name : null,
      verb,
      noun,
      subjectId,
      JSON.stringify([...new Set(fields.map(shownName))]),
      author.requestId,
      now,
    )
  }
}

/** Newest first. */
export async function listAudit(sql: Sql, { limit, before }: PageRequest): Promise<AuditEntry[]> {
  const rows = await sql.all(
    `select id, who, author_id, author_name, verb, noun, subject_id, fields, request_id, created_at from audit
     where (created_at, id) < ($1, $2) order by created_at desc, id desc limit $3`,
    before.createdAt,
    before.id,
    limit,
  )
  return rows.map(readEntry)
}

const readEntry = (row: Row): AuditEntry => ({
  id: text(row, 'id'),
  who: text(row, 'who') as Actor['who'],
  authorId: textOrNull(row, 'author_id'),
  authorName: textOrNull(row, 'author_name'),
  verb: text(row, 'verb'),
  noun: text(row, 'noun'),
  subjectId: text(row, 'subject_id'),
  fields: JSON.parse(text(row, 'fields')) as string[],
  requestId: textOrNull(row, 'request_id'),
  createdAt: integer(row, 'created_at'),
})

/**
 * The names of the fields that differ between two versions, with the fields of the config listed individually. Derived fields are omitted.
 */
export function differingFields(before: AgentContent, after: AgentContent): string[] {
  const flat = ({ config, name, model, price, historyMaxTokens, maxOutputTokens, maxMessageLength }: AgentContent) => ({
    name,
    model,
    price: `${price.promptPerMillion} ${price.completionPerMillion}`,
    history: historyMaxTokens,
    maxOutputTokens,
    maxMessageLength,
    ...(JSON.parse(config) as Record<string, unknown>),
  })
  const [old, fresh] = [flat(before) as Record<string, unknown>, flat(after) as Record<string, unknown>]
  return [...new Set([...Object.keys(old), ...Object.keys(fresh)])].filter(
    (name) => JSON.stringify(old[name]) !== JSON.stringify(fresh[name]),
  )
}

/** Stored names that differ from the names in the API. */
const operatorsWords: Record<string, string> = {
  sealedApiKey: 'api_key',
  lowBalance: 'low_balance_usd',
  rateLimit: 'rate_limit',
  rateWindowSeconds: 'rate_limit',
  historyMaxTokens: 'history',
}
const shownName = (name: string): string => operatorsWords[name] ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
