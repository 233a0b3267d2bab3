/**
 * The checker of a run: every promise that its history can show, each check a pure function over the events. Knows nothing of the service but the
 * specification and the rulings: it imports none of its code, so that a mistake there is not made here once more.
 */
import { checkCanaries } from './checks/canaries.ts'
import { checkLimits } from './checks/limits.ts'
import { checkModels, isCalm } from './checks/models.ts'
import { checkMoney } from './checks/money.ts'
import { readHistoryOf } from './checks/reading.ts'
import type { CheckName, Violation } from './checks/reading.ts'
import { checkReplies } from './checks/replies.ts'
import { checkStates, resolutionOf } from './checks/states.ts'
import type { Resolution } from './checks/states.ts'
import { checkTools } from './checks/tools.ts'
import { checkWire } from './checks/wire.ts'
import type { HistoryEvent } from './history.ts'

export type { CheckName, Resolution, Violation }

/** Empty where every promise was kept. */
export function check(events: HistoryEvent[]): Violation[] {
  const reading = readHistoryOf(events)
  return [
    ...checkReplies(reading),
    ...checkWire(reading),
    ...checkLimits(reading),
    ...checkModels(reading),
    ...checkStates(reading),
    ...checkMoney(reading),
    ...checkTools(reading),
    ...checkCanaries(reading),
  ]
}

/** For each key and body: when it was opened, when it was final, and what it met. */
export function resolutions(events: HistoryEvent[]): Resolution[] {
  return readHistoryOf(events).requests.map(resolutionOf)
}

/** During how many keys nothing was broken: to these the strictest checks apply. */
export function countCalm(events: HistoryEvent[]): number {
  const reading = readHistoryOf(events)
  return reading.requests.filter((request) => isCalm(reading, request)).length
}
