/** The audit log: its list, newest first, and the entries of what is read and tried (`audit.reads`, `audit.trials`). */
import type { Row, Sql } from '../sql.ts'
import { authorIdOf } from './audit.ts'
import type { Actor, Changes, Reading } from './audit.ts'
import { integer, text, textOrNull } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { Values } from './reported-turns.ts'
import type { Period } from './reported-turns.ts'
import { read, serviceRead, write } from './operation.ts'
import { installation, ofAgent, unrestricted } from './scope.ts'

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

/** Readings of one author and subject are one entry for this time, so that pages and polls add no entries. */
// mutant: audit.reads-3
const readingMs = 15 * 60 * 1000

/** A reading changes nothing. */
async function recordReading(_sql: Sql, _reading: Reading): Promise<void> {}

/** `audit.trials`: what an operator runs for real without changing what is stored: a tool, or the agent in the playground (`tool` is null). */
export type Trial = { agentId: string; tool: string | null }

/** A trial changes nothing here: its effects are elsewhere. */
async function recordTrial(_sql: Sql, _trial: Trial): Promise<void> {}

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

export const auditLogReads = {
  listAudit: read(listAudit, { queue: 'report', scope: installation, readings: null }),
  wasReadRecently: serviceRead(wasReadRecently),
}

export const auditLogWrites = {
  // `audit.reads`: its entry is all that it writes. Writes of all processes run one after the other, so two at once add one entry.
  recordReading: write(recordReading, {
    // After the text was found within the scope.
    scope: unrestricted,
    before: (sql, [reading], author) => wasReadRecently(sql, reading, author),
    audit: (_, [reading], isRecent) => (isRecent ? [] : [reading]),
    changesCaches: false,
  }),
  // `audit.trials`, in the same way.
  recordTrial: write(recordTrial, {
    scope: ofAgent(({ agentId }) => agentId, undefined),
    audit: (_, [{ agentId: subjectId, tool }]) => [
      { verb: 'try', noun: 'agent', subjectId, fields: tool === null ? [] : [`tools.${tool}`] },
    ],
    changesCaches: false,
  }),
}
