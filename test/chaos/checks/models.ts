/** The model calls: H3 (how many), H8 (none for refused requests), H10 (with exactly the stored history); `turn.states`. Pure. */
import type { ModelCallEvent } from '../history.ts'
import { maxCallsOfLostRun, maxCallsPerAttempt, ruledOf, takesSeveralSteps } from '../messages.ts'
import { isUnheard } from './reading.ts'
import type { Reading, Request, Try, Violation } from './reading.ts'

export function checkModels(reading: Reading): Violation[] {
  return [...howOften(reading), ...notAfterReply(reading), ...notWhenRefused(reading), ...exactHistory(reading)]
}

// A run has three attempts, each by another process.
const attemptsPerRun = 3

/** There was no fault while it was running. */
export const isCalm = (reading: Reading, { openedAt, tries }: Request): boolean =>
  !reading.disturbed(openedAt, Math.max(openedAt, ...tries.filter(({ call }) => !call.final).map(({ answer }) => answer?.at ?? Infinity)))

/** Refusals without a fault, after which a caller may have given up. */
const changed = new Set([
  'insufficient_balance',
  'spend_limit_exceeded',
  'agent_disabled',
  'invalid_api_key',
  'idempotency_conflict',
  'not_found',
])

/** H3: exactly as many as specified without a fault, and never more than the attempts explain. */
function* howOften(reading: Reading): Generator<Violation> {
  for (const request of reading.requests) {
    const { message, reply, tries, cancelledAt } = request
    const calls = reading.modelsOf.get(message) ?? []
    const ruled = ruledOf(message)
    const codes = tries.filter(({ call }) => !call.final).map(({ code }) => code)
    const events = [...(tries[0]?.events ?? []), ...calls.map(({ index }) => index)]
    if (reply && calls.length === 0) yield { check: 'H3', what: `a reply to "${message}" without a model call`, events }
    const runs = [...request.requestIds].map((id) => reading.runs.get(id)).find(Boolean)
    const lost = tries.filter((one) => mayBeLost(reading, one)).length * maxCallsOfLostRun
    if (runs && calls.length > ((runs.run - 1) * attemptsPerRun + runs.attempts) * maxCallsPerAttempt(message) + lost)
      yield {
        check: 'H3',
        what: `${calls.length} model calls for "${message}" in ${runs.run} runs, ${runs.attempts} attempts in the last`,
        events,
      }
    if (!ruled || !isCalm(reading, request) || codes.some((code) => changed.has(code ?? '')) || !tries.some(isAnswered)) continue
    // A cancel, which cancels.ts explains, omits what is left of a turn.
    const isCut = reply?.said.message.incomplete === true || (!reply && cancelledAt !== undefined)
    const ends = reply ? 'reply' : 'failure'
    if (!isCut && ends !== ruled.ends)
      yield { check: 'calm', what: `"${message}" ends in a ${ends}`, events: tries.flatMap((one) => one.events) }
    else if (isCut ? calls.length > ruled.calls : calls.length !== ruled.calls)
      yield { check: 'H3', what: `${calls.length} model calls for "${message}", which takes ${ruled.calls}`, events }
    else if (
      ruled.runs === 1 &&
      ruled.ends === 'reply' &&
      codes.some((code) => code === 'service_unavailable' || code === 'internal_error')
    )
      yield { check: 'calm', what: `an error for "${message}" with nothing broken`, events: tries.flatMap((one) => one.events) }
    else if (tries.some(({ answer }) => answer?.end === 'cut'))
      yield { check: 'calm', what: 'an answer was cut with nothing broken', events: tries.flatMap((one) => one.events) }
  }
}

/** `turn.durable-first`: during a fault, the model may have been called for an admission that was then not stored. */
const mayBeLost = (reading: Reading, { call, answer, code }: Try): boolean =>
  (code === undefined || code === 'service_unavailable' || code === 'internal_error') && reading.disturbed(call.at, answer?.at ?? Infinity)

/** At least one attempt has ended, so its outcome is known. */
const isAnswered = ({ code }: Try): boolean => code === 'reply' || code === 'internal_error' || code === 'turn_cancelled'

