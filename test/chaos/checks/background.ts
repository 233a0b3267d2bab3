/**
 * Turns whose caller does not wait for the reply (`turn.background`): one that was accepted is admitted and stored, whatever happens then, and
 * a message that has its end is not accepted again. Pure.
 */
import type { Reading, Request, Violation } from './reading.ts'

export function* checkBackground(reading: Reading): Generator<Violation> {
  const hasStored = reading.runs.size > 0
  for (const { tries, cancelledAt, reply, message } of reading.requests) {
    for (const { code, call, answer, requestId, events } of tries) {
      if (code !== 'accepted') continue
      const endedAt = Math.min(reply?.at ?? Infinity, cancelledAt ?? Infinity)
      const wrong = (what: string): Violation => ({ check: 'background', what: `"${message}" was accepted, ${what}`, events })
      if (hasStored && !reading.runs.has(requestId!)) yield wrong('and no turn is stored')
      if (call.at > endedAt && answer!.at > endedAt) yield wrong('although it had its end')
    }
  }
}

/** The requests that were accepted, and those that their callers polled and followed, for the figures of a run. */
export function acceptedOutcomes({ requests }: Pick<Reading, 'requests'>): Record<string, number> {
  const accepted = requests.filter(({ tries }) => tries.some(({ code }) => code === 'accepted'))
  const of = (holds: (request: Request) => unknown): number => accepted.filter(holds).length
  return {
    accepted: accepted.length,
    polled: of(({ polls }) => polls.length > 0),
    followed: of(({ tries }) => tries.some(({ call }) => call.resumes)),
    'with a reply': of(({ reply }) => reply),
  }
}
