/**
 * Builds what a reply stores. Built once per turn, IDs included, so a repeated settlement is the same settlement: it returns the stored
 * outcome and never charges twice (`billing.once`). Does not call the store.
 */
import type { Generated } from '../agent/agent.ts'
import { tokenBound } from '../agent/tokens.ts'
import type { ReplyEnd } from '../finish-reason.ts'
import type { Ids } from '../ids.ts'
import { charge } from '../ledger/ledger.ts'
import type { Settlement } from '../store/turn-records.ts'
import type { LiveTurn } from './live-turn.ts'

/** Everything except the fence, which may rise while the turn waits for the store. */
export function settlementOf(
  { requestId, admitted, firstDeltaMs, trace }: LiveTurn,
  { text, usage, usageEstimated, toolCallsPrice, citations }: Generated,
  { incomplete, finishReason, newId }: ReplyEnd & { newId: Ids['newId'] },
): Omit<Settlement, 'fence'> {
  // mutant: billing.tool-price
  const toolCalls = BigInt(toolCallsPrice)
  return {
    requestId,
    userMessageId: newId('msg'),
    assistantMessageId: newId('msg'),
    ledgerEntryId: newId('led'),
    content: text,
    contentTokens: tokenBound(text),
    citations,
    ...usage,
    usageEstimated,
    toolCalls,
    ...charge(usage, toolCalls, admitted.price, admitted.hold),
    firstDeltaMs,
    incomplete,
    finishReason,
    trace: trace?.encode(admitted.hold, true) ?? null,
  }
}
