/**
 * Compares what the servers of a run logged and how they ended with what the harness was doing at that time. Anything unexplained is a
 * violation: a process that ended by itself, an error in a log. Judges processes only; the callers' history has its own checks.
 */
import { verdictLines } from '../../src/cli/data/verdict-lines.ts'
import type { Verdict } from '../../src/store/queries/invariants.ts'
import type { FaultEvent, History } from './history.ts'
import { explainEnd } from './supervised-server.ts'
import type { End, ProcessRun, LogLine } from './supervised-server.ts'

/** The names of the history's checks, and three for what only the harness can see: `process`, `verify`, `harness`. */
export type Finding = { check: string; what: string; events: number[] }

export type LogWatch = {
  /** A fault starts or ends. Errors are compared with the faults at that time. */
  fault(phase: 'begin' | 'end', fault: Pick<FaultEvent, 'id' | 'name'>): void
  /** The machine had no time for the servers until that moment. */
  crowded(until: number): void
  line(supervised: number, processRun: ProcessRun, line: LogLine): void
  end(supervised: number, processRun: ProcessRun, end: End): void
  /** A finding of the harness itself. */
  add(check: 'process' | 'verify' | 'harness', what: string): void
  /** An invariant that the stored data violates, with its rows. */
  broken(verdict: Verdict): void
  readonly violations: Finding[]
  /** Lines at level error that a fault explains: the message, how often, and one of them. */
  readonly explained: Map<string, { count: number; example: string }>
}

/** Kinds that make the store unavailable for some server. */
const troublesStore = new Set(['disk', 'terminate', 'pg-restart', 'pg-away', 'lost-commit', 'pg-slow', 'stop', 'block'])
// What a server tried while its store was unavailable may fail and be logged some time after the store has recovered.
const aftermathMs = 20_000

export function watchLogs(history: History): LogWatch {
  const violations: Finding[] = []
  const explained: LogWatch['explained'] = new Map()
  const spans = new Map<number, { from: number; until: number }>()
  /** Busy seconds. The last one is enough, because only later lines are compared with it. */
  let crowdedUntil = -Infinity

  const troubledSince = (since: number): boolean =>
    crowdedUntil + aftermathMs >= since || [...spans.values()].some(({ until }) => until + aftermathMs >= since)

  function add(check: string, what: string): void {
    violations.push({ check, what, events: [history.events.length - 1] })
  }

  return {
    violations,
    explained,
    fault(phase, { id, name }) {
      if (!troublesStore.has(name)) return
      if (phase === 'begin') spans.set(id, { from: history.now(), until: Infinity })
      else spans.get(id)!.until = history.now()
    },
    crowded(until) {
      crowdedUntil = until
    },
    line(supervised, processRun, line) {
      const why = explainLine(processRun, line, troubledSince(line.at))
      if (why === undefined) add('process', `place ${supervised}, life ${processRun.number}, said: ${line.text}`)
      else {
        const known = explained.get(`${line.msg} (${why})`)
        explained.set(`${line.msg} (${why})`, { count: (known?.count ?? 0) + 1, example: known?.example ?? line.text })
      }
    },
    end(supervised, processRun, end) {
      if (explainEnd(processRun, end, troubledSince(processRun.startedAt)) !== undefined) return
      const acted = [...processRun.acted].map(([name, action]) => `${name}=${action}`).join(', ')
      const shown = `code ${end.code}, signal ${end.signal}${processRun.ending ? `, instructed to ${processRun.ending}` : ''}${acted ? `, after ${acted}` : ''}`
      add(
        'process',
        `place ${supervised}, life ${processRun.number}, ended ${processRun.listens ? '' : 'in its start '}and nothing explains it: ${shown}`,
      )
    },
    add,
    broken: (verdict) => add('verify', verdictLines(verdict).join('\n')),
  }
}

/** Which fault explains a line at level error or fatal; undefined if none does. */
export function explainLine(
  processRun: Pick<ProcessRun, 'acted' | 'ending'>,
  { level, msg, text }: LogLine,
  troubled: boolean,
): string | undefined {
  const acts = (action: string): boolean => [...processRun.acted.values()].includes(action)
  if (acts('throw') && /"(?:type":"FailpointThrown|message":"failpoint |cause":"[^"]*failpoint )/.test(text)) return 'failpoint'
  if (processRun.ending === 'order' && level === 'fatal') return 'ordered'
  // Three deaths that the turn did not cause: it fails, as specified.
  if (msg === 'turn failed: the process died in each of its attempts') return 'kills'
  if (level === 'fatal') return undefined
  // An unavailable store is reported as such. Any other error is a bug, whatever fault there is at the same time.
  const saysAway = text.includes('"type":"StoreUnavailable"') || !text.includes('"err":')
  if (saysAway && troubled) return 'store'
  if (saysAway && acts('drop')) return 'dropped connection'
  // Another process held the row of an owner for longer than an admission waits: one that was delayed or stopped during its transaction.
  if (saysAway && text.includes('lock timeout (55P03)')) return 'lock of another process'
  return undefined
}
