/** The rate window: H6 (never more than it holds, each unit spent once), H7 (fail closed). Section 8; rulings `rate.*`. Pure. */
import type { HistoryEvent } from '../history.ts'
import type { Reading, Try, Violation } from './reading.ts'

export function checkLimits(reading: Reading): Violation[] {
  return [...spentOnce(reading), ...withinWindow(reading), ...failsClosed(reading)]
}

/** Faults that leave nothing to ask. */
const limiterDown = new Set(['redis-kill', 'redis-freeze', 'redis-pause', 'redis-full'])
/** Faults after which a window begins anew. */
const windowLost = new Set(['redis-kill', 'redis-flush'])

// Refused before the window is asked, or by it.
const spendsNothing = new Set([
  'invalid_api_key',
  'agent_mismatch',
  'permission_denied',
  'rate_limit_exceeded',
  'api_rate_limit_unavailable',
])

/** Passed the window, for certain: a 503 `service_unavailable` may have come before it. */
const spent = ({ code, answer }: Try): boolean =>
  answer?.status !== null && answer !== undefined && code !== 'service_unavailable' && !spendsNothing.has(code ?? '') && answer.status < 500

/** H6: of one window no two answers have the same number left, since each has spent a unit of its own. */
function* spentOnce(reading: Reading): Generator<Violation> {
  const seen = new Map<string, Try>()
  const lost = lossesOf(reading.events)
  for (const one of reading.tries) {
    const { call, answer, events } = one
    const remaining = answer?.headers['x-ratelimit-remaining']
    if (!answer || answer.status !== 200 || remaining === undefined) continue
    const window = `${call.key} ${answer.headers['x-ratelimit-reset']} ${remaining}`
    const before = seen.get(window)
    seen.set(window, one)
    // Two windows that began anew within one second end in the same one, and a clock that is moved shows any.
    if (before && !lost.some((at) => at >= before.call.at - 1500 && at <= answer.at))
      yield { check: 'H6', what: `two answers of one window have ${remaining} left`, events: [...before.events, ...events] }
  }
}

/** H6: an interval as long as a window touches two of them, and one more for each time that the window was lost. */
function* withinWindow(reading: Reading): Generator<Violation> {
  const lost = lossesOf(reading.events)
  for (const key of reading.tenants.flatMap(({ keys }) => keys)) {
    const accepted = reading.tries.filter((one) => one.call.key === key.name && spent(one)).toSorted((a, b) => a.call.at - b.call.at)
    if (accepted.length <= key.limit) continue
    const windowMs = key.windowSeconds * 1000
    for (const [first, from] of accepted.entries()) {
      const until = from.call.at + windowMs
      const beyond = accepted.findIndex(({ call }, at) => at > first && call.at > until)
      const within = accepted.slice(first, beyond < 0 ? undefined : beyond).filter(({ answer }) => answer!.headAt! <= until)
      const losses = lost.filter((at) => at >= from.call.at - windowMs && at <= until).length
      if (within.length <= key.limit * (2 + losses)) continue
      yield {
        check: 'H6',
        what: `${within.length} requests within ${key.windowSeconds} s for a key that has ${key.limit}, and ${losses} lost windows`,
        events: within.flatMap(({ events }) => events),
      }
      break
    }
  }
}

/** H7: what is sent while the window cannot be asked is never answered with a 2xx. */
function* failsClosed({ events, tries }: Reading): Generator<Violation> {
  for (const { from, to, id } of spansOf(events, limiterDown)) {
    for (const { call, answer, events: supervisedServers } of tries) {
      if (answer?.status !== null && answer !== undefined && answer.status < 300 && call.at >= from && answer.headAt! <= to)
        yield { check: 'H7', what: `a ${answer.status} while the window could not be asked (fault ${id})`, events: supervisedServers }
    }
  }
}

/** When a fault was in force for certain. */
function* spansOf(events: HistoryEvent[], names: Set<string>): Generator<{ from: number; to: number; id: number }> {
  for (const event of events) {
    if (event.kind !== 'fault' || event.phase !== 'applied' || !names.has(event.name)) continue
    const healing = events.find((one) => one.kind === 'fault' && one.phase === 'healing' && one.id === event.id)
    if (healing) yield { from: event.at, to: healing.at, id: event.id }
  }
}

/** A process has the window of a server that stands alone; otherwise it is Redis's, and no start of a process loses it. */
function lossesOf(events: HistoryEvent[]): number[] {
  const supervisedServers = new Set<number>()
  const isShared = events.some((event) => event.kind === 'begin' && 'store' in event.options && event.options.store === 'postgres')
  return events.flatMap((event) => {
    if (event.kind === 'process' && event.what === 'started') {
      if (isShared) return []
      const isFirst = !supervisedServers.has(event.supervised)
      supervisedServers.add(event.supervised)
      return isFirst ? [] : [event.at]
    }
    // Told four times, and lost once.
    return event.kind === 'fault' && event.phase === 'begin' && windowLost.has(event.name) ? [event.at] : []
  })
}