// A lease lasts 12 s. By then a process that has lost its lease knows it.
const knowsWithinMs = 15_000

/** H3: after a reply was seen, the model is never called for its message again. */
function* notAfterReply(reading: Reading): Generator<Violation> {
  for (const { reply, message, openedAt, tries } of reading.requests) {
    const late = reply && reading.modelsOf.get(message)?.find(({ at }) => at > reply.at)
    // A process that was frozen or cut off does not know yet that another one has completed the turn.
    if (late && !reading.disturbed(Math.max(openedAt, late.at - knowsWithinMs), late.at))
      yield { check: 'H3', what: `the model was asked about "${message}" after its reply`, events: [...tries[0]!.events, late.index] }
  }
}

/** H8: before the first model call, an attempt was sent that was not refused. */
function* notWhenRefused(reading: Reading): Generator<Violation> {
  for (const [message, calls] of reading.modelsOf) {
    const request = reading.byMessage.get(message)
    const [first] = calls
    const sent = (request?.tries ?? []).filter(({ call }) => call.at <= first!.at && !call.resumes)
    const mayRun = sent.some((one) => mayBegin(one) || (takesSeveralSteps(message) && needsMoney.has(one.code ?? '')))
    if (mayRun) continue
    const refused = reading.tries.filter(({ call }) => call.message === message)
    yield {
      check: 'H8',
      what: `the model was asked about "${message}", which was refused: ${refused.map(({ code }) => code).join(', ')}`,
      events: [...refused.flatMap(({ events }) => events), first!.index],
    }
  }
}
const needsMoney = new Set(['insufficient_balance', 'spend_limit_exceeded'])
const begins = new Set(['reply', 'accepted', 'internal_error', 'service_unavailable'])
/** A stream that has started was admitted, whatever its end: the hold for its second step may not have been covered. */
const mayBegin = (one: Try): boolean => !isUnheard(one) && (one.code === undefined || begins.has(one.code) || one.answer?.status === 200)

/** H10: the system prompt is followed by the conversation, complete and in order, and then the message. */
function* exactHistory(reading: Reading): Generator<Violation> {
  const { conversations, byMessage, models, requests } = reading
  const byPair = new Map(conversations.map((conversation) => [JSON.stringify([conversation.key, conversation.user]), conversation]))
  const byConversation = Map.groupBy(
    requests.filter(({ reply }) => reply),
    ({ key, user }) => JSON.stringify([key.name, user]),
  )
  for (const model of models) {
    const request = byMessage.get(model.message)
    if (!request || reading.erasedBy(request, Infinity)) continue
    const pair = JSON.stringify([request.key.name, request.user])
    const stored = byPair.get(pair)
    const wrong = (what: string): Violation => ({ check: 'H10', what, events: [model.index, ...(stored ? [stored.index] : [])] })
    const seen = historyOf(model)
    const held = stored?.messages ?? []
    const same = seen.every(({ role, content }, at) => held[at]?.role === role && held[at]?.content === content)
    if (!same || seen.length % 2 === 1) {
      if (stored || seen.length > 0) yield wrong(`the model saw another history for "${model.message}" than is stored`)
      continue
    }
    const own = held.findIndex(({ content }) => content === model.message)
    const isItsReply = request.reply?.said.message.content.includes(`[c${model.serial}]`) ?? false
    if (own >= 0 && (isItsReply ? seen.length !== own : seen.length > own))
      yield wrong(`the model saw ${seen.length} messages before "${model.message}", which stands behind ${own}`)
    // What was returned before this message was first sent must be there.
    const before = (byConversation.get(pair) ?? []).filter(({ reply }) => reply!.at <= request.openedAt).length
    if (seen.length < before * 2) yield wrong(`the model saw ${seen.length} messages, and ${before} exchanges were returned before`)
  }
}

/** Without the system prompt, the message, and the results of its tools. */
function historyOf({ messages }: ModelCallEvent): ModelCallEvent['messages'] {
  const last = messages.findLastIndex(({ role }) => role === 'user')
  return messages.slice(0, last).filter(({ role }, at) => at > 0 || role !== 'system')
}
