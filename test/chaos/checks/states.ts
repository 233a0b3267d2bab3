/**
 * The possible states of a request: H9 (it ends), H11 (busy and in progress are correct), and the operator's changes (`turn.states`,
 * `conversation.busy`). Pure.
 */
import { readMessage } from '../messages.ts'
import { isUnheard } from './reading.ts'
import type { Reading, Request, Try, Violation } from './reading.ts'
import { transient } from './replies.ts'

export function checkStates(reading: Reading): Violation[] {
  return [
    ...itEnds(reading),
    ...busyIsTrue(reading),
    ...switchedOff(reading),
    ...revoked(reading),
    ...erased(reading),
    ...versions(reading),
  ]
}

/** The outcome of a request, for the figures of the run and for H9. */
export type Resolution = {
  key: string
  idempotencyKey: string
  message: string
  openedAt: number
  /** Undefined: never. */
  finalAt: number | undefined
  /** `reply`, the code of the final error, or `open`. */
  end: string
  /** Codes of the attempts before it; `cut`, `left` or `broken` for an incomplete response. */
  met: string[]
}

export function resolutionOf({ key, idempotencyKey, message, openedAt, tries }: Request): Resolution {
  const asked = tries.filter(({ call }) => !call.final)
  const inOrder = (asked.length > 0 ? asked : tries).toSorted((a, b) => (a.answer?.at ?? Infinity) - (b.answer?.at ?? Infinity))
  // Neither changes, whatever a later attempt gets.
  const replied = inOrder.findIndex(({ code }) => code === 'reply' || code === 'turn_cancelled')
  const refused = inOrder.findLastIndex(({ code }) => code !== undefined && code !== 'ended' && !transient.has(code))
  // A concurrent request may be interrupted later, which a retry does not take as the end.
  const isEnd = refused >= 0 && inOrder.every(({ call }) => call.at <= inOrder[refused]!.answer!.at)
  const at = replied >= 0 ? replied : isEnd ? refused : -1
  const final = inOrder[at]
  const met = (at < 0 ? inOrder : inOrder.slice(0, at)).map(({ code, answer }) => code ?? answer?.end ?? 'open')
  return { key: key.name, idempotencyKey, message, openedAt, finalAt: final?.answer?.at, end: final?.code ?? 'open', met }
}

const graceMs = 30_000
/** Refusals without a fault that may be repeated, so that the thirty seconds start again. */
const crowded = new Set(['conversation_busy', 'rate_limit_exceeded', 'insufficient_balance', 'spend_limit_exceeded'])

/** H9: after the last fault, every key is final within thirty seconds. */
function* itEnds(reading: Reading): Generator<Violation> {
  for (const request of reading.requests) {
    const { openedAt, tries, message } = request
    // An attempt without a retry.
    if (tries.filter(({ call }) => !call.final).length === 1 && isAbandoned(tries[0]!)) continue
    const { finalAt, end } = resolutionOf(request)
    const lastCrowd = Math.max(0, ...tries.flatMap(({ code, answer }) => (crowded.has(code ?? '') ? [answer!.at] : [])))
    const silence = readMessage(message)?.behaviour === 'silent' ? Number(readMessage(message)!.asked.numbers[0]) : 0
    const by = Math.max(openedAt, reading.lastDisturbanceAt, lastCrowd) + graceMs + silence
    if (finalAt !== undefined && finalAt <= by) continue
    const when = finalAt === undefined ? 'never' : `${Math.round((finalAt - by) / 1000)} s too late`
    yield { check: 'H9', what: `"${message}" came to an end ${when}: ${end}`, events: tries.flatMap(({ events }) => events) }
  }
}

/** Requests that are sent only once: an old key, another body with a key. */
const isAbandoned = ({ code }: Try): boolean => code === undefined || transient.has(code)

type Span = { from: number; to: number }

/** When a request may have been running: from each attempt that may have been admitted until its end was returned. */
export function possiblyRunning(reading: Reading, { tries: all, reply, cancelledAt }: Request): { one: Try; span: Span }[] {
  // During a fault, an internal error may be returned for a turn that was admitted.
  const isCertain = ({ code, call, answer }: Try): boolean =>
    code === 'reply' ||
    code === 'turn_cancelled' ||
    code === 'insufficient_balance' ||
    code === 'spend_limit_exceeded' ||
    (code === 'internal_error' && !reading.disturbed(call.at, answer!.at))
  const mayRun = (one: Try): boolean => !isUnheard(one) && (one.code === undefined || running.has(one.code) || isCertain(one))
  // To continue a stream starts nothing, and its errors may be those of an earlier run.
  const tries = all.filter(({ call }) => !call.resumes)
  const ends = tries.filter(isCertain)
  const endedAt = Math.min(reply?.at ?? Infinity, cancelledAt ?? Infinity)
  return tries
    .filter((one) => mayRun(one) && one.call.at <= endedAt)
    .map((one) => {
      // One that was sent before this one's end was seen may have been refused before this one was admitted.
      const seenUntil = one.answer?.at ?? one.call.at
      const next = ends.filter(({ call }) => call.at > seenUntil).map(({ answer }) => answer!.at)
      // A 200 ends it for all callers, and so does a cancel.
      const to = isCertain(one) ? one.answer!.at : Math.min(...next, endedAt)
      return { one, span: { from: one.call.at, to: Math.max(to, one.call.at) } }
    })
}
const running = new Set(['internal_error', 'service_unavailable', 'idempotency_in_progress', 'accepted'])

