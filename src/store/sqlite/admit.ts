/**
 * The admission of one message within a transaction: record → agent → conversation → limits → balance → a running turn. A refusal stores
 * nothing but the event that a limit is used up (`order.admission`, `order.validation`, `turn.states`, `billing.hold`).
 */
import type { ReplyFinishReason } from '../../finish-reason.ts'
import { boundCost } from '../../ledger/ledger.ts'
import type { Price } from '../../ledger/ledger.ts'
import { bytesPerToken, largeReply } from '../budget.ts'
import { defaultMaxMessageLength, recordLifetimeMs } from '../turn-records.ts'
import type { Admission, AdmissionOutcome, AdmittedTurn, StoredReply, TurnFailureCode } from '../turn-records.ts'
import { readPrice } from '../queries/columns.ts'
import type { Row } from '../sql.ts'
import type { Clock } from './clock.ts'
import { readHistory, readJournal, readStepsBefore } from './history.ts'
import { countIn, findExceeded, findWindows, recordRefusal } from './spending.ts'
import type { Statements } from './statements.ts'

/**
 * `order.admission`, `order.validation`: the first of these decides.
 *
 * 1. An unexpired record of the key for the same request: erased, in progress, the stored failure, or the stored reply. A released record
 * decides nothing: the request may run again and is checked like any other.
 *
 * 2. A message longer than the agent allows now (for a run that continues: than it allowed then), or than the default if the agent was
 * deleted: `message_too_long`.
 *
 * 3. A record of the key for another request, in any state: `idempotency_conflict`.
 *
 * 4. This process admits no new turns: `overloaded`.
 *
 * 5. The agent is deleted or disabled, the conversation is busy, or the hold does not fit in a spend limit, or in the balance. Otherwise the
 * turn runs.
 */
export function admit(sql: Statements, clock: Clock, item: Admission): AdmissionOutcome {
  // mutant: clock
  const now = clock.now()
  const record = findLiveRecord(sql, now, item)
  const isSame = record !== undefined && isOfThisRequest(record, item)
  const answer = isSame ? answerFromRecord(sql, record) : undefined
  if (answer) return answer

  // `retry.continues`: a released run whose tool calls have had side effects continues as it started, even if the agent has changed.
  const continued = isSame && record.continues_from !== null ? record : undefined
  const agent = sql.findAgent.get(continued?.agent_version ?? null, item.agentId)
  // mutant: order.validation-4
  const longest = agent?.deleted_at === null ? Number(agent.max_message_length) : defaultMaxMessageLength
  if (item.messageLength > longest) return { kind: 'message_too_long', longest }
  if (record && !isSame) return { kind: 'idempotency_conflict' }
  if (!item.mayRun) return { kind: 'overloaded' }
  if (!agent || agent.deleted_at !== null) return { kind: 'agent_not_found' }
  if (agent.enabled !== 1n) return { kind: 'agent_disabled' }
  // mutant: idempotency.replay-3
  const released = record

  const conversation = released
    ? sql.findConversationById.get(released.conversation_id!)
    : sql.findConversation.get(item.apiKeyId, item.externalUserId)
  // `conversation.busy`, checked before the constraint one_running_turn_per_conversation.
  if (conversation && sql.findRunning.get(conversation.id!)) return { kind: 'conversation_busy' }

  // `billing.hold`: stored numbers only.
  const window = min(agent.history_max_tokens as bigint, (conversation?.message_tokens ?? 0n) as bigint)
  const promptTokens = Number(agent.fixed_tokens) + Number(window) + Number(agent.knowledge_max_tokens) + item.messageTokens
  const price = readPrice(agent)
  const bound = boundCost({ promptTokens, completionTokens: Number(agent.max_output_tokens) }, price)
  // `billing.unpaid`: as much as a turn of this agent needed when the balance ran out, so that this one does not run out at the same point.
  const needed = max(bound, agent.min_hold as bigint)
  const windows = agent.limited === 1n ? findWindows(sql, now, agent, item) : []
  // That is about the balance: it must not use up a limit that this message fits in.
  const hold = findExceeded(windows, now, needed) ? bound : needed
  const exceeded = findExceeded(windows, now, hold)
  if (exceeded) {
    recordRefusal(sql, windows, { agent, item, hold, now })
    // mutant: billing.spend-limit
    return exceeded
  }
  const ownerId = agent.owner_id as string
  // mutant: conversation.busy
  if (sql.takeHold.run(hold, ownerId, hold).changes === 0n) return { kind: 'insufficient_balance' }
  const countsIn = windows.length > 0 ? countIn(sql, windows, item, hold) : null

  const start = { now, agent, released, continued, conversation, window, hold, price, countsIn }
  return { kind: 'admitted', turn: startTurn(sql, clock, item, start) }
}

