/**
 * What the servers of a run said and how they ended, each held against what the harness was doing at that moment. What nothing explains is a
 * violation: a process that ended by itself, a fault of ours in a log. Owns the verdict on processes; the checks of the callers' history are others.
 */
import type { FaultEvent, History } from './history.ts'
import { explainEnd } from './supervised-server.ts'
import type { End, ProcessRun, LogLine } from './supervised-server.ts'

/** As the checks of the history tell one, and also what only the harness can see: `process`, `verify`, `harness`. */
export type Finding = { check: string; what: string; events: number[] }

export type LogWatch = {
  /** A fault begins or ends, so that what it explains is known. */
  fault(phase: 'begin' | 'end', fault: Pick<FaultEvent, 'id' | 'name'>): void
  /** The machine had no time for the servers until that moment. */
  crowded(until: number): void
  line(supervised: number, processRun: ProcessRun, line: LogLine): void
  end(supervised: number, processRun: ProcessRun, end: End): void
  /** A finding of the harness's own. */
  add(check: 'process' | 'verify' | 'harness', what: string): void
  readonly violations: Finding[]
  /** Lines at level error that a fault explains: what was said, how often, and one of them. */
  readonly explained: Map<string, { count: number; example: string }>
}

/** Kinds that take the store away from some server. */
const troublesStore = new Set(['disk', 'terminate', 'pg-restart', 'pg-away', 'lost-commit', 'pg-slow', 'stop', 'block'])
// What a server tried while its store was away may fail, and be told, some time after it is back.
const aftermathMs = 20_000

export function watchLogs(history: History): LogWatch {
  const violations: Finding[] = []
  const explained: LogWatch['explained'] = new Map()
  const spans = new Map<number, { from: number; until: number }>()
  /** Crowded seconds; the last one says it all, since only what is told after it is asked for. */
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
      const shown = `code ${end.code}, signal ${end.signal}${processRun.ending ? `, told to ${processRun.ending}` : ''}${acted ? `, after ${acted}` : ''}`
      add(
        'process',
        `place ${supervised}, life ${processRun.number}, ended ${processRun.listens ? '' : 'in its start '}and nothing explains it: ${shown}`,
      )
    },
    add,
  }
}

/** Which fault explains a line at level error or fatal; undefined where none does. */
export function explainLine(
  processRun: Pick<ProcessRun, 'acted' | 'ending'>,
  { level, msg, text }: LogLine,
  troubled: boolean,
): string | undefined {
  const acts = (action: string): boolean => [...processRun.acted.values()].includes(action)
  if (acts('throw') && /"(?:type":"FailpointThrown|message":"failpoint |cause":"[^"]*failpoint )/.test(text)) return 'failpoint'
  if (processRun.ending === 'order' && level === 'fatal') return 'ordered'
  // Three deaths, none of them the turn's own: by rule it fails.
  if (msg === 'turn failed: the process died in each of its attempts') return 'kills'
  if (level === 'fatal') return undefined
  // A store that is away is called that; any other error is a fault of ours, whatever is broken beside it.
  const saysAway = text.includes('"type":"StoreUnavailable"') || !text.includes('"err":')
  if (saysAway && troubled) return 'store'
  if (saysAway && acts('drop')) return 'dropped connection'
  // Another process held an owner's row longer than an admission waits: one that was delayed or stopped within its transaction.
  if (saysAway && text.includes('lock timeout (55P03)')) return 'lock of another process'
  return undefined
}