/** H11: busy only while another turn of the user may be running, in progress only while this one may be. */
function* busyIsTrue(reading: Reading): Generator<Violation> {
  const byUser = Map.groupBy(reading.requests, ({ key, user }) => JSON.stringify([key.name, user]))
  for (const requests of byUser.values()) {
    if (!requests.some(({ tries }) => tries.some(({ code }) => code === 'conversation_busy' || code === 'idempotency_in_progress')))
      continue
    const spans = requests.flatMap((request) => possiblyRunning(reading, request).map((running) => ({ ...running, request })))
    for (const request of requests) {
      for (const one of request.tries) {
        const isBusy = one.code === 'conversation_busy'
        if (!isBusy && one.code !== 'idempotency_in_progress') continue
        const [from, to] = [one.call.at, one.answer!.headAt!]
        const explained = spans.some(
          (running) =>
            (isBusy ? running.request !== request : running.request === request && running.one !== one) &&
            running.span.from <= to &&
            running.span.to >= from,
        )
        if (!explained) yield { check: 'H11', what: `${one.code} for "${request.message}" with no such turn running`, events: one.events }
      }
    }
  }
}

/** A disabled agent admits no turns, and an enabled one refuses none. */
function* switchedOff(reading: Reading): Generator<Violation> {
  for (const agent of reading.tenants.flatMap(({ agents }) => agents)) {
    const changes = reading.admin.flatMap((change) => (change.what === 'switch' && change.agent === agent.id ? [change] : []))
    const requests = reading.requests.filter(({ key }) => key.agentId === agent.id)
    for (const [at, change] of changes.entries()) {
      if (change.enabled) continue
      const on = changes.slice(at + 1).find(({ enabled }) => enabled)
      for (const { tries, openedAt, message } of requests) {
        const admitted = tries.find(
          ({ code, answer }) =>
            (code === 'reply' || code === 'accepted') && openedAt > change.at && answer!.at < (on?.startedAt ?? Infinity),
        )
        if (admitted)
          yield { check: 'operator', what: `"${message}" was answered while its agent was off`, events: [change.index, ...admitted.events] }
      }
    }
    for (const { tries } of requests) {
      for (const { code, call, answer, events } of tries) {
        if (code !== 'agent_disabled') continue
        const off = changes.some(({ enabled, startedAt }, at) => {
          const on = changes.slice(at + 1).find((later) => later.enabled)
          return !enabled && startedAt <= answer!.at && (on?.at ?? Infinity) >= call.at
        })
        if (!off) yield { check: 'operator', what: 'agent_disabled while the agent was on', events }
      }
    }
  }
}

// The time until a revocation is known everywhere, after it was confirmed.
const knownWithinMs = 1000

/** A second after its revocation a key is refused, also for stored replies. */
function* revoked({ admin, tries, aboutTurns }: Reading): Generator<Violation> {
  for (const change of admin) {
    if (change.what !== 'revoke') continue
    const sound = tries.filter(({ call }) => call.flaw === undefined)
    for (const { call, answer, code, events } of [...sound, ...aboutTurns]) {
      if (call.key !== change.key || call.at <= change.at + knownWithinMs || code === undefined) continue
      if (answer!.status! < 300 || !(code === 'invalid_api_key' || answer!.status! >= 500))
        yield { check: 'operator', what: `${code} for a key that was revoked`, events: [change.index, ...events] }
    }
  }
}

/** Erased data is never returned. */
function* erased(reading: Reading): Generator<Violation> {
  for (const request of reading.requests) {
    const change = reading.erasedBy(request, Infinity)
    if (!change) continue
    for (const { call, code, events } of request.tries) {
      if (code === 'reply' && call.at > change.at && request.reply!.at < change.startedAt)
        yield { check: 'operator', what: 'a reply to what was erased', events: [change.index, ...events] }
    }
  }
}

/** A turn uses the version that existed when it was admitted, and a run keeps one version. */
function* versions(reading: Reading): Generator<Violation> {
  for (const request of reading.requests) {
    const { key, reply, openedAt, message, requestIds } = request
    const changes = reading.admin.flatMap((change) => (change.what === 'edit' && change.agent === key.agentId ? [change] : []))
    const asked = (reading.modelsOf.get(message) ?? []).map((model) => ({ model, version: versionOf(model.messages[0]?.content ?? '') }))
    const least = Math.max(1, ...changes.filter(({ at }) => at < openedAt).map(({ version }) => version))
    for (const { model, version } of asked) {
      const most = Math.max(1, ...changes.filter(({ startedAt }) => startedAt <= model.at).map((change) => change.version))
      if (version === undefined || version < least || version > most)
        yield {
          check: 'operator',
          what: `version ${version} was asked about "${message}", and ${least} to ${most} were there`,
          events: [model.index],
        }
    }
    const run = [...requestIds].map((id) => reading.runs.get(id)).find(Boolean)?.run
    if (reply && run === 1 && new Set(asked.map(({ version }) => version)).size > 1)
      yield {
        check: 'operator',
        what: `two versions of the agent in one run of "${message}"`,
        events: asked.map(({ model }) => model.index),
      }
  }
}

function versionOf(prompt: string): number | undefined {
  const [, version] = /\bversion (\d+)\b/.exec(prompt) ?? []
  return version === undefined ? undefined : Number(version)
}
