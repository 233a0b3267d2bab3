/** The JSON that the functions of migrations/*-turn-path.sql accept and return, and its conversion. Names and shapes only. */
import { reservesUnpaid } from '../../cause-kinds.ts'
import type { ReplyFinishReason } from '../../finish-reason.ts'
import type { Price } from '../../ledger/ledger.ts'
import { historyOf } from '../turn-records.ts'
import type {
  Admission,
  AdmissionOutcome,
  AdmittedTurn,
  Advance,
  AdvanceOutcome,
  Claims,
  EncodedTrace,
  JournalEntry,
  Lease,
  Settlement,
  SettlementOutcome,
  SpendLimitExceeded,
  TurnFailure,
  TurnFailureCode,
} from '../turn-records.ts'
import type { Later } from '../store.ts'

// Amounts are sent as digits, because JSON numbers cannot hold all of them; times and counts as numbers.
type TurnAnswer = {
  request_id: string
  conversation_id: string
  api_key_id: string
  agent_id: string
  agent_version: number
  fence: number
  run: number
  attempt: number
  message: string
  traceparent: string | null
  cancel_requested: boolean
  prompt_price: string
  completion_price: string
  cached_prompt_price: string | null
  cache_write_price: string | null
  hold: string
  history: string[]
  journal: JournalEntry[]
  steps_before: number
}
/** For a turn that starts with its admission: what the admission itself did not contain. */
type StartedAnswer = Pick<TurnAnswer, 'conversation_id' | 'agent_version' | keyof PriceAnswer | 'hold' | 'history'>
type PriceAnswer = Pick<TurnAnswer, 'prompt_price' | 'completion_price' | 'cached_prompt_price' | 'cache_write_price'>
type ReplyAnswer = {
  request_id: string
  conversation_id: string
  message_id: string
  content: string
  created_at: number
  prompt_tokens: number
  completion_tokens: number
  charged: string
  incomplete: boolean
  finish_reason: ReplyFinishReason | null
}
type LimitAnswer = { kind: 'spend_limit_exceeded'; retry_after_seconds: number | null }
type Written = 'admitted' | 'replay' | 'large_replay' | 'replayed_failure' | 'spend_limit_exceeded'
export type AdmissionAnswer =
  | { kind: 'again' }
  | { kind: 'admitted'; turn: TurnAnswer }
  | ({ kind: 'started' } & StartedAnswer)
  | { kind: 'replay'; reply: ReplyAnswer }
  | { kind: 'large_replay'; request_id: string; bytes: number }
  | { kind: 'replayed_failure'; request_id: string; code: TurnFailureCode }
  | LimitAnswer
  | Later
  | Exclude<AdmissionOutcome, { kind: Written }>
export type AdvanceAnswer = LimitAnswer | Exclude<AdvanceOutcome, { kind: 'spend_limit_exceeded' }>
export type SettlementAnswer = { kind: 'lost' } | { kind: 'settled'; conversation_id: string; created_at: number }
export type ClaimsAnswer = { turns: TurnAnswer[]; exhausted: string[] }

const writeAdmission = (item: Admission): object => ({
  api_key_id: item.apiKeyId,
  agent_id: item.agentId,
  idempotency_key: item.idempotencyKey,
  fingerprint: `\\x${Buffer.from(item.fingerprint).toString('hex')}`,
  external_user_id: item.externalUserId,
  message: item.message,
  message_length: item.messageLength,
  message_tokens: item.messageTokens,
  request_id: item.requestId,
  conversation_id: item.conversationId,
  traceparent: item.traceparent,
  lease_ms: item.leaseMs,
  may_run: item.mayRun,
})

export function readAdmission(answer: AdmissionAnswer, item: Admission): AdmissionOutcome | Later | undefined {
  switch (answer.kind) {
    case 'again':
      return undefined
    case 'admitted':
      return { kind: 'admitted', turn: readTurn(answer.turn) }
    case 'started':
      return { kind: 'admitted', turn: begin(answer, item) }
    case 'replay': {
      const {
        request_id,
        conversation_id,
        message_id,
        content,
        created_at,
        prompt_tokens,
        completion_tokens,
        charged,
        incomplete,
        finish_reason,
      } = answer.reply
      const reply = {
        requestId: request_id,
        conversationId: conversation_id,
        messageId: message_id,
        content,
        createdAt: created_at,
        promptTokens: prompt_tokens,
        completionTokens: completion_tokens,
        charged: BigInt(charged),
        incomplete,
        finishReason: finish_reason,
      }
      return { kind: 'replay', reply }
    }
    case 'large_replay':
      return { kind: 'large_replay', requestId: answer.request_id, bytes: answer.bytes }
    case 'replayed_failure':
      return { kind: 'replayed_failure', requestId: answer.request_id, code: answer.code }
    case 'spend_limit_exceeded':
      return readLimit(answer)
    default:
      return answer
  }
}

const readLimit = ({ kind, retry_after_seconds: retryAfterSeconds }: LimitAnswer): SpendLimitExceeded => ({ kind, retryAfterSeconds })

export const readAdvance = (answer: AdvanceAnswer): AdvanceOutcome => (answer.kind === 'spend_limit_exceeded' ? readLimit(answer) : answer)

const begin = (answer: StartedAnswer, { requestId, apiKeyId, agentId, message, traceparent }: Admission): AdmittedTurn => ({
  requestId,
  conversationId: answer.conversation_id,
  apiKeyId,
  agentId,
  agentVersion: answer.agent_version,
  fence: 1,
  run: 1,
  attempt: 1,
  message,
  traceparent,
  cancelRequested: false,
  price: readPrice(answer),
  hold: BigInt(answer.hold),
  history: historyOf(answer.history),
  journal: [],
  stepsBefore: 0,
})

