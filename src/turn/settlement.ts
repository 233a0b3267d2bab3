/**
 * What a reply becomes in the store. Made once a turn, ids included: a settlement that is asked again is the same settlement, and so is told
 * again and never done twice (`billing.once`). Never asks the store itself.
 */
import type { GenerationResult } from '../agent/agent.ts'
import { tokenBound } from '../agent/tokens.ts'
import type { Ids } from '../ids.ts'
import { charge } from '../ledger/ledger.ts'
import type { Settlement } from '../store/turn-records.ts'
import type { LiveTurn } from './live-turn.ts'

/** All but the fence, which may rise while the store is waited for. */
export function settlementOf(
  { requestId, admitted, firstDeltaMs }: LiveTurn,
  { text, usage, usageEstimated, citations }: Extract<GenerationResult, { kind: 'reply' }>,
  newId: Ids['newId'],
): Omit<Settlement, 'fence'> {
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
    ...charge(usage, admitted.price, admitted.hold),
    firstDeltaMs,
  }
}
