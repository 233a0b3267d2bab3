/** Tool calls: one with side effects reaches its server once for each time that the model requested it (`tools.journal`). Pure. */
import type { ToolEvent } from '../history.ts'
import { readMessage } from '../messages.ts'
import { isCalm } from './models.ts'
import type { Reading, Violation } from './reading.ts'

export function* checkTools(reading: Reading): Generator<Violation> {
  const calls = reading.events.flatMap((event, index) => (event.kind === 'tool' ? [{ ...event, index }] : []))
  const requests = new Map(reading.requests.map((request) => [readMessage(request.message)?.name, request]))
  yield* onceForAKey(calls)
  for (const [name, made] of Map.groupBy(calls, ({ message }) => message)) {
    const request = requests.get(name)
    const events = made.map(({ index }) => index)
    if (!request) yield { check: 'tools', what: `a tool was called for ${name}, which no caller sent`, events }
    if (!request) continue
    for (const { idempotencyKey, index } of made) {
      const [, requestId] = /^([0-9a-f-]{36}):[1-9]\d*:[1-9]\d*$/.exec(idempotencyKey) ?? []
      if (requestId === undefined || (request.requestIds.size > 0 && !request.requestIds.has(requestId)))
        yield { check: 'tools', what: `the key of a tool call is ${idempotencyKey}`, events: [index] }
    }
  }
  yield* asOftenAsAsked(reading, calls)
}

/** Never more often than the model requested, and without a fault not less often either. */
function* asOftenAsAsked(reading: Reading, calls: (ToolEvent & { index: number })[]): Generator<Violation> {
  const bookings = Map.groupBy(
    calls.filter(({ sideEffects }) => sideEffects),
    ({ message }) => message,
  )
  for (const request of reading.requests) {
    const models = reading.modelsOf.get(request.message) ?? []
    const asked = models.reduce((sum, { asksToBook }) => sum + asksToBook, 0)
    const made = bookings.get(readMessage(request.message)?.name ?? '') ?? []
    // A cancel omits the calls that have not started.
    const isWhole = request.reply && !request.reply.said.message.incomplete
    if (made.length > asked || (isWhole && isCalm(reading, request) && made.length < asked)) {
      const what = `asked to book ${asked} times and booked ${made.length} times for "${request.message}"`
      yield { check: 'tools', what, events: [...models, ...made].map(({ index }) => index) }
    }
  }
}

function* onceForAKey(calls: (ToolEvent & { index: number })[]): Generator<Violation> {
  for (const [key, made] of Map.groupBy(calls, ({ idempotencyKey }) => idempotencyKey)) {
    const events = made.map(({ index }) => index)
    if (made.length > 1 && made.some(({ sideEffects }) => sideEffects))
      yield { check: 'tools', what: `a call with side effects was made ${made.length} times under ${key}`, events }
    else if (new Set(made.map(({ name, arguments: given }) => `${name} ${given}`)).size > 1)
      yield { check: 'tools', what: `two calls under ${key}`, events }
  }
}
