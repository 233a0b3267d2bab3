/** The result of a run, as data and as the printed table: counts, times, verdicts, and every violation with its events. Checks nothing itself. */
import { failpointNames } from '../../src/failpoints.ts'
import { countAccess, countCalm, countAccepted, countCancels, countDeliveries, countResumes, countUnfair, resolutions } from './check.ts'
import type { Resolution } from './check.ts'
import type { CallEvent, History, HistoryEvent } from './history.ts'
import type { Nemesis } from './nemesis.ts'
import type { RunOptions } from './options.ts'
import { kinds } from './schedule.ts'
import type { FaultName } from './schedule.ts'
import type { Finding, LogWatch } from './log-watch.ts'

export type Counts = Record<string, number>

export type Report = {
  seed: number
  store: string
  minutes: number
  processes: number
  callers: number
  seconds: number
  faults: { name: FaultName; faults: string[]; count: number }[]
  /** How often each acted, by action. */
  failpoints: { name: string; actions: Counts }[]
  /** Points that should have acted and did not: such a run does not count. */
  neverActed: string[]
  /** Kinds that were planned and did not occur, because the time was up. */
  neverCame: string[]
  impossible: { name: string; why: string; asked: boolean }[]
  kills: number
  starts: number
  counts: Counts
  /** Keys during which there was no fault. */
  calm: number
  /** Connections that continued a stream. */
  resumes: Counts
  /** Requests to cancel a turn, by what they led to. */
  cancels: Counts
  /** Messages whose callers did not wait for the reply. */
  accepted: Counts
  /** What the receiver of webhooks got, and how it answered. */
  deliveries: Counts
  /** Requests about who has access, by what was asked; those that were not acknowledged also by their result. */
  access: Counts
  /** Requests of the unfair owner, by what they were and how they were answered. */
  unfair: Counts
  /** How long the machine had no time for the run. Delays in that time are not violations. */
  crowdedSeconds: number
  /**
   * From a kill -9 to the final response of what was in progress in that process: for all, and for those during whose wait no other process
   * ended.
   */
  orphans: { all: Waits; ofOneKill: Waits }
  /** Lines at level error that a fault explains. */
  explained: Record<string, { count: number; example: string }>
  violations: (Finding & { shown: string[] })[]
}

type Waits = { count: number; p50Ms: number; p99Ms: number; maxMs: number }

type Given = {
  options: RunOptions
  history: History
  logWatch: LogWatch
  nemesis: Nemesis | undefined
  counts: Counts | undefined
  violations: Finding[]
  ms: number
}

// Per violation; the rest is in the history.
const maxEventsShown = 8
const maxEventBytes = 400

export function reportOf({ options, history, logWatch, nemesis, counts = {}, violations, ms }: Given): Report {
  const { seed, store, minutes, processes, callers, impossible } = options
  const { events } = history
  const orphans = orphanWaits(events, resolutions(events))
  return {
    seed,
    store,
    minutes,
    processes,
    callers,
    impossible,
    counts,
    calm: countCalm(events),
    resumes: countResumes(events),
    cancels: countCancels(events),
    accepted: countAccepted(events),
    deliveries: countDeliveries(events),
    access: countAccess(events),
    unfair: countUnfair(events),
    crowdedSeconds: Math.round(events.reduce((sum, event) => sum + (event.kind === 'machine' ? event.at - event.from : 0), 0) / 1000),
    seconds: Math.round(ms / 1000),
    faults: options.faults.map((name) => ({ name, faults: kinds[name].faults, count: nemesis?.counts.get(name) ?? 0 })),
    failpoints: Object.keys(failpointNames).flatMap((name) => {
      const acted = events.flatMap((event) => (event.kind === 'failpoint' && event.name === name ? [event.action] : []))
      return acted.length === 0 ? [] : [{ name, actions: tally(acted) }]
    }),
    neverActed: [...(nemesis?.pending ?? [])],
    neverCame: [...(nemesis?.missing ?? [])],
    kills: killsOf(events),
    starts: events.filter((event) => event.kind === 'process' && event.what === 'started').length,
    orphans: { all: waitsOf(orphans), ofOneKill: waitsOf(orphans.filter(({ disturbed }) => !disturbed)) },
    explained: Object.fromEntries(logWatch.explained),
    violations: violations.map((violation) => ({
      ...violation,
      shown: violation.events.slice(0, maxEventsShown).map((at) => JSON.stringify(events[at]).slice(0, maxEventBytes)),
    })),
  }
}

/**
 * No violation, and nothing that was requested is missing. A run in which a failpoint never acted shows nothing about it, and one without
 * responses or faults shows nothing at all.
 */
export function isSound(report: Pick<Report, 'violations' | 'neverActed' | 'impossible' | 'counts' | 'faults'>): boolean {
  const { violations, neverActed, impossible } = report
  return violations.length === 0 && neverActed.length === 0 && !impossible.some(({ asked }) => asked) && !isEmpty(report)
}

const isEmpty = ({ counts, faults }: Pick<Report, 'counts' | 'faults'>): boolean =>
  !(counts['turns']! > 0) || !faults.some(({ count }) => count > 0)

const killsOf = (events: readonly HistoryEvent[]): number =>
  events.filter((event) => event.kind === 'process' && event.signal === 'SIGKILL').length

function waitsOf(orphans: { ms: number }[]): Waits {
  const inOrder = orphans.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const share = (part: number): number => Math.round(inOrder[Math.min(inOrder.length - 1, Math.floor(inOrder.length * part))] ?? 0)
  return { count: inOrder.length, p50Ms: share(0.5), p99Ms: share(0.99), maxMs: share(1) }
}

