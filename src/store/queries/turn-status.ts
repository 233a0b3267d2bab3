/**
 * A turn as its caller sees it, and the requests to cancel it (`turn.resource`, `turn.cancel`). Never reveals that a turn of another key, or
 * an erased one, exists.
 */
import type { Row, Sql } from '../sql.ts'
import type { StoredReply, TurnFailureCode } from '../turn-records.ts'
import { bigInteger, integer, integerOrNull, readDetails, readFinishReason, text, textOrNull } from './columns.ts'
import type { UsageDetails } from './columns.ts'
import { readState } from './turns.ts'
import type { TurnState } from './turns.ts'

export type TurnStatus = {
  requestId: string
  conversationId: string
  externalUserId: string
  state: TurnState
  /** Rises with every run and every claim. */
  fence: number
  createdAt: number
  endedAt: number | null
  /** Of a completed turn. */
  reply: StoredReply | null
  /** Of a completed turn (`billing.token-kinds`, `billing.tool-price`). */
  details: UsageDetails | null
  /** Of a turn that ended without a reply. */
  failureCode: TurnFailureCode | null
  cancelRequested: boolean
}

/** `apiKeyId` undefined: of any key, for the operator. Undefined if there is no such turn, or it was erased. */
export async function findTurnStatus(sql: Sql, requestId: string, apiKeyId?: string): Promise<TurnStatus | undefined> {
  const [row] = await sql.all(
    `select ${columns} ${tables} where t.request_id = $1 and t.erased_at is null and (cast($2 as text) is null or t.api_key_id = $2)`,
    requestId,
    apiKeyId ?? null,
  )
  return row && readStatus(row)
}

/** Those of these turns that do not run. An erased turn is missing, too. At most a few hundred turns. */
export async function listEnded(sql: Sql, requestIds: string[]): Promise<TurnStatus[]> {
  const rows = await sql.all(
    `select ${columns} ${tables} where t.state <> 'running' and t.request_id in (${requestIds.map((_, index) => `$${index + 1}`).join(', ')})`,
    ...requestIds,
  )
  return rows.map(readStatus)
}

const tables = `from turns t join conversations c on c.id = t.conversation_id
  left join messages m on m.request_id = t.request_id and m.role = 'assistant'`
const columns = `t.request_id, t.conversation_id, c.external_user_id, t.state, t.fence, t.created_at, t.ended_at, t.failure_code, t.cancel_requested_at,
  t.prompt_tokens, t.cached_prompt_tokens, t.cache_write_tokens, t.completion_tokens, t.reasoning_tokens, t.tool_calls, t.charged, t.incomplete, t.finish_reason,
  m.id, m.content, m.created_at as replied_at`

function readStatus(row: Row): TurnStatus {
  const state = readState(row)
  const requestId = text(row, 'request_id')
  const conversationId = text(row, 'conversation_id')
  return {
    requestId,
    conversationId,
    // After an erasure that came between, the name is gone, and so is the turn at the next request.
    externalUserId: textOrNull(row, 'external_user_id') ?? '',
    state,
    fence: integer(row, 'fence'),
    createdAt: integer(row, 'created_at'),
    endedAt: integerOrNull(row, 'ended_at'),
    reply:
      state === 'completed' && row['id'] !== null
        ? {
            requestId,
            conversationId,
            messageId: text(row, 'id'),
            content: text(row, 'content'),
            createdAt: integer(row, 'replied_at'),
            promptTokens: integer(row, 'prompt_tokens'),
            completionTokens: integer(row, 'completion_tokens'),
            charged: bigInteger(row, 'charged'),
            incomplete: integer(row, 'incomplete') === 1,
            finishReason: readFinishReason(row),
          }
        : null,
    details: state === 'completed' ? readDetails(row) : null,
    failureCode: textOrNull(row, 'failure_code') as TurnFailureCode | null,
    cancelRequested: row['cancel_requested_at'] !== null,
  }
}

/**
 * `turn.cancel`: asks the process that runs the turn to cancel it. Returns the run that is to be cancelled, or undefined if the turn does not
 * run; nothing is changed then. The transaction that ends the turn decides whether the cancel came in time.
 */
export async function requestCancel(sql: Sql, { requestId }: { requestId: string }): Promise<number | undefined> {
  const [row] = await sql.all(
    `update turns set cancel_requested_at = coalesce(cancel_requested_at, $1) where request_id = $2 and state = 'running' returning run`,
    await sql.now(),
    requestId,
  )
  return row && integer(row, 'run')
}

/** The running turns whose cancel was requested, each with its run. Reads the index of running turns. */
export async function listCancelRequests(sql: Sql): Promise<{ requestId: string; run: number }[]> {
  const rows = await sql.all(`select request_id, run from turns where state = 'running' and cancel_requested_at is not null`)
  return rows.map((row) => ({ requestId: text(row, 'request_id'), run: integer(row, 'run') }))
}