const readTurn = (turn: TurnAnswer): AdmittedTurn => ({
  requestId: turn.request_id,
  conversationId: turn.conversation_id,
  apiKeyId: turn.api_key_id,
  agentId: turn.agent_id,
  agentVersion: turn.agent_version,
  fence: turn.fence,
  run: turn.run,
  attempt: turn.attempt,
  message: turn.message,
  traceparent: turn.traceparent,
  cancelRequested: turn.cancel_requested,
  price: readPrice(turn),
  hold: BigInt(turn.hold),
  history: historyOf(turn.history),
  journal: turn.journal,
  stepsBefore: turn.steps_before,
})

const readPrice = ({ prompt_price, completion_price, cached_prompt_price, cache_write_price }: PriceAnswer): Price => ({
  promptPerMillion: BigInt(prompt_price),
  completionPerMillion: BigInt(completion_price),
  cachedPromptPerMillion: cached_prompt_price === null ? null : BigInt(cached_prompt_price),
  cacheWritePerMillion: cache_write_price === null ? null : BigInt(cache_write_price),
})

const writeAdvance = ({ requestId, fence, entries, hold, finishedSideEffects }: Advance): object => ({
  request_id: requestId,
  fence,
  entries,
  hold: String(hold),
  finished_side_effects: finishedSideEffects,
})

const writeSettlement = (item: Settlement): object => ({
  request_id: item.requestId,
  fence: item.fence,
  user_message_id: item.userMessageId,
  assistant_message_id: item.assistantMessageId,
  ledger_entry_id: item.ledgerEntryId,
  content: item.content,
  content_tokens: item.contentTokens,
  citations: item.citations.length > 0 ? JSON.stringify(item.citations) : null,
  prompt_tokens: item.promptTokens,
  cached_prompt_tokens: item.cachedPromptTokens,
  cache_write_tokens: item.cacheWriteTokens,
  completion_tokens: item.completionTokens,
  reasoning_tokens: item.reasoningTokens,
  usage_estimated: item.usageEstimated,
  tool_calls: String(item.toolCalls),
  charged: String(item.charged),
  written_off: String(item.writtenOff),
  first_delta_ms: item.firstDeltaMs,
  incomplete: item.incomplete,
  trace: writeTrace(item.trace),
})

/** Of a turn without a reply. */
const writeCharge = ({ ledgerEntryId, toolCalls, charged, writtenOff }: NonNullable<TurnFailure['charge']>): object => ({
  ledger_entry_id: ledgerEntryId,
  tool_calls: String(toolCalls),
  charged: String(charged),
  written_off: String(writtenOff),
})

/** As PostgreSQL reads a `bytea`. */
const writeTrace = (trace: EncodedTrace | null): string | null => (trace ? `\\x${Buffer.from(trace).toString('hex')}` : null)

export function readSettlement(answer: SettlementAnswer, item: Settlement): SettlementOutcome {
  if (answer.kind === 'lost') return answer
  const { requestId, assistantMessageId: messageId, content, promptTokens, completionTokens, charged, incomplete, finishReason } = item
  const reply = {
    requestId,
    conversationId: answer.conversation_id,
    messageId,
    content,
    createdAt: answer.created_at,
    promptTokens,
    completionTokens,
    charged,
    incomplete,
    finishReason,
  }
  return { kind: 'settled', reply }
}

export const writeLeases = (leases: Lease[]): string =>
  JSON.stringify(leases.map(({ requestId, fence }) => ({ request_id: requestId, fence })))

export const readClaims = ({ turns, exhausted }: ClaimsAnswer): Claims => ({
  turns: turns.map(readTurn),
  exhausted,
})

/** PostgreSQL does not accept U+0000 in text, and a cause may contain anything. */
const writeFailure = ({ requestId, fence, state, code, cause, causeKind, unpaid, charge, neededHold, trace }: TurnFailure): object => ({
  request_id: requestId,
  fence,
  state,
  code,
  cause: cause.toWellFormed().replaceAll('\0', '\uFFFD'),
  cause_kind: causeKind,
  unpaid: String(unpaid),
  reserved: String(reservesUnpaid(causeKind) ? unpaid : 0n),
  ...(charge ? writeCharge(charge) : {}),
  needed_hold: String(neededHold),
  trace: writeTrace(trace),
})

/** The batch as JSON, with the places of its items. */
const batch = (items: object[]): string => JSON.stringify(items.map((item, index) => ({ ord: index + 1, ...item })))

// The arguments of the functions.
export const writeAdmissions = (items: Admission[]): string[] => [batch(items.map(writeAdmission))]
export const writeAdvances = (items: Advance[]): string[] => [batch(items.map(writeAdvance))]
export const writeFailures = (items: TurnFailure[]): string[] => [batch(items.map(writeFailure))]

/** `turn.finish-reason`: those other than `stop`, by request ID. Null if every reply ended with `stop`, as in most batches. */
export function writeSettlements(items: Settlement[]): (string | null)[] {
  const others = items.filter(({ finishReason }) => finishReason !== 'stop' && finishReason !== null)
  const reasons = Object.fromEntries(others.map(({ requestId, finishReason }) => [requestId, finishReason]))
  return [batch(items.map(writeSettlement)), others.length === 0 ? null : JSON.stringify(reasons)]
}
