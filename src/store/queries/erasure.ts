/**
 * Erasure: text goes, figures stay. Messages, the turns' texts, their journal and the end user's name leave the rows; tokens, charges and the
 * ledger remain. Never touches a conversation with a running turn, and nothing here is ever undone. Rulings, `erase`.
 */
import { recordLifetimeMs } from '../turn-records.ts'
import type { Sql } from '../sql.ts'
import { integer, text } from './columns.ts'

export type Erasure = {
  conversationIds: string[]
  /** Only those without a turn and without a message for so long; undefined: whatever their age. */
  idleMs?: number | undefined
}

export type ErasureOutcome =
  /** `conversationIds` are those that were erased now: an erased one is left as it is. */
  | { kind: 'erased'; conversationIds: string[]; turns: number; messages: number }
  /** A turn runs in one of them: nothing was erased. */
  | { kind: 'busy' }

// A journal serves recovery and the operator who looks into a turn; its record has expired long before (rulings, `erase`).
const journalLifetimeMs = 30 * 24 * 60 * 60 * 1000
// A retry that continues needs the whole journal (`retry.continues`), so it outlives the record, and by a day more: a retry may be admitted at
// the very end of it.
const continuableMs = 2 * recordLifetimeMs
/** In the place of a fingerprint that is gone: no body has it. */
const noFingerprint = new Uint8Array(32)

/** All of them or none, save those that `idleMs` excludes. Unknown ids are passed over. */
export async function eraseConversations(sql: Sql, { conversationIds, idleMs }: Erasure): Promise<ErasureOutcome> {
  const now = await sql.now()
  const found: string[] = []
  // The rows' locks first, in the order of their ids: an admission that comes now waits for this transaction, and then finds no such user.
  for (const id of conversationIds.toSorted()) {
    if ((await sql.run('update conversations set id = id where id = $1 and external_user_id is not null', id)) === 0) continue
    const [running] = await sql.all("select 1 as one from turns where conversation_id = $1 and state = 'running'", id)
    if (!running) found.push(id)
    else if (idleMs === undefined) return { kind: 'busy' }
  }
  const erased: string[] = []
  let turns = 0
  let messages = 0
  for (const id of found) {
    if (idleMs !== undefined && !(await isIdle(sql, id, now - idleMs))) continue
    erased.push(id)
    messages += await sql.run('delete from messages where conversation_id = $1', id)
    await sql.run('delete from journal where request_id in (select request_id from turns where conversation_id = $1)', id)
    // A failure's cause may quote what was said; a fingerprint whose key is free already serves nobody, and a short text can be guessed from it.
    turns += await sql.run(
      `update turns set message = null, failure_cause = null, continues_from = null, erased_at = $1,
         fingerprint = case when idempotency_key is null then $2 else fingerprint end where conversation_id = $3`,
      now,
      noFingerprint,
      id,
    )
    await sql.run('update conversations set external_user_id = null, message_count = 0, message_tokens = 0 where id = $1', id)
  }
  return { kind: 'erased', conversationIds: erased, turns, messages }
}

/** Neither its last message nor the end of a turn that left none is younger than `since`. */
async function isIdle(sql: Sql, id: string, since: number): Promise<boolean> {
  const [young] = await sql.all(
    `select 1 as one from conversations c where c.id = $1 and (coalesce(c.last_message_at, c.created_at) > $2
       or exists (select 1 from turns t where t.conversation_id = c.id and t.ended_at > $2))`,
    id,
    since,
  )
  return !young
}

/** Where a look at idle conversations ended; the next one goes on behind it. */
export type IdleConversation = { id: string; age: number }

/** Conversations idle for `idleMs`, the oldest first: by their last message, or on PostgreSQL by their beginning, which is what its index has. */
export async function findIdleConversations(
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

/** The conversations of an end user with every key of the agent; undefined where there never was such an agent. Also of a deleted one. */
export async function findConversationsOfEndUser(sql: Sql, agentId: string, externalUserId: string): Promise<string[] | undefined> {
  const [agent] = await sql.all('select 1 as one from agents where id = $1', agentId)
  if (!agent) return undefined
  const rows = await sql.all(
    'select c.id from conversations c join api_keys k on k.id = c.api_key_id where k.agent_id = $1 and c.external_user_id = $2',
    agentId,
    externalUserId,
  )
  return rows.map((row) => text(row, 'id'))
}

export async function conversationExists(sql: Sql, id: string): Promise<boolean> {
  return (await sql.all('select 1 as one from conversations where id = $1', id)).length > 0
}

/**
 * What the passing of time takes, at most `limit` rows of each kind: old steps of turns that no retry can continue any more, and of erased turns the caller's key
 * and the body's fingerprint once the record has expired. Answers how many rows were found.
 */
export async function clearExpired(sql: Sql, { limit }: { limit: number }): Promise<number> {
  const now = await sql.now()
  const steps = await sql.run(
    `delete from journal where (request_id, run, step, part, kind) in (
       select j.request_id, j.run, j.step, j.part, j.kind from journal j join turns t on t.request_id = j.request_id
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
