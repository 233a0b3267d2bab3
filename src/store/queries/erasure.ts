/**
 * Erasure (`erase`): text is removed, figures stay. Messages, the texts of turns, their
 * journal, traces and feedback, and the name of the end user are removed;
 * tokens, charges and the ledger remain. Never affects a conversation with a running turn, and cannot be undone.
 */
import { recordLifetimeMs } from '../turn-records.ts'
import type { Sql } from '../sql.ts'
import { integer, integerOrNull, text, textOrNull } from './columns.ts'
import { forgetEndUsers } from './spend-limits.ts'
import type { EndUser } from './spend-limits.ts'
import { serviceRead, serviceWrite } from './operation.ts'
import { when } from './audited-fields.ts'

export type Erasure = {
  conversationIds: string[]
  /** The end user whose conversations these are, if that is what was asked: its limits are erased even without a conversation. */
  endUser?: EndUser | undefined
  /** Erases only conversations that have been idle for at least this long, in milliseconds. Undefined: of any age. */
  idleMs?: number | undefined
}

export type ErasureOutcome =
  /**
   * `conversationIds` are those that were erased now, without those that had been erased before. `limitsOf`: the agent, if `endUser` had own
   * limits or windows there.
   */
  | { kind: 'erased'; conversationIds: string[]; turns: number; messages: number; limitsOf?: string | undefined }
  /** A turn is running in one of them: nothing was erased. */
  | { kind: 'busy' }

// The journal is for recovery and for operators. The idempotency record of its turn has expired long before.
const journalLifetimeMs = 30 * 24 * 60 * 60 * 1000
// A retry that continues needs the whole journal (`retry.continues`), so the journal outlives the record by a day: a retry may be admitted
// at the very end of the record's life.
const continuableMs = 2 * recordLifetimeMs
/** Replaces a deleted fingerprint. No body has it. */
const noFingerprint = new Uint8Array(32)

/** Erases all of them or none, except those that `idleMs` excludes. Unknown IDs are ignored. */
async function eraseConversations(sql: Sql, { conversationIds, endUser, idleMs }: Erasure): Promise<ErasureOutcome> {
  const now = await sql.now()
  const erasedAt = await afterEveryErasure(sql, now)
  const found: string[] = []
  // Locks the rows first, in the order of their IDs: an admission that comes now waits for this transaction and then finds no such user.
  for (const id of conversationIds.toSorted()) {
    if ((await sql.run('update conversations set id = id where id = $1 and external_user_id is not null', id)) === 0) continue
    const [running] = await sql.all("select 1 as one from turns where conversation_id = $1 and state = 'running'", id)
    if (!running) found.push(id)
    else if (idleMs === undefined) return { kind: 'busy' }
  }
  const erased: string[] = []
  const users: EndUser[] = endUser ? [endUser] : []
  let turns = 0
  let messages = 0
  for (const id of found) {
    if (idleMs !== undefined && !(await isIdle(sql, id, now - idleMs))) continue
    erased.push(id)
    messages += await sql.run('delete from messages where conversation_id = $1', id)
    for (const table of ['journal', 'traces', 'feedback'])
      await sql.run(`delete from ${table} where request_id in (select request_id from turns where conversation_id = $1)`, id)
    // The cause of a failure may quote a message. A fingerprint whose record has expired is no longer needed, and a short text can be
    // guessed from it.
    turns += await sql.run(
      `update turns set message = null, failure_cause = null, continues_from = null, traceparent = null, erased_at = $1,
         fingerprint = case when idempotency_key is null then $2 else fingerprint end where conversation_id = $3`,
      erasedAt,
      noFingerprint,
      id,
    )
    const [user] = await sql.all(
      'select k.agent_id, c.external_user_id from conversations c join api_keys k on k.id = c.api_key_id where c.id = $1',
      id,
    )
    // Null if the list has the conversation twice.
    const externalUserId = textOrNull(user!, 'external_user_id')
    if (externalUserId !== null) users.push({ agentId: text(user!, 'agent_id'), externalUserId })
    await sql.run('update conversations set external_user_id = null, message_count = 0, message_tokens = 0 where id = $1', id)
  }
  // Last, because it locks their owners (`billing.spend-limit`).
  const forgotten = await forgetEndUsers(sql, users)
  const { agentId } = forgotten.find((user) => user.agentId === endUser?.agentId && user.externalUserId === endUser.externalUserId) ?? {}
  return { kind: 'erased', conversationIds: erased, turns, messages, limitsOf: agentId }
}

