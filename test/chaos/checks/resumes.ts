/**
 * Streams that a caller continued on another connection (`stream.resume`): what it has shown in the end is the reply, whichever servers sent
 * the parts. Pure.
 */
import { ruledOf } from '../messages.ts'
import { isCalm } from './models.ts'
import { parse } from './reading.ts'
import type { Reading, Request, Try, Violation } from './reading.ts'

export function checkResumes(reading: Reading): Violation[] {
  return reading.requests.flatMap((request) => {
    const calls = new Map(request.tries.map((one) => [one.call.call, one]))
    return request.tries.flatMap((one) => (one.call.resumes ? [...continued(one, calls), ...needlessReset(one, request, reading)] : []))
  })
}

/** The tries of one request, by the number of their call. */
type Calls = Map<number, Try>

function* continued(one: Try, calls: Calls): Generator<Violation> {
  const { answer, call, code, reply } = one
  const { requestId, after } = call.resumes!
  const before = calls.get(call.resumes!.call)
  const wrong = (what: string): Violation => ({ check: 'resume', what, events: [...(before?.events ?? []), ...one.events] })
  if (code === 'ended' && !isEnd(before?.answer?.events?.at(-1)?.event))
    yield wrong(`a stream was continued with a 204, although its last event had not arrived`)
  if (!answer?.events) return
  if (answer.headers['x-request-id'] !== requestId) yield wrong(`a stream of ${requestId} was continued with another turn`)
  const [first] = answer.events
  if (first && (first.event === 'response.created') !== (after === null))
    yield wrong(`a stream that continues after ${after} starts with ${first.event}`)
  if (!reply) return
  const { content } = reply.said.message
  const shown = shownAt(one, calls)
  if (shown !== content) yield wrong(`a continued stream showed "${shown}" and the reply is "${content}"`)
}

const isEnd = (event: string | undefined): boolean => event === 'response.completed' || event === 'error'

/** The text that the caller shows after this connection and those that it continues. */
function shownAt({ answer, call }: Try, calls: Calls): string {
  const before = call.resumes && calls.get(call.resumes.call)
  let shown = before && call.resumes!.after !== null ? shownAt(before, calls) : ''
  for (const { event, data } of answer?.events ?? []) {
    if (event === 'response.created' || event === 'response.output_text.reset') shown = ''
    if (event === 'response.output_text.delta') shown += (parse(data) as { delta: string }).delta
  }
  return shown
}

/** Without a fault, a turn that runs once has one text. */
function* needlessReset(one: Try, request: Request, reading: Reading): Generator<Violation> {
  if (!one.answer?.events?.some(({ event }) => event === 'response.output_text.reset')) return
  if (ruledOf(request.message)?.runs === 1 && isCalm(reading, request))
    yield { check: 'resume', what: `the stream of "${request.message}" was reset with nothing broken`, events: one.events }
}
