/**
 * What must be true of one call by a client: the lines that its driver printed, compared with what the scenario expects and what the proxy
 * recorded. Pure: returns sentences about what is wrong, none if all is well.
 */
import type { Noted } from './noted.ts'
import type { Printed } from './run-driver.ts'
import type { Call, CallKind, Completed, Expect, Failed, Range } from './scenario-file.ts'

// A client that waits for something after the final response waits for the next comment of a stream, 15 s, or for a time limit. A busy machine may
// delay its report for seconds.
const maxLogDelaySeconds = 10
// How early a timer may be by its own clock.
const earlySeconds = 0.01

/** `first`: what the scenario's first call completed with, for a later one. */
export function checkCall(call: Call, { lines, problems, endedAt }: Printed, noted: Noted[], first?: Completed): string[] {
  const { expect } = call
  return [
    ...problems,
    ...checkRequests(call, noted),
    ...checkWaits(expect, noted),
    ...checkEnd(lines, noted, endedAt, expect),
    ...(expect.outcome === 'left' ? [] : checkLines(call, lines)),
    ...checkOutcome(expect, lines, noted, first),
  ]
}

/** What a call of this kind may request, below the agent. Only the first has a key and a body. */
const mayAsk: Record<CallKind, RegExp> = {
  chat: /^POST chat$/,
  background: /^POST chat$/,
  stream: /^(POST chat\/stream|GET turns\/[0-9a-f-]{36}\/stream)$/,
}
const cancels = /^POST turns\/[0-9a-f-]{36}\/cancel$/
const targetOf = ({ method, path }: Noted): string => `${method} ${path.replace(/^\/v1\/agents\/[^/]+\//, '')}`
const isMessage = (note: Noted): boolean => targetOf(note).startsWith('POST chat')
const isCancel = (note: Noted): boolean => cancels.test(targetOf(note))
/** The last response about the reply. */
const lastAnswer = (noted: Noted[]): Noted | undefined => noted.findLast((note) => !isCancel(note))

function checkRequests({ call, client, expect }: Call, noted: Noted[]): string[] {
  const messages = noted.filter(isMessage)
  const keys = new Set(messages.map(({ idempotencyKey }) => idempotencyKey))
  const allowed = (note: Noted): boolean =>
    mayAsk[call].test(targetOf(note)) || (client?.cancel_after_deltas !== undefined && isCancel(note))
  return [
    ...inRange('requests', noted.length, expect.requests),
    ...(expect.deltas_sent
      ? inRange(
          'deltas that were sent',
          total(noted, ({ deltas }) => deltas),
          expect.deltas_sent,
        )
      : []),
    ...(keys.size > 1 ? [`${keys.size} keys were sent: ${[...keys].join(', ')}`] : []),
    ...(noted.length > 0 && (messages.length === 0 || keys.has(undefined)) ? ['no Idempotency-Key was sent'] : []),
    ...(noted.some((note) => note.method === 'GET' && !note.lastEventId) ? ['a stream was continued without a Last-Event-ID'] : []),
    ...(noted.some(({ userAgent }) => !userAgent) ? ['no User-Agent was sent'] : []),
    ...(new Set(messages.map(({ body }) => body)).size > 1 ? ['the body changed from one request to the next'] : []),
    ...noted.filter((note) => !allowed(note)).map((note) => `a ${call} asked ${targetOf(note)}`),
  ]
}

/** What the scenario names, and every Retry-After that was sent. */
function checkWaits({ waits = [] }: Expect, noted: Noted[]): string[] {
  const asked = noted.flatMap(({ retryAfter }, index) =>
    retryAfter === undefined ? [] : [{ after_request: index + 1, at_least_seconds: retryAfter }],
  )
  const problems = [...waits, ...asked].flatMap(({ after_request: index, at_least_seconds: seconds }) => {
    const [before, after] = [noted[index - 1], noted[index]]
    if (before?.endedAt === undefined || after === undefined) return []
    const waited = (after.at - before.endedAt) / 1000
    return waited < seconds - earlySeconds
      ? [`request ${index + 1} came ${waited.toFixed(2)} s after request ${index}, not ${seconds} s`]
      : []
  })
  return [...new Set(problems)]
}

function checkEnd(lines: Printed['lines'], noted: Noted[], endedAt: number, { outcome }: Expect): string[] {
  const last = lines.at(-1)
  if (last === undefined) return []
  const late = noted.filter(({ at }) => at > last.at)
  const reported = (last.at - Math.max(...noted.map((note) => note.endedAt ?? endedAt))) / 1000
  return [
    ...(late.length > 0 ? [`${late.length} requests after the end`] : []),
    ...(noted.length > 0 && outcome !== 'left' && reported > maxLogDelaySeconds
      ? [`the end was reported ${reported.toFixed(1)} s after the last answer`]
      : []),
  ]
}

const mayPrint: Record<CallKind, RegExp> = {
  chat: /^(completed|error)$/,
  background: /^(started|completed|error)$/,
  stream: /^(created( (delta|reset))* (completed|error)|error)$/,
}

