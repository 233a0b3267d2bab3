/**
 * Turns that their caller asked to cancel (`turn.cancel`): each ends once, as the responses say, and only a turn with such a request ends as
 * cancelled or with an incomplete reply. That a cancelled turn is not charged and not in the history is checked with the others, in money.ts
 * and replies.ts. Pure.
 */
import { isUnheard } from './reading.ts'
import type { Cancel, Reading, Request, Violation } from './reading.ts'
import { transient } from './replies.ts'

export function checkCancels(reading: Reading): Violation[] {
  return [
    ...reading.requests.flatMap((request) => [...wasAsked(request), ...endsOnce(request, reading), ...asReported(request)]),
    ...stops(reading),
    ...stored(reading),
  ]
}

// The answer is certain that nothing was stored.
const refusals = new Set(['invalid_api_key', 'rate_limit_exceeded', 'api_rate_limit_unavailable', 'not_found'])

/** A request whose response was lost may have been stored. */
export const mayHaveEffect = (one: Pick<Cancel, 'answer' | 'code'>): boolean => !isUnheard(one) && !refusals.has(one.code ?? '')

/** One that came after the end of the turn was not stored. */
const mayBeStored = (cancel: Cancel): boolean => mayHaveEffect(cancel) && cancel.turn?.cancel_requested !== false

// A turn runs while a caller gets these.
const isOfRunning = new Set(['accepted', 'idempotency_in_progress', 'conversation_busy'])

function* wasAsked({ cancels, polls, tries, message }: Request): Generator<Violation> {
  for (const { turn, answer, events } of polls) {
    if (turn?.cancel_requested && !cancels.some((cancel) => mayBeStored(cancel) && cancel.call.at <= answer!.at))
      yield { check: 'cancel', what: `a cancel of "${message}" is reported, and no one asked for it`, events }
  }
  for (const { code, reply, answer, events } of tries) {
    const isCut = code === 'turn_cancelled' || reply?.said.message.incomplete === true
    if (isCut && !cancels.some((cancel) => mayBeStored(cancel) && cancel.call.at <= answer!.at))
      yield { check: 'cancel', what: `"${message}" ended as cancelled, and no one asked for it`, events }
  }
}

/** After `turn_cancelled`, every retry of the key gets it again. */
function* endsOnce(request: Request, reading: Reading): Generator<Violation> {
  const { cancelledAt, reply, tries, message } = request
  if (cancelledAt === undefined) return
  if (reply) yield { check: 'cancel', what: `"${message}" was cancelled and has a reply`, events: eventsOf(request) }
  for (const { call, code, answer, events } of tries) {
    if (call.at <= cancelledAt || code === undefined || code === 'turn_cancelled' || code === 'reply' || code === 'ended') continue
    const isAllowed =
      (transient.has(code) && !isOfRunning.has(code)) ||
      (code === 'internal_error' && reading.disturbed(call.at, answer!.at)) ||
      code === 'invalid_api_key' ||
      reading.erasedBy(request, answer!.at) !== undefined
    if (!isAllowed) yield { check: 'cancel', what: `"${message}" was cancelled, and a retry gets ${code}`, events }
  }
  const late = reading.modelsOf.get(message)?.find(({ at }) => at > cancelledAt)
  if (late && !reading.disturbed(Math.max(request.openedAt, late.at - knowsWithinMs), late.at))
    yield { check: 'cancel', what: `the model was asked about "${message}" after its cancel`, events: [...eventsOf(request), late.index] }
}

// A lease lasts 12 s. By then a process that has lost its lease knows it.
const knowsWithinMs = 15_000

