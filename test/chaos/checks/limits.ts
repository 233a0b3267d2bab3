/**
 * The rate window (`rate.spend`, `rate.window`, `rate.fail-closed`): H6 (never more than the limit, each unit spent once) and H7 (fail
 * closed). Pure.
 */
import type { HistoryEvent } from '../history.ts'
import type { Reading, Try, Violation } from './reading.ts'

type Sent = Try | Reading['aboutTurns'][number]

export function checkLimits(reading: Reading): Violation[] {
  return [...spentOnce(reading), ...withinWindow(reading), ...failsClosed(reading)]
}

/** Faults that make the store of rate windows unavailable. */
const limiterDown = new Set(['redis-kill', 'redis-freeze', 'redis-pause', 'redis-full'])
/** Faults after which windows are reset. */
const windowLost = new Set(['redis-kill', 'redis-flush'])

// Refused before the rate window is checked, or by it.
const spendsNothing = new Set([
  'invalid_api_key',
  'agent_mismatch',
  'permission_denied',
  'rate_limit_exceeded',
  'api_rate_limit_unavailable',
])

/** Certainly passed the rate window: a 503 `service_unavailable` may come before it. */
const spent = ({ code, answer }: Sent): boolean =>
  answer?.status !== null && answer !== undefined && code !== 'service_unavailable' && !spendsNothing.has(code ?? '') && answer.status < 500

/** H6: no two responses of one window have the same number of remaining units, because each has spent one. */
function* spentOnce(reading: Reading): Generator<Violation> {
  const seen = new Map<string, Sent>()
  const lost = lossesOf(reading.events)
  for (const one of [...reading.tries, ...reading.aboutTurns].toSorted((a, b) => a.call.at - b.call.at)) {
    const { call, answer, events } = one
    const remaining = answer?.headers['x-ratelimit-remaining']
    if (!answer || answer.status !== 200 || remaining === undefined) continue
    const window = `${call.key} ${answer.headers['x-ratelimit-reset']} ${remaining}`
    const before = seen.get(window)
    seen.set(window, one)
    // Two windows that were reset within one second have the same end, and a clock that is moved may show any.
    if (before && !lost.some((at) => at >= before.call.at - 1500 && at <= answer.at))
      yield { check: 'H6', what: `two answers of one window have ${remaining} left`, events: [...before.events, ...events] }
  }
}

/** H6: an interval as long as a window overlaps two of them, and one more for each time that the window was lost. */
function* withinWindow(reading: Reading): Generator<Violation> {
  const lost = lossesOf(reading.events)
  for (const key of reading.tenants.flatMap(({ keys }) => keys)) {
    const accepted = [...reading.tries, ...reading.aboutTurns]
      .filter((one) => one.call.key === key.name && spent(one))
      .toSorted((a, b) => a.call.at - b.call.at)
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

/** H7: a request during an outage of the rate windows never gets a 2xx. */
function* failsClosed({ events, tries, aboutTurns }: Reading): Generator<Violation> {
  for (const { from, to, id } of spansOf(events, limiterDown)) {
    for (const { call, answer, events: supervisedServers } of [...tries, ...aboutTurns]) {
      if (answer?.status !== null && answer !== undefined && answer.status < 300 && call.at >= from && answer.headAt! <= to)
        yield { check: 'H7', what: `a ${answer.status} while the window could not be asked (fault ${id})`, events: supervisedServers }
    }
  }
}

/** The times at which a fault was certainly in force. */
function* spansOf(events: HistoryEvent[], names: Set<string>): Generator<{ from: number; to: number; id: number }> {
  for (const event of events) {
    if (event.kind !== 'fault' || event.phase !== 'applied' || !names.has(event.name)) continue
    const healing = events.find((one) => one.kind === 'fault' && one.phase === 'healing' && one.id === event.id)
    if (healing) yield { from: event.at, to: healing.at, id: event.id }
  }
}

/** A single server has the window in its process. Otherwise it is in Redis, and no restart of a process loses it. */
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
    // Reported four times and lost once.
    return event.kind === 'fault' && event.phase === 'begin' && windowLost.has(event.name) ? [event.at] : []
  })
}
