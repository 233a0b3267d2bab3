/**
 * The audit: one line for each change, written in the transaction that made it, read newest first. Holds names and ids alone, never a value:
 * no secret and no text of anybody. `lines` says of every cold write what its line is; a write that has none is listed too, on purpose.
 */
import type { Row, Sql } from '../sql.ts'
import { agentVersion } from './agents.ts'
import type { AgentContent } from './agents.ts'
import { integer, text, textOrNull } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { writes } from './writes.ts'
import type { Writes } from './writes.ts'

/** Who asked for a write. `lineIds` are the ids of its lines: one, or one for each of the things that the write changes. */
export type Author = { lineIds: string[] } & ({ who: 'admin'; requestId: string } | { who: 'server'; requestId: null })

export type AuditLine = {
  id: string
  who: 'admin' | 'server'
  verb: string
  noun: string
  subjectId: string
  /** Names of what was changed, in snake case; empty where the verb says it all. */
  fields: string[]
  requestId: string | null
  createdAt: number
}

type Line = { verb: string; noun: string; subjectId: string; fields?: string[] }
type Tail<Operation> = Operation extends (sql: Sql, ...args: infer Rest) => unknown ? Rest : never
type Describe<Name extends keyof Writes> = (
  result: Awaited<ReturnType<Writes[Name]>>,
  args: Tail<Writes[Name]>,
  sql: Sql,
) => Line[] | Promise<Line[]>

const nothing: Line[] = []

const lines: { [Name in keyof Writes]: Describe<Name> | null } = {
  createOwner: (owner) => [{ verb: 'create', noun: 'owner', subjectId: owner.id }],
  renameOwner: (owner) => (owner ? [{ verb: 'change', noun: 'owner', subjectId: owner.id, fields: ['name'] }] : nothing),
  // The same key again answers the first call's entry, and changes nothing.
  appendLedgerEntry: (outcome, [given]) =>
    outcome.kind === 'appended' && outcome.entry.id === given.id
      ? [{ verb: 'append', noun: 'ledger_entry', subjectId: outcome.entry.id }]
      : nothing,
  createProvider: (provider) => (provider ? [{ verb: 'create', noun: 'provider', subjectId: provider.id }] : nothing),
  changeProvider: (outcome, [id, change]) =>
    outcome.kind === 'changed' ? [{ verb: 'change', noun: 'provider', subjectId: id, fields: Object.keys(change) }] : nothing,
  deleteProvider: (outcome, [id]) => (outcome.kind === 'deleted' ? [{ verb: 'delete', noun: 'provider', subjectId: id }] : nothing),
  createAgent: (outcome) => (outcome.kind === 'created' ? [{ verb: 'create', noun: 'agent', subjectId: outcome.agent.id }] : nothing),
  async changeAgent(outcome, [{ id, enabled, next }], sql) {
    if (outcome.kind !== 'changed') return nothing
    const before = next && (await agentVersion(sql, id, next.after))
    const content = next && before ? differing(before, next.content) : []
    return [{ verb: 'change', noun: 'agent', subjectId: id, fields: [...content, ...(enabled === undefined ? [] : ['enabled'])] }]
  },
  deleteAgent: (found, [id]) => (found ? [{ verb: 'delete', noun: 'agent', subjectId: id }] : nothing),
  createApiKey: (apiKey) => (apiKey ? [{ verb: 'create', noun: 'key', subjectId: apiKey.id }] : nothing),
  changeApiKey: (outcome, [id, change]) =>
    outcome.kind === 'changed' ? [{ verb: 'change', noun: 'key', subjectId: id, fields: Object.keys(change) }] : nothing,
  revokeApiKey: (outcome, [id]) => (outcome === 'revoked' ? [{ verb: 'revoke', noun: 'key', subjectId: id }] : nothing),
  rotateApiKey: (outcome, [id]) => (outcome.kind === 'changed' ? [{ verb: 'rotate', noun: 'key', subjectId: id }] : nothing),
  eraseConversations: (outcome) =>
    outcome.kind === 'erased' ? outcome.conversationIds.map((subjectId) => ({ verb: 'erase', noun: 'conversation', subjectId })) : nothing,
  putDocument: (outcome, [{ id }]) => (outcome === 'put' ? [{ verb: 'put', noun: 'document', subjectId: id }] : nothing),
  deleteDocument: (found, [{ id }]) => (found ? [{ verb: 'delete', noun: 'document', subjectId: id }] : nothing),
  openSession: (session) => [{ verb: 'open', noun: 'session', subjectId: session.id }],
  closeSession: (found, [id]) => (found ? [{ verb: 'close', noun: 'session', subjectId: id }] : nothing),
  // What the service does by itself as time goes on, and what is part of it.
  clearExpired: null,
  touchApiKeys: null,
  createPlaygroundKey: null,
  putContentPart: null,
  claimDocument: null,
  reportProgress: null,
  addChunks: null,
  finishDocument: null,
  failDocument: null,
  requeueDocuments: null,
  clearKnowledge: null,
  indexDocument: null,
}

/** Runs a cold write by its name and, where an author asked for it and something changed, writes its lines. Call it inside one transaction. */
export async function performWrite<Name extends keyof Writes>(
  sql: Sql,
  { name, args, author }: { name: Name; args: Tail<Writes[Name]>; author: Author | undefined },
): Promise<Awaited<ReturnType<Writes[Name]>>> {
  const result = (await (writes[name] as (sql: Sql, ...rest: unknown[]) => unknown)(sql, ...args)) as Awaited<ReturnType<Writes[Name]>>
  const describe = lines[name]
  if (!author || !describe) return result
  const now = await sql.now()
  for (const [index, { verb, noun, subjectId, fields = [] }] of (await describe(result, args, sql)).entries()) {
    await sql.run(
      'insert into audit (id, who, verb, noun, subject_id, fields, request_id, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)',
      author.lineIds[index]!,
      author.who,
      verb,
      noun,
      subjectId,
      JSON.stringify([...new Set(fields.map(shownName))]),
      author.requestId,
      now,
    )
  }
  return result
}

/** Newest first. */
export async function listAudit(sql: Sql, { limit, before }: PageRequest): Promise<AuditLine[]> {
  const rows = await sql.all(
    `select id, who, verb, noun, subject_id, fields, request_id, created_at from audit
     where (created_at, id) < ($1, $2) order by created_at desc, id desc limit $3`,
    before.createdAt,
    before.id,
    limit,
  )
  return rows.map(readLine)
}

const readLine = (row: Row): AuditLine => ({
  id: text(row, 'id'),
  who: text(row, 'who') === 'admin' ? 'admin' : 'server',
  verb: text(row, 'verb'),
  noun: text(row, 'noun'),
  subjectId: text(row, 'subject_id'),
  fields: JSON.parse(text(row, 'fields')) as string[],
  requestId: textOrNull(row, 'request_id'),
  createdAt: integer(row, 'created_at'),
})

/** The names of what differs between two versions; what is derived from other fields is left out, and the config's own fields are told one by one. */
function differing(before: AgentContent, after: AgentContent): string[] {
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

/** Where the stored name is not the operator's word. */
const operatorsWords: Record<string, string> = {
  sealedApiKey: 'api_key',
  rateLimit: 'rate_limit',
  rateWindowSeconds: 'rate_limit',
  historyMaxTokens: 'history',
}
const shownName = (name: string): string => operatorsWords[name] ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
