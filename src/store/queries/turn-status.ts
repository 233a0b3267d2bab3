/**
 * A turn as its caller sees it, and the requests to cancel it (`turn.resource`, `turn.cancel`). Never reveals that a turn of another key, or
 * an erased one, exists.
 */
import type { Amount } from '../../ledger/ledger.ts'
import type { Row, Sql } from '../sql.ts'
import { recordLifetimeMs } from '../turn-records.ts'
import type { StoredReply, TurnFailureCode } from '../turn-records.ts'
import { bigInteger, integer, integerOrNull, readDetails, readFinishReason, text, textOrNull } from './columns.ts'
import type { UsageDetails } from './columns.ts'
import { readState } from './turns.ts'
import type { TurnState } from './turns.ts'
import { read, serviceRead, serviceWrite } from './operation.ts'
import { ofTurn } from './scope.ts'
import { when } from './audited-fields.ts'
import { readingIf } from './audit.ts'

export type TurnUsage = UsageDetails & { promptTokens: number; completionTokens: number; charged: Amount }

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
  /** Of a turn that was charged: a completed one, or a cancelled one with finished tool calls (`billing.token-kinds`, `billing.tool-price`). */
  usage: TurnUsage | null
  /** Of a turn that ended without a reply. */
  failureCode: TurnFailureCode | null
  cancelRequested: boolean
}

/** `apiKeyId` undefined: of any key, for the operator. Undefined if there is no such turn, or it was erased. */
async function findTurnStatus(sql: Sql, requestId: string, apiKeyId?: string): Promise<TurnStatus | undefined> {
  const [row] = await sql.all(
    `select ${columns} ${tables} where t.request_id = $1 and t.erased_at is null and (cast($2 as text) is null or t.api_key_id = $2)`,
    requestId,
    apiKeyId ?? null,
  )
  return row && readStatus(row)
}

/**
 * `idempotency.in-progress`: the turn of this API key that the Idempotency-Key has. Undefined if there is no such turn, it was erased, or its record has
 * expired (`idempotency.lifetime`). One look-up in the index one_turn_per_key.
 */
async function findTurnStatusOfKey(
  sql: Sql,
  { apiKeyId, idempotencyKey }: { apiKeyId: string; idempotencyKey: string },
): Promise<TurnStatus | undefined> {
  const [row] = await sql.all(
    `select ${columns} ${tables} where t.api_key_id = $1 and t.idempotency_key = $2 and t.erased_at is null`,
    apiKeyId,
    idempotencyKey,
  )
  const status = row && readStatus(row)
  return status && status.endedAt !== null && status.endedAt + recordLifetimeMs <= (await sql.now()) ? undefined : status
}

/** `conversation.busy`: the running turn of this end user through this API key. */
async function findRunningTurn(sql: Sql, apiKeyId: string, externalUserId: string): Promise<string | undefined> {
  const [row] = await sql.all(
    `select t.request_id from conversations c join turns t on t.conversation_id = c.id and t.state = 'running'
     where c.api_key_id = $1 and c.external_user_id = $2 and t.api_key_id = $1`,
    apiKeyId,
    externalUserId,
  )
  return row && text(row, 'request_id')
}

/** Those of these turns that do not run. An erased turn is missing, too. At most a few hundred turns. */
async function listEnded(sql: Sql, requestIds: string[]): Promise<TurnStatus[]> {
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
    // mutant: billing.tool-price-2
    usage: row['charged'] === null ? null : readUsage(row),
    failureCode: textOrNull(row, 'failure_code') as TurnFailureCode | null,
    cancelRequested: row['cancel_requested_at'] !== null,
  }
}

/** A cancelled turn stores no tokens. */
const readUsage = (row: Row): TurnUsage => ({
  ...readDetails(row),
  promptTokens: integerOrNull(row, 'prompt_tokens') ?? 0,
  completionTokens: integerOrNull(row, 'completion_tokens') ?? 0,
  charged: bigInteger(row, 'charged'),
})

/**
 * `turn.cancel`: asks the process that runs the turn to cancel it. Returns the run that is to be cancelled, or undefined if the turn does not
 * run; nothing is changed then. The transaction that ends the turn decides whether the cancel came in time.
 */
async function requestCancel(sql: Sql, { requestId }: { requestId: string }): Promise<number | undefined> {
  const [row] = await sql.all(
    `update turns set cancel_requested_at = coalesce(cancel_requested_at, $1) where request_id = $2 and state = 'running' returning run`,
    await sql.now(),
    requestId,
  )
  return row && integer(row, 'run')
}

/** The running turns whose cancel was requested, each with its run. Reads the index of running turns. */
async function listCancelRequests(sql: Sql): Promise<{ requestId: string; run: number }[]> {
  const rows = await sql.all(`select request_id, run from turns where state = 'running' and cancel_requested_at is not null`)
  return rows.map((row) => ({ requestId: text(row, 'request_id'), run: integer(row, 'run') }))
}

export const turnStatusReads = {
  findTurnStatus: read(findTurnStatus, {
    scope: ofTurn((requestId) => requestId, undefined),
    readings: (status, requestId) => readingIf(status?.reply, 'turn', requestId),
  }),
  findTurnStatusOfKey: serviceRead(findTurnStatusOfKey),
  findRunningTurn: serviceRead(findRunningTurn),
  listEnded: serviceRead(listEnded),
  listCancelRequests: serviceRead(listCancelRequests),
}

export const turnStatusWrites = {
  requestCancel: serviceWrite(requestCancel, {
    audit: (run, [{ requestId }]) => when(run, 'cancel', 'turn', requestId),
    changesCaches: false,
    failpoints: ['cancel.before-commit', 'cancel.after-commit'],
  }),
}
