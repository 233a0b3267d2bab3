/**
 * Which outcomes of a group are reported before its commit is durable (`turn.durable-first`): those of admitted turns that depend on nothing
 * else in the group. A run that starts then uses what is durable, and the model receives no history that may still be lost.
 */
import type { AdmissionOutcome, SettlementOutcome } from '../turn-records.ts'
import type { Answer, EarlyAnswer, WireOutcome } from './protocol.ts'

/** One item of a call, with its place in the answer. */
export type Item = { operation: string; argument: unknown; answer: Answer; index: number }

/** Called when all statements of the group have succeeded. */
export function earlyAnswers(items: Item[]): EarlyAnswer[] {
  // An operator's change may be what an admission of the group follows from, a new version of its agent for example.
  if (items.some(({ operation }) => operation === 'write')) return []
  const settled = new Set<string>()
  const early = new Map<number, EarlyAnswer['early']>()
  for (const { operation, answer, index } of items) {
    const outcome = answer.outcomes[index]!
    if (operation === 'settle') {
      const settlement = valueOf<SettlementOutcome>(outcome)
      if (settlement.kind === 'settled') settled.add(settlement.reply.conversationId)
    } else if (operation === 'admit') {
      const admission = valueOf<AdmissionOutcome>(outcome)
      if (admission.kind !== 'admitted' || settled.has(admission.turn.conversationId)) continue
      const ofCall = early.get(answer.id)
      if (ofCall) ofCall.push([index, outcome])
      else early.set(answer.id, [[index, outcome]])
    }
  }
  return [...early].map(([id, outcomes]) => ({ id, early: outcomes }))
}

const valueOf = <Value>(outcome: WireOutcome): Value => (outcome as { value: Value }).value