/** An end in the response to a cancel or a poll is the end that the caller of the message gets. */
function* asReported(request: Request): Generator<Violation> {
  const { cancels, polls, reply, cancelledAt, message } = request
  for (const { turn, events } of [...cancels, ...polls]) {
    if (!turn) continue
    const { status, message: said, usage, error } = turn
    const wrong = (what: string): Violation => ({
      check: 'cancel',
      what: `${what} for "${message}"`,
      events: [...events, ...eventsOf(request)],
    })
    if (status === 'cancelled' && (reply || error?.code !== 'turn_cancelled' || !turn.cancel_requested))
      yield wrong('cancelled was reported')
    if (status === 'completed' && cancelledAt !== undefined) yield wrong('a reply was reported')
    if (status === 'failed' && (reply || cancelledAt !== undefined)) yield wrong('a failure was reported')
    if (status !== 'completed' || !reply) continue
    if (JSON.stringify([said, usage]) !== JSON.stringify([reply.said.message, reply.said.usage])) yield wrong('another reply was reported')
  }
}

// A process looks for requests every second, and a tool call with side
// effects that has started takes 0.7 s.
const stopsWithinMs = 1500

/** Without a fault, a confirmed request ends a turn soon, and no model is called for it any more. */
function* stops(reading: Reading): Generator<Violation> {
  const ends = new Map(
    reading.events.flatMap((event, index) => (event.kind === 'modelEnd' ? [[event.serial, { at: event.at, index }] as const] : [])),
  )
  for (const { cancels, message, requestIds } of reading.requests) {
    // A turn that was released runs again without the request.
    if ([...requestIds].some((id) => (reading.runs.get(id)?.run ?? 1) > 1)) continue
    for (const { call, turn, answer, events } of cancels) {
      if (!turn?.cancel_requested) continue
      // The response comes when the turn has ended, and after two seconds.
      if (answer!.at - call.at > stopsWithinMs && !reading.disturbed(call.at, answer!.at))
        yield { check: 'cancel', what: `"${message}" ran on for ${Math.round(answer!.at - call.at)} ms after its cancel`, events }
      const by = answer!.at + stopsWithinMs
      const models = reading.modelsOf.get(message) ?? []
      const late = models
        .flatMap(({ at, index, serial }) => [{ at, index }, ...(ends.has(serial) ? [ends.get(serial)!] : [])])
        .find(({ at }) => at > by)
      if (late && !reading.disturbed(answer!.at, late.at))
        yield { check: 'cancel', what: `the model still generates for "${message}" after its cancel`, events: [...events, late.index] }
    }
  }
}

/** What is stored at the end agrees with what the callers asked for and received. */
function* stored(reading: Reading): Generator<Violation> {
  const asked = new Set(reading.cancels.filter(mayBeStored).map(({ call }) => call.requestId))
  const request = new Map(reading.requests.flatMap((one) => [...one.requestIds].map((id) => [id, one] as const)))
  for (const [index, event] of reading.events.entries()) {
    if (event.kind !== 'stored' || event.what !== 'turns') continue
    for (const { requestId, state } of event.turns) {
      if (state === 'cancelled' && !asked.has(requestId))
        yield { check: 'cancel', what: `${requestId} is stored as cancelled, and no one asked for it`, events: [index] }
      const isCancelled = request.get(requestId)?.cancelledAt !== undefined
      if (isCancelled && state !== 'cancelled')
        yield {
          check: 'cancel',
          what: `a turn that was cancelled is stored as ${state}`,
          events: [index, ...eventsOf(request.get(requestId)!)],
        }
    }
  }
}

const eventsOf = ({ tries }: Request): number[] =>
  tries.flatMap(({ code, events }) => (code === 'turn_cancelled' || code === 'reply' ? events : []))

/** How the requests to cancel ended, for the figures of a run. */
export function cancelOutcomes(reading: Reading): Record<string, number> {
  const outcomes = { 'before text': 0, 'after text': 0, 'too late': 0, 'not stored': 0, lost: 0 }
  for (const { cancels, reply, cancelledAt } of reading.requests) {
    for (const { code, turn } of cancels) {
      if (!turn) outcomes[code === undefined ? 'lost' : 'not stored']++
      else if (cancelledAt !== undefined) outcomes['before text']++
      else if (reply?.said.message.incomplete) outcomes['after text']++
      else outcomes['too late']++
    }
  }
  return outcomes
}