/** One `created`, deltas and resets, one `completed` or `error`, the last; the deltas since the last reset are the content. */
function checkLines({ call, expect }: Call, lines: Printed['lines']): string[] {
  const names = lines.map(({ event }) => event).join(' ')
  if (!mayPrint[call].test(names)) return [`the events of a ${call} came as: ${names || 'none'}`]
  const last = lines.at(-1)!
  if (call !== 'stream' || last.event !== 'completed') return []
  const resets = lines.filter(({ event }) => event === 'reset').length
  const { event, ...created } = lines[0] as Extract<(typeof lines)[0], { event: 'created' }>
  const text = lines
    .slice(lines.findLastIndex((line) => line.event === 'reset') + 1)
    .map((line) => (line.event === 'delta' ? line.delta : ''))
    .join('')
  return [
    ...(resets === (expect.resets ?? 0) ? [] : [`${resets} resets, not ${expect.resets ?? 0}`]),
    ...(text === last.message.content ? [] : [`the deltas add up to ${short(text)}, the content is ${short(last.message.content)}`]),
    ...(created.conversation_id === last.conversation_id && created.request_id === last.request_id
      ? []
      : [`${event} and completed name two turns`]),
  ]
}

function checkOutcome(expect: Expect, lines: Printed['lines'], noted: Noted[], first?: Completed): string[] {
  const last = lines.at(-1)
  if (expect.outcome === 'left') return last?.event === 'delta' ? [] : [`the caller was to leave amid the deltas, not after ${last?.event}`]
  if (last === undefined) return []
  if (last.event !== expect.outcome) return [`the end is ${last.event === 'error' ? show(last) : last.event}, not ${expect.outcome}`]
  if (last.event === 'completed') return checkReply(expect, last, noted, first)
  if (last.event === 'started') return checkRequestId(last.request_id, noted)
  return last.event === 'error' ? checkError(expect, last, noted) : []
}

function checkReply(expect: Expect, { at: _, ...reply }: Completed & { at: number }, noted: Noted[], first?: Completed): string[] {
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = reply.usage
  return [
    ...(expect.content === undefined || reply.message.content === expect.content
      ? []
      : [`the content is ${short(reply.message.content)}, not ${short(expect.content)}`]),
    ...(prompt + completion === total ? [] : ['the tokens do not add up']),
    ...((reply.message.incomplete ?? false) === (expect.incomplete ?? false)
      ? []
      : [`the reply is ${reply.message.incomplete ? 'incomplete' : 'complete'}`]),
    ...checkRequestId(reply.request_id, noted),
    ...(expect.same_reply && JSON.stringify(sorted(reply)) !== JSON.stringify(first && sorted(first))
      ? ['not the reply of the first call']
      : []),
  ]
}

function checkRequestId(reported: string, noted: Noted[]): string[] {
  const requestId = lastAnswer(noted)?.requestId
  return reported === requestId ? [] : [`request_id is ${reported}, the answer's X-Request-ID was ${requestId}`]
}

function checkError({ error }: Expect, failed: Failed, noted: Noted[]): string[] {
  const { kind, code, status, retry_after: range } = error ?? {}
  const idempotencyKey = noted.findLast(isMessage)?.idempotencyKey
  const requestId = lastAnswer(noted)?.requestId
  const reported = failed.retry_after ?? undefined
  return [
    ...(kind === undefined || failed.kind === kind ? [] : [`the error is a ${show(failed)}, not a ${kind}`]),
    ...((failed.code ?? undefined) === code ? [] : [`the error's code is ${failed.code}, not ${code}`]),
    ...((failed.status ?? undefined) === status ? [] : [`the error's status is ${failed.status}, not ${status}`]),
    ...(range === undefined ? [] : reported === undefined ? ['the error has no retry_after'] : inRange('retry_after', reported, range)),
    ...(range === undefined && reported !== undefined ? [`the error has retry_after ${reported}, which was not requested`] : []),
    ...(noted.length === 0 || failed.idempotency_key === idempotencyKey ? [] : ["the error's key is not the one that was sent"]),
    ...(code === undefined || failed.request_id === requestId
      ? []
      : [`the error's request_id is ${failed.request_id}, the answer's was ${requestId}`]),
  ]
}

const total = (noted: Noted[], of: (note: Noted) => number): number => noted.reduce((sum, note) => sum + of(note), 0)

function inRange(what: string, value: number, { at_least: least, at_most: most }: Range): string[] {
  if (value >= least && value <= most) return []
  return [`${what}: ${value}, not ${least === most ? least : `${least} to ${most}`}`]
}

/** The same whatever the order in which a client writes its fields. */
const sorted = ({ request_id, conversation_id, message, usage }: Completed): unknown => [
  request_id,
  conversation_id,
  Object.entries(message).toSorted(),
  Object.entries(usage).toSorted(),
]

const show = ({ kind, code, status }: Failed): string =>
  [kind, status, code].filter((part) => part !== undefined && part !== null).join(' ')
const short = (text: string): string => JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}… (${text.length})` : text)