/** Later than the last erasure, even if the clock was set back: what was erased since the last vacuum is found by this time. */
async function afterEveryErasure(sql: Sql, now: number): Promise<number> {
  const [row] = await sql.all('select max(erased_at) as newest from turns where erased_at is not null')
  return Math.max(now, (integerOrNull(row!, 'newest') ?? 0) + 1)
}

/** True if neither the last message nor the end of any turn is newer than `since`. */
async function isIdle(sql: Sql, id: string, since: number): Promise<boolean> {
  const [young] = await sql.all(
    `select 1 as one from conversations c where c.id = $1 and (coalesce(c.last_message_at, c.created_at) > $2
       or exists (select 1 from turns t where t.conversation_id = c.id and t.ended_at > $2))`,
    id,
    since,
  )
  return !young
}

/** Where a search for idle conversations ended. The next one continues after it. */
export type IdleConversation = { id: string; age: number }

/**
 * Conversations that were idle for `idleMs`, oldest first: by their last message, or on PostgreSQL by their creation, which its index
 * contains.
 */
async function findIdleConversations(
  sql: Sql,
  { idleMs, limit, after }: { idleMs: number; limit: number; after: IdleConversation | undefined },
): Promise<IdleConversation[]> {
  const age = sql.engine === 'postgres' ? 'c.created_at' : 'coalesce(c.last_message_at, c.created_at)'
  const rows = await sql.all(
    `select c.id, ${age} as age from conversations c
     where c.external_user_id is not null and ${age} <= $1 and (${age}, c.id) > ($2, $3) and coalesce(c.last_message_at, c.created_at) <= $1
       and not exists (select 1 from turns t where t.conversation_id = c.id and (t.state = 'running' or t.ended_at > $1))
     order by ${age}, c.id limit $4`,
    (await sql.now()) - idleMs,
    after?.age ?? 0,
    after?.id ?? '',
    limit,
  )
  return rows.map((row) => ({ id: text(row, 'id'), age: integer(row, 'age') }))
}

/** Returns the IDs of an end user's conversations with all keys of the agent, even if it was deleted. Undefined if it never existed. */
async function findConversationsOfEndUser(sql: Sql, agentId: string, externalUserId: string): Promise<string[] | undefined> {
  const [agent] = await sql.all('select 1 as one from agents where id = $1', agentId)
  if (!agent) return undefined
  const rows = await sql.all(
    'select c.id from conversations c join api_keys k on k.id = c.api_key_id where k.agent_id = $1 and c.external_user_id = $2',
    agentId,
    externalUserId,
  )
  return rows.map((row) => text(row, 'id'))
}

async function conversationExists(sql: Sql, id: string): Promise<boolean> {
  return (await sql.all('select 1 as one from conversations where id = $1', id)).length > 0
}

/**
 * Deletes what has become too old, at most `limit` rows of each kind: steps of turns that no retry can continue, and, of erased turns, the
 * caller's key and the fingerprint of the body once the record has expired. Returns how many rows were found.
 */
async function clearExpired(sql: Sql, { limit }: { limit: number }): Promise<number> {
  const now = await sql.now()
  const steps = await sql.run(
    `delete from journal where (request_id, step, part, kind, run) in (
       select j.request_id, j.step, j.part, j.kind, j.run from journal j join turns t on t.request_id = j.request_id
       where j.created_at <= $1 and t.ended_at <= $2 order by j.created_at limit $3)`,
    now - journalLifetimeMs,
    now - continuableMs,
    limit,
  )
  const records = await sql.run(
    `update turns set idempotency_key = null, fingerprint = $1 where request_id in (
       select request_id from turns where erased_at is not null and idempotency_key is not null and ended_at <= $2 limit $3)`,
    noFingerprint,
    now - recordLifetimeMs,
    limit,
  )
  return steps + records
}

export const erasureReads = {
  conversationExists: serviceRead(conversationExists),
  findConversationsOfEndUser: serviceRead(findConversationsOfEndUser),
  findIdleConversations: serviceRead(findIdleConversations, 'report'),
}

export const erasureWrites = {
  eraseConversations: serviceWrite(eraseConversations, {
    audit: (outcome) =>
      outcome.kind === 'erased'
        ? [
            ...outcome.conversationIds.flatMap((id) => when(true, 'erase', 'conversation', id)),
            ...when(outcome.limitsOf, 'erase', 'end_user_limits', outcome.limitsOf ?? ''),
          ]
        : [],
    changesCaches: false,
    failpoints: ['erase.before-commit', 'erase.after-commit'],
  }),
  clearExpired: serviceWrite(clearExpired, { audit: null, changesCaches: false }),
}
