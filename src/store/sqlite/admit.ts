/**
 * The admission transaction, one item of it: record → agent → conversation → balance → a running turn. What is refused leaves nothing behind.
 * Specification 4.4; rulings `order.admission`, `order.validation`, `turn.states`, `billing.hold`.
 */
import { recordLifetimeMs } from '../turn-records.ts'
import type { Admission, AdmissionOutcome, StoredReply } from '../turn-records.ts'
import type { Row } from '../sql.ts'
import type { Clock } from './clock.ts'
import { readHistory, readJournal, readStepsBefore } from './history.ts'
import type { Statements } from './statements.ts'

// Rulings, Conversations and text: code points of a message where its agent is gone and says nothing.
const usualLongestMessage = 32_000

/**
 * `order.admission`, `order.validation`: the first of these answers.
 * 1. The key's record, while it lives, where it is of this very request: erased, in progress, the stored failure, the stored reply. A
 *    released one answers nothing: the request may run again, and passes what follows as any other.
 * 2. A message longer than the agent takes now (a run that continues: than it took then), or than the usual length where the agent is gone: `message_too_long`.
 * 3. The key's record is of another request, whatever its state: `idempotency_conflict`.
 * 4. This process takes nothing new: `overloaded`.
 * 5. The agent is gone, is off; the conversation is busy; the hold does not fit. Otherwise the turn runs.
 */
export function admit(sql: Statements, clock: Clock, item: Admission): AdmissionOutcome {
  const now = clock.now()
  const record = findLiveRecord(sql, now, item)
  const isSame = record !== undefined && isOfThisRequest(record, item)
  const answer = isSame ? answerFromRecord(sql, record) : undefined
  if (answer) return answer

  // `retry.continues`: a released run whose tool calls have had side effects goes on as it began, whatever the agent has become
  const continued = isSame && record.continues_from !== null ? record : undefined
  const agent = sql.findAgent.get(continued?.agent_version ?? null, item.agentId)
  const longest = agent?.deleted_at === null ? Number(agent.max_message_length) : usualLongestMessage
  if (item.messageLength > longest) return { kind: 'message_too_long', longest }
  if (record && !isSame) return { kind: 'idempotency_conflict' }
  if (!item.mayRun) return { kind: 'overloaded' }
  if (!agent || agent.deleted_at !== null) return { kind: 'agent_not_found' }
  if (agent.enabled !== 1n) return { kind: 'agent_disabled' }
  const released = record

  const conversation = released
    ? sql.findConversationById.get(released.conversation_id!)
    : sql.findConversation.get(item.apiKeyId, item.externalUserId)
  // `conversation.busy`, ahead of the constraint one_running_turn_per_conversation
  if (conversation && sql.findRunning.get(conversation.id!)) return { kind: 'conversation_busy' }

  // `billing.hold`: stored numbers only
  const window = min(agent.history_max_tokens as bigint, (conversation?.message_tokens ?? 0n) as bigint)
  const promptTokens = (agent.fixed_tokens as bigint) + window + (agent.knowledge_max_tokens as bigint) + BigInt(item.messageTokens)
  const promptPrice = agent.prompt_price as bigint
  const completionPrice = agent.completion_price as bigint
  const hold = perMillion(promptTokens * promptPrice + (agent.max_output_tokens as bigint) * completionPrice)
  const ownerId = agent.owner_id as string
  if (sql.takeHold.run(hold, ownerId, hold).changes === 0n) return { kind: 'insufficient_balance' }

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
    sql.runAgain.run(run, fence, leaseUntil, hold, agentVersion, promptPrice, completionPrice, now, requestId)
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
      promptPrice,
      completionPrice,
      item.message,
      item.messageTokens,
      now,
      now,
    )
  }
  const price = { promptPerMillion: promptPrice, completionPerMillion: completionPrice }
  const history = conversation ? readHistory(sql, conversationId, Number(window)) : []
  const journal = continued ? readJournal(sql, requestId, continued.continues_from!) : []
  const stepsBefore = released ? readStepsBefore(sql, requestId, continued?.continues_from ?? run) : 0
  const { apiKeyId, agentId, message } = item
  const turn = {
    requestId,
    conversationId,
    apiKeyId,
    agentId,
    agentVersion,
    fence,
    run,
    attempt: 1,
    message,
    price,
    hold,
    history,
    journal,
    stepsBefore,
  }
  return { kind: 'admitted', turn }
}

/** `idempotency.lifetime`: decided here, by the store's clock; a running record never expires. An expired one gives its key free. */
function findLiveRecord(sql: Statements, now: number, item: Admission): Row | undefined {
  const record = sql.findRecord.get(item.apiKeyId, item.idempotencyKey)
  if (!record || record.state === 'running' || Number(record.ended_at) + recordLifetimeMs > now) return record
  sql.clearKey.run(record.request_id!)
  return undefined
}

/** `idempotency.conflict`: before the state, so another body conflicts while the first runs. */
const isOfThisRequest = (record: Row, item: Admission): boolean => Buffer.from(item.fingerprint).equals(record.fingerprint as Uint8Array)

/** undefined: the record was released, and the request may run again. */
function answerFromRecord(sql: Statements, record: Row): AdmissionOutcome | undefined {
  // `erase`: its text is gone, so it neither answers nor runs again
  if (record.erased_at !== null) return { kind: 'erased' }
  const requestId = record.request_id as string
  switch (record.state) {
    case 'running':
      // `idempotency.in-progress`
      return { kind: 'idempotency_in_progress' }
    case 'failed':
      return { kind: 'replayed_failure', requestId }
    case 'completed':
      return { kind: 'replay', reply: readReply(sql, requestId) }
    default:
      return undefined
  }
}

/** `idempotency.replay`: what settlement stored, byte for byte. */
function readReply(sql: Statements, requestId: string): StoredReply {
  const row = sql.findReply.get(requestId)
  if (!row) throw new Error(`completed turn ${requestId} has no reply`)
  return {
    requestId,
    conversationId: row.conversation_id as string,
    messageId: row.id as string,
    content: row.content as string,
    createdAt: Number(row.created_at),
    promptTokens: Number(row.prompt_tokens),
    completionTokens: Number(row.completion_tokens),
    charged: row.charged as bigint,
  }
}

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)
/** The one rounding of a hold, up, as ledger.ts rounds a cost. */
const perMillion = (exact: bigint): bigint => (exact + 999_999n) / 1_000_000n
