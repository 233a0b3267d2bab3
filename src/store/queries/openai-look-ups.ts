/** What callers look up besides a turn by its request ID: its message, the turn of a key, the first try of a retry, the conversation of a user. */
import type { Sql } from '../sql.ts'
import { integer, text } from './columns.ts'
import { read, serviceRead } from './operation.ts'
import { ofKey } from './scope.ts'

/** The user's message of a turn of this key, while it runs and after it. Undefined if there is no such turn, or it was erased. */
async function findTurnMessage(sql: Sql, requestId: string, apiKeyId: string): Promise<string | undefined> {
  const [row] = await sql.all(
    'select message from turns where request_id = $1 and api_key_id = $2 and erased_at is null',
    requestId,
    apiKeyId,
  )
  return row && text(row, 'message')
}

/** `stream.resume`: the request ID of the turn that this Idempotency-Key has. One look-up in the index one_turn_per_key. */
async function findTurnOfKey(
  sql: Sql,
  { apiKeyId, idempotencyKey }: { apiKeyId: string; idempotencyKey: string },
): Promise<string | undefined> {
  const [row] = await sql.all('select request_id from turns where api_key_id = $1 and idempotency_key = $2', apiKeyId, idempotencyKey)
  return row && text(row, 'request_id')
}

export type KeyedTurn = { requestId: string; idempotencyKey: string }

/**
 * `openai.retry-joins`: the turn with the last key of those that start with `keyPrefix`, if it was first admitted at most `withinMs` ago. `keyPrefix` ends with an
 * ASCII character. One look-up in the index one_turn_per_key.
 */
async function findNewestTurn(
  sql: Sql,
  { apiKeyId, keyPrefix, withinMs }: { apiKeyId: string; keyPrefix: string; withinMs: number },
): Promise<KeyedTurn | undefined> {
  const afterAll = keyPrefix.slice(0, -1) + String.fromCharCode(keyPrefix.charCodeAt(keyPrefix.length - 1) + 1)
  const [row] = await sql.all(
    `select request_id, idempotency_key, created_at from turns
     where api_key_id = $1 and idempotency_key >= $2 and idempotency_key < $3 order by idempotency_key desc limit 1`,
    apiKeyId,
    keyPrefix,
    afterAll,
  )
  if (!row || integer(row, 'created_at') + withinMs < (await sql.now())) return undefined
  return { requestId: text(row, 'request_id'), idempotencyKey: text(row, 'idempotency_key') }
}

/** The conversation of an end user through an API key, if there is one, even before its first reply (`conversation.identity`). */
async function findConversationId(sql: Sql, apiKeyId: string, externalUserId: string): Promise<string | undefined> {
  const [row] = await sql.all('select id from conversations where api_key_id = $1 and external_user_id = $2', apiKeyId, externalUserId)
  return row && text(row, 'id')
}

export const openaiLookUpReads = {
  findTurnMessage: serviceRead(findTurnMessage),
  findNewestTurn: serviceRead(findNewestTurn),
  findTurnOfKey: serviceRead(findTurnOfKey),
  findConversationId: read(findConversationId, { scope: ofKey((apiKeyId) => apiKeyId, undefined), readings: null }),
}
