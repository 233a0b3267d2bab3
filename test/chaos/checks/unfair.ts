/**
 * The requests of the unfair owner: each gets one of the statuses that are correct for it, and a response unless it leaves. What the others
 * get meanwhile is for the other checks, which know no unfair owner: without a fault, no one else gets a 429 or 503 (models.ts, wire.ts).
 * Pure.
 */
import { unfairRequests } from '../history.ts'
import type { Reading, Violation } from './reading.ts'

// Because of what the owner sent before, or of a fault.
const limited = new Set([429, 503])

export function* checkUnfair({ events, disturbed }: Reading): Generator<Violation> {
  for (const [index, event] of events.entries()) {
    if (event.kind !== 'unfair' || event.end === 'left') continue
    const { what, status, startedAt, at, error } = event
    const correct: readonly number[] = unfairRequests[what]
    const explained = status === null || status === 500 ? disturbed(startedAt, at) : correct.includes(status) || limited.has(status)
    if (!explained) yield { check: 'unfair', what: `${what} is answered with ${status ?? `no response: ${error}`}`, events: [index] }
  }
}