function tally(names: string[]): Counts {
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]))
}

// A connection breaks shortly before its process is known to have ended, and the caller notices it shortly after.
const [earlyMs, lateMs] = [2000, 500]

/**
 * For each message whose caller lost its connection to a killed process and returned: the time from the kill until its key had a final
 * response.
 */
export function orphanWaits(events: HistoryEvent[], finals: Resolution[]): { ms: number; disturbed: boolean }[] {
  const calls = new Map(events.flatMap((event) => (event.kind === 'call' ? [[event.call, event] as const] : [])))
  const kills = events.flatMap((event) => (event.kind === 'process' && event.signal === 'SIGKILL' ? [event] : []))
  const hitAt = new Map<string, number>()
  for (const event of events) {
    if (event.kind !== 'answer' || (event.end !== 'cut' && event.end !== 'broken')) continue
    const call = calls.get(event.call)
    if (!call || call.idempotencyKey === null || hitAt.has(keyOf(call))) continue
    const kill = kills.find(
      ({ supervised, at }) => supervised === call.supervised && at > call.at && at < event.at + earlyMs && at > event.at - lateMs,
    )
    if (kill) hitAt.set(keyOf(call), Math.min(kill.at, event.at))
  }
  const ends = events.flatMap((event) => (event.kind === 'process' && event.code !== undefined ? [event.at] : []))
  return finals.flatMap((resolution) => {
    const killedAt = hitAt.get(keyOf(resolution))
    const { finalAt } = resolution
    if (killedAt === undefined || finalAt === undefined || finalAt < killedAt) return []
    // The kill may be noticed shortly after the connection broke.
    return [{ ms: finalAt - killedAt, disturbed: ends.filter((at) => at >= killedAt && at < finalAt).length > 1 }]
  })
}

const keyOf = ({ key, idempotencyKey, message }: Pick<CallEvent, 'key' | 'idempotencyKey' | 'message'>): string =>
  `${key} ${idempotencyKey} ${message}`

export function progressLine(
  history: History,
  { counts: came, pending }: Pick<Nemesis, 'counts' | 'pending'>,
  counts: Counts,
  logWatch: LogWatch,
): string {
  const faults = [...came.values()].reduce((sum, count) => sum + count, 0)
  const reported = Object.entries(counts).map(([name, count]) => `${count} ${name}`)
  const parts = [
    `${faults} faults`,
    `${killsOf(history.events)} kills`,
    `${pending.size} failpoints left`,
    ...reported,
    `${logWatch.violations.length} violations`,
  ]
  return `${String(Math.round(history.now() / 1000)).padStart(5)} s  ${parts.join(', ')}`
}

export function printReport(report: Report): void {
  const say = (line = ''): void => console.log(line)
  const { seed, store, minutes, processes, callers, seconds, orphans } = report
  say()
  say(
    `seed ${seed} · ${store} · ${processes} process${processes === 1 ? '' : 'es'} · ${callers} callers · ${minutes} minutes planned, ${seconds} s in all`,
  )
  say()
  say('fault         count  in docs/fault-matrix.md')
  for (const { name, faults, count } of report.faults) say(`${name.padEnd(12)}  ${String(count).padStart(5)}  ${faults.join(', ')}`)
  for (const { name, why } of report.impossible) say(`${name.padEnd(12)}      –  not here: ${why}`)
  say()
  say('failpoint                     acted')
  for (const { name, actions } of report.failpoints) say(`${name.padEnd(28)}  ${listed(actions)}`)
  for (const name of report.neverActed) say(`${name.padEnd(28)}  NEVER`)
  say()
  say(`kill -9: ${report.kills} · starts: ${report.starts} · ${listed(report.counts)} · calm ${report.calm}`)
  say(`continued streams: ${listed(report.resumes)} · requests to cancel: ${listed(report.cancels)}`)
  say(`callers that did not wait: ${listed(report.accepted)}`)
  say(`webhooks: ${listed(report.deliveries)}`)
  say(`access: ${listed(report.access)}`)
  say(`unfair owner: ${listed(report.unfair)}`)
  if (report.crowdedSeconds > 0)
    say(`the machine was busy with more than this run for ${report.crowdedSeconds} s: what came late then is not judged`)
  for (const [name, waits] of [
    ['all', orphans.all],
    ['of one kill', orphans.ofOneKill],
  ] as const)
    say(
      `from a kill to the orphan's answer, ${name}: ${waits.count} orphans, p50 ${waits.p50Ms} ms, p99 ${waits.p99Ms} ms, longest ${waits.maxMs} ms`,
    )
  const reported = Object.entries(report.explained).map(([line, { count }]) => `${line} ${count}`)
  if (reported.length > 0) say(`logged at level error or fatal, each explained by a fault above: ${reported.join(', ')}`)
  if (report.neverCame.length > 0) say(`never came: ${report.neverCame.join(', ')}`)
  if (report.neverActed.length > 0) say(`this run does not count: ${report.neverActed.length} failpoints never acted`)
  if (isEmpty(report)) say('this run does not count: there was no response, or no fault')
  say()
  for (const { check, what, shown } of report.violations) {
    say(`VIOLATION ${check}: ${what}`)
    for (const event of shown) say(`    ${event}`)
  }
  say(report.violations.length === 0 ? 'no violation' : `${report.violations.length} violations`)
}

const listed = (counts: Counts): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
