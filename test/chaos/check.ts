/**
 * The checker of a run: every guarantee that a history can show, each check a pure function of the events. It imports no code of the
 * service, so that it does not repeat a mistake of the service.
 */
import { checkAccess } from './checks/access.ts'
import { acceptedOutcomes, checkBackground } from './checks/background.ts'
import { cancelOutcomes, checkCancels } from './checks/cancels.ts'
import { checkCanaries } from './checks/canaries.ts'
import { checkFeedback } from './checks/feedback.ts'
import { checkLimits } from './checks/limits.ts'
import { checkModels, isCalm } from './checks/models.ts'
import { checkMoney } from './checks/money.ts'
import { readHistoryOf } from './checks/reading.ts'
import type { CheckName, Violation } from './checks/reading.ts'
import { checkReplies } from './checks/replies.ts'
import { checkResumes } from './checks/resumes.ts'
import { checkSpendLimits } from './checks/spend-limits.ts'
import { checkStates, resolutionOf } from './checks/states.ts'
import type { Resolution } from './checks/states.ts'
import { checkTools } from './checks/tools.ts'
import { checkUnfair } from './checks/unfair.ts'
import { checkWebhooks } from './checks/webhooks.ts'
import { checkWire } from './checks/wire.ts'
import type { HistoryEvent } from './history.ts'

export type { CheckName, Resolution, Violation }

/** Empty if every guarantee held. */
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
    ...checkResumes(reading),
    ...checkCancels(reading),
    ...checkBackground(reading),
    ...checkFeedback(reading),
    ...checkWebhooks(reading),
    ...checkSpendLimits(reading),
    ...checkAccess(reading),
    ...checkUnfair(reading),
  ]
}

/** For each key and body: when it was first sent, when it was final, and the errors in between. */
export function resolutions(events: HistoryEvent[]): Resolution[] {
  return readHistoryOf(events).requests.map(resolutionOf)
}

/** The number of keys during which there was no fault. The strictest checks apply to these. */
export function countCalm(events: HistoryEvent[]): number {
  const reading = readHistoryOf(events)
  return reading.requests.filter((request) => isCalm(reading, request)).length
}

/** The requests to cancel a turn, by what they led to. */
export function countCancels(events: HistoryEvent[]): Record<string, number> {
  return cancelOutcomes(readHistoryOf(events))
}

/** The requests that were accepted, by what their callers did then. */
export function countAccepted(events: HistoryEvent[]): Record<string, number> {
  return acceptedOutcomes(readHistoryOf(events))
}

/** The requests about access, by what was asked and its result. */
export function countAccess(events: HistoryEvent[]): Record<string, number> {
  const calls = events.filter((event) => event.kind === 'access')
  const results = Map.groupBy(calls, ({ what, result }) => (result === 'acknowledged' ? what : `${what} ${result}`))
  return Object.fromEntries([...results].map(([name, of]) => [name, of.length]).toSorted())
}

/** The requests of the unfair owner, by what they were and how they were answered. */
export function countUnfair(events: HistoryEvent[]): Record<string, number> {
  const sent = events.filter((event) => event.kind === 'unfair')
  const answers = Map.groupBy(sent, ({ what, status, end }) => `${what} ${status ?? end}`)
  return Object.fromEntries([...answers].map(([name, of]) => [name, of.length]).toSorted())
}

/** What the receiver of webhooks got, and how it answered. */
export function countDeliveries(events: HistoryEvent[]): Record<string, number> {
  const received = events.filter((event) => event.kind === 'webhook')
  const answers = Map.groupBy(received, ({ manner }) => manner)
  return {
    events: new Set(received.map(({ id }) => id)).size,
    requests: received.length,
    ...Object.fromEntries([...answers].map(([manner, of]) => [manner, of.length])),
  }
}

/** The connections that continued a stream, those of them that got the reply, and how often the text started over. */
export function countResumes(events: HistoryEvent[]): Record<string, number> {
  const resumes = readHistoryOf(events).tries.filter(({ call }) => call.resumes)
  const resets = resumes.flatMap(({ answer }) => (answer?.events ?? []).filter(({ event }) => event === 'response.output_text.reset'))
  return { connections: resumes.length, 'with the reply': resumes.filter(({ reply }) => reply).length, resets: resets.length }
}
