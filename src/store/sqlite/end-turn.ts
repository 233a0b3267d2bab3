/** The two ways to end a turn: settled with its reply, or without one. Each is fenced and atomic within the caller's transaction. */
import { reservesUnpaid } from '../../cause-kinds.ts'
import type { Row } from '../sql.ts'
import type { Settlement, SettlementOutcome, TurnFailure, TurnFailureOutcome } from '../turn-records.ts'
import type { Clock } from './clock.ts'
import { recordEnd } from './events.ts'
import type { Statements } from './statements.ts'

export function settle(sql: Statements, clock: Clock, item: Settlement): SettlementOutcome {
  const { requestId, fence } = item
  const turn = sql.findOwnRunning.get(requestId, fence)
  if (!turn) return { kind: 'lost' }
  const now = endOf(turn, clock)
  const conversationId = turn.conversation_id as string
  const estimated = item.usageEstimated ? 1 : 0
  sql.completeTurn.run(
    item.promptTokens,
    item.cachedPromptTokens,
    item.cacheWriteTokens,
    item.completionTokens,
    item.reasoningTokens,
    estimated,
    item.toolCalls,
    item.charged,
    item.firstDeltaMs,
    item.incomplete ? 1 : 0,
    item.finishReason,
    now,
    requestId,
  )
  const seq = Number(turn.message_count) + 1
  const userTokens = turn.message_tokens as bigint
  sql.insertMessage.run(item.userMessageId, conversationId, seq, 'user', turn.message!, userTokens, null, requestId, turn.created_at!)
  const citations = item.citations.length > 0 ? JSON.stringify(item.citations) : null
  const { assistantMessageId: messageId, content, contentTokens } = item
  sql.insertMessage.run(messageId, conversationId, seq + 1, 'assistant', content, contentTokens, citations, requestId, now)
  sql.growConversation.run(userTokens + BigInt(contentTokens), now, conversationId)
  // `billing.once`: one_charge_per_turn forbids a second row, even for a charge of zero.
  sql.insertCharge.run(item.ledgerEntryId, turn.owner_id!, -item.charged, item.writtenOff, requestId, now)
  // mutant: billing.once-2
  sql.payFromHold.run(item.charged, turn.hold!, turn.owner_id!)
  // `billing.spend-limit`: the windows of its admission, even if they have ended.
  // mutant: limit-that-counts-twice
  if (turn.counts_in !== null) sql.settleSpending.run(item.charged, turn.hold!, turn.counts_in!)
  if (item.trace) sql.insertTrace.run(requestId, turn.run!, item.trace)
  recordEnd(sql, turn, { state: 'completed', charge: item }, now)
  const { promptTokens, completionTokens, charged, incomplete, finishReason } = item
  return {
    kind: 'settled',
    reply: {
      requestId,
      conversationId,
      messageId,
      content,
      createdAt: now,
      promptTokens,
      completionTokens,
      charged,
      incomplete,
      finishReason,
    },
  }
}

export function fail(sql: Statements, clock: Clock, item: TurnFailure): TurnFailureOutcome {
  // mutant: turn.states
  const turn = sql.findOwnRunning.get(item.requestId, item.fence)
  if (!turn) return { kind: 'lost' }
  endWithoutReply(sql, clock, turn, item)
  if (item.neededHold > 0n) sql.raiseMinHold.run(item.neededHold, turn.agent_id!)
  return { kind: 'ended' }
}

/**
 * The hold is released, nothing is added to the history, and nothing is charged except finished tool calls of a cancelled turn
 * (`billing.tool-price`). `billing.unpaid`: what the turn used stays reserved if its caller can cause such an end. Charge and unpaid are never
 * more than the hold, so held and unpaid together never exceed the balance.
 */
export function endWithoutReply(
  sql: Statements,
  clock: Clock,
  turn: Row,
  end: Omit<TurnFailure, 'requestId' | 'fence' | 'neededHold'>,
): void {
  const hold = turn.hold as bigint
  const charged = end.charge?.charged ?? 0n
  const unpaid = end.unpaid < hold - charged ? end.unpaid : hold - charged
  const reserved = reservesUnpaid(end.causeKind) ? unpaid : 0n
  const now = endOf(turn, clock)
  if (end.charge) {
    const { ledgerEntryId, toolCalls, writtenOff } = end.charge
    sql.endWithCharge.run(end.state, end.code, end.cause, now, unpaid, reserved, toolCalls, charged, turn.request_id!)
    sql.insertCharge.run(ledgerEntryId, turn.owner_id!, -charged, writtenOff, turn.request_id!, now)
    sql.payFromHold.run(charged, charged, turn.owner_id!)
  } else sql.endTurn.run(end.state, end.code, end.cause, now, unpaid, reserved, turn.request_id!)
  // `turn.errors`: the primary key forbids a second error of a run. A cancelled turn has none.
  if (end.causeKind !== null) sql.insertError.run(turn.request_id!, turn.run!, end.causeKind, now)
  if (end.trace) sql.insertTrace.run(turn.request_id!, turn.run!, end.trace)
  sql.releaseHold.run(hold - charged, reserved, turn.owner_id!)
  if (turn.counts_in !== null) sql.releaseSpending.run(charged, hold, reserved, turn.counts_in!)
  recordEnd(sql, turn, end, now)
}

/** A turn never ends before it starts, also if the clock was set back. */
const endOf = (turn: Row, clock: Clock): number => Math.max(clock.now(), Number(turn.started_at))