type Start = {
  now: number
  agent: Row
  /** The record of the turn that runs again; undefined for a new turn. */
  released: Row | undefined
  /** The same if its journal is continued. */
  continued: Row | undefined
  conversation: Row | undefined
  window: bigint
  hold: bigint
  price: Price
  /** `billing.spend-limit`: the windows in which the run counts, as they are stored with it. */
  countsIn: string | null
}

/** Writes the running turn, and its conversation if it is the first one. */
function startTurn(sql: Statements, clock: Clock, item: Admission, start: Start): AdmittedTurn {
  const { now, agent, released, continued, conversation, window, hold, price, countsIn } = start
  const { promptPerMillion, completionPerMillion, cachedPromptPerMillion, cacheWritePerMillion } = price
  const ownerId = agent.owner_id as string
  const conversationId = conversation ? (conversation.id as string) : item.conversationId
  if (!conversation) sql.insertConversation.run(conversationId, item.apiKeyId, item.externalUserId, now)
  const leaseUntil = Math.ceil(clock.leaseNow() + item.leaseMs)
  const requestId = released ? (released.request_id as string) : item.requestId
  const agentVersion = Number(agent.version)
  let fence = 1
  let run = 1
  if (released) {
    fence = Number(released.fence) + 1
    run = Number(released.run) + 1
    sql.runAgain.run(
      run,
      fence,
      leaseUntil,
      hold,
      agentVersion,
      promptPerMillion,
      completionPerMillion,
      cachedPromptPerMillion,
      cacheWritePerMillion,
      now,
      item.traceparent,
      countsIn,
      requestId,
    )
  } else {
    sql.insertTurn.run(
      requestId,
      item.apiKeyId,
      item.idempotencyKey,
      item.fingerprint,
      conversationId,
      ownerId,
      item.agentId,
      agentVersion,
      leaseUntil,
      hold,
      promptPerMillion,
      completionPerMillion,
      cachedPromptPerMillion,
      cacheWritePerMillion,
      item.message,
      item.messageTokens,
      item.traceparent,
      countsIn,
      now,
      now,
    )
  }
  const history = conversation ? readHistory(sql, conversationId, Number(window)) : []
  const journal = continued ? readJournal(sql, requestId, continued.continues_from!) : []
  const stepsBefore = released ? readStepsBefore(sql, requestId, continued?.continues_from ?? run) : 0
  const { apiKeyId, agentId, message, traceparent } = item
  return {
    requestId,
    conversationId,
    apiKeyId,
    agentId,
    agentVersion,
    fence,
    run,
    attempt: 1,
    message,
    traceparent,
    cancelRequested: false,
    price,
    hold,
    history,
    journal,
    stepsBefore,
  }
}

/** `idempotency.lifetime`: decided here by the store's clock. A record of a running turn never expires. An expired one frees its key. */
function findLiveRecord(sql: Statements, now: number, item: Admission): Row | undefined {
  const record = sql.findRecord.get(item.apiKeyId, item.idempotencyKey)
  if (!record || record.state === 'running' || Number(record.ended_at) + recordLifetimeMs > now) return record
  sql.clearKey.run(record.request_id!)
  return undefined
}

/** `idempotency.conflict`: checked before the state, so another body conflicts while the first request runs. */
// mutant: idempotency.conflict
const isOfThisRequest = (record: Row, item: Admission): boolean => Buffer.from(item.fingerprint).equals(record.fingerprint as Uint8Array)

/** Undefined if the record was released and the request may run again. */
function answerFromRecord(sql: Statements, record: Row): AdmissionOutcome | undefined {
  // `erase`: the text was erased, so it is neither returned nor run again.
  if (record.erased_at !== null) return { kind: 'erased' }
  const requestId = record.request_id as string
  switch (record.state) {
    case 'running':
      // `idempotency.in-progress`
      return { kind: 'idempotency_in_progress' }
    case 'failed':
    case 'cancelled':
      return { kind: 'replayed_failure', requestId, code: record.failure_code as TurnFailureCode }
    // mutant: idempotency.replay-2
    case 'completed':
      return replay(sql, requestId)
    default:
      // mutant: turn.states-3
      return undefined
  }
}

/** `idempotency.replay`: what the settlement stored, byte for byte. A large reply is read later, so that the writer serves others. */
function replay(sql: Statements, requestId: string): AdmissionOutcome {
  const row = sql.findReply.get(largeReply / bytesPerToken, requestId)
  if (!row) throw new Error(`completed turn ${requestId} has no reply`)
  if (row.content === null) return { kind: 'large_replay', requestId, bytes: Number(row.tokens) * bytesPerToken }
  const reply: StoredReply = {
    requestId,
    conversationId: row.conversation_id as string,
    messageId: row.id as string,
    content: row.content as string,
    createdAt: Number(row.created_at),
    promptTokens: Number(row.prompt_tokens),
    completionTokens: Number(row.completion_tokens),
    charged: row.charged as bigint,
    incomplete: row.incomplete === 1n,
    finishReason: row.finish_reason as ReplyFinishReason | null,
  }
  // mutant: idempotency.replay
  return { kind: 'replay', reply }
}

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)
