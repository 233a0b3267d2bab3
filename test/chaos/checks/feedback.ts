/**
 * Feedback on turns (`feedback`): the last one counts. What is stored in the end is what was confirmed last, or feedback without a response,
 * which may have been stored at any later time. Pure.
 */
import type { StoredFeedback } from '../history.ts'
import { mayHaveEffect } from './cancels.ts'
import type { GivenFeedback, Reading, Request, Violation } from './reading.ts'

export function* checkFeedback(reading: Reading): Generator<Violation> {
  const lists = reading.events.flatMap((event, index) =>
    event.kind === 'stored' && event.what === 'feedback' ? [{ ...event, index }] : [],
  )
  const stored = new Map(lists.flatMap(({ feedback, index }) => feedback.map((one) => [one.requestId, { ...one, index }] as const)))
  for (const request of reading.requests) {
    for (const one of request.feedback) yield* asGiven(one)
    if (lists.length > 0) yield* lastCounts(request, stored, reading)
  }
  const given = new Set(reading.requests.flatMap(({ feedback }) => feedback.map(({ call }) => call.requestId)))
  for (const [requestId, { index }] of stored)
    if (!given.has(requestId)) yield { check: 'feedback', what: `feedback on ${requestId}, which no one gave`, events: [index] }
}

type Stored = StoredFeedback['feedback'][0]

const isSame = ({ call }: GivenFeedback, { rating, comment, tags }: Omit<Stored, 'requestId'>): boolean =>
  rating === call.rating && comment === call.comment && JSON.stringify(tags) === JSON.stringify(call.tags)

function* asGiven(one: GivenFeedback): Generator<Violation> {
  if (one.feedback && !isSame(one, one.feedback)) yield { check: 'feedback', what: 'other feedback was confirmed', events: one.events }
}

function* lastCounts(request: Request, stored: Map<string, Stored & { index: number }>, reading: Reading): Generator<Violation> {
  for (const [requestId, given] of Map.groupBy(request.feedback, ({ call }) => call.requestId)) {
    const found = stored.get(requestId)
    const wrong = (what: string): Violation => ({
      check: 'feedback',
      what: `${what} on "${request.message}"`,
      events: [...given.flatMap(({ events }) => events), ...(found ? [found.index] : [])],
    })
    const confirmed = given.filter(({ feedback }) => feedback)
    const erased = reading.erasedBy(request, Infinity)
    if (erased) {
      if (found) yield wrong('erased feedback is stored')
      continue
    }
    const source = found && given.find((one) => isSame(one, found))
    if (found && (!source || !mayHaveEffect(source))) yield wrong('feedback is stored that no one gave')
    if (!found && confirmed.length > 0) yield wrong('confirmed feedback is not stored')
    // What had no response may have been stored after everything else.
    const later = source?.feedback && confirmed.find(({ call }) => call.at > source.answer!.at)
    if (later) yield wrong(`"${source.call.comment}" is stored, and "${later.call.comment}" was given after it`)
  }
}
