/**
 * One server of a run through all its process runs. It is restarted immediately whenever it ends, as a service manager would do, on the
 * same port. Reads the output of each process run and reports how it ended, and whether anything explains that. Never decides when a
 * process run ends.
 */
import type { ChildProcess } from 'node:child_process'
import { setTimeout as pass } from 'node:timers/promises'
import { showServer } from '../support/shown-server.ts'
import type { History } from './history.ts'
import { specOf } from './schedule.ts'
import type { ArmedPoint } from './schedule.ts'

export type End = { code: number | null; signal: NodeJS.Signals | null }
/** How the harness ends a process run; `order`: by a fault in the process itself. */
export type Ending = 'kill' | 'drain' | 'twice' | 'order'

export type ProcessRun = {
  number: number
  child: ChildProcess
  startedAt: number
  armed: ArmedPoint[]
  drainSeconds: number
  /** Its clock can be moved. */
  clock: boolean
  /** The failpoints that acted, and how, as the server reported it. */
  acted: Map<string, string>
  listens: boolean
  /** False if it ended before. */
  listening: Promise<boolean>
  ended: Promise<End>
  end: End | undefined
  ending: Ending | undefined
  /** Resolves when a failpoint acts in this process run, or when it has ended. */
  news(): Promise<void>
}

export type NextProcessRun = { points: ArmedPoint[]; drainSeconds?: number }

export type SupervisedServerOptions = {
  number: number
  history: History
  /** The bin/turnkeep.js that runs. */
  program?: string
  env(processRun: { number: number; drainSeconds: number; clock: boolean }): Record<string, string>
  /** Whether a process run has a clock that can be moved, and its drain limit if none was requested. */
  draw(number: number): { clock: boolean; drainSeconds: number }
  /** A line at level error or fatal. */
  onTrouble(processRun: ProcessRun, line: LogLine): void
  onEnd(processRun: ProcessRun, end: End): void
  /** For the guard, which ends what a killed harness leaves behind. */
  onPid(word: 'start' | 'gone', pid: number): void
}

export type LogLine = { level: string; msg: string; at: number; text: string }

export type SupervisedServer = {
  readonly number: number
  readonly processRun: ProcessRun
  /** The last one that started with failpoints. */
  readonly armedLife: ProcessRun | undefined
  /** A fault is in progress here, and no other may disturb it. */
  reserved: boolean
  /** How the next process run starts, and the one after it if its start fails. Later ones have no failpoints. */
  prepare(next: NextProcessRun): void
  /** The first process run that listens from now on. Rejects if none does in time. */
  listening(limitMs?: number): Promise<ProcessRun>
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<void>
  /** SIGTERM, and a second one if requested; resolves when it has ended. */
  drain(againAfterMs?: number): Promise<void>
  signal(name: NodeJS.Signals): void
  /** SIGUSR2, for the instruction to obey.ts; `ends` if the process dies of it. */
  order({ ends }: { ends: boolean }): ProcessRun
  /** The process run that follows this one. */
  after(processRun: ProcessRun): Promise<ProcessRun>
  /** No further process runs: drains the current one, or kills it. */
  close(how: 'drain' | 'kill'): Promise<void>
}

// A start that fails must not be repeated without a pause.
const refusedStartPauseMs = 300
// A start takes one or two seconds. This is for a busy machine, and for a database that returns late.
const listeningWithinMs = 90_000
// In addition to the limit of the drain, because what is closed after it may wait for an unavailable database.
const drainGraceMs = 30_000

export function superviseServer(options: SupervisedServerOptions): SupervisedServer {
  const { number: supervised, history, program, env, draw, onTrouble, onEnd, onPid } = options
  let prepared: NextProcessRun | undefined
  let armedLife: ProcessRun | undefined
  let closing = false
  let processRun = launch(1)
  let changed = Promise.withResolvers<void>()
  const kept = keep()

  async function keep(): Promise<void> {
    for (;;) {
      const end = await processRun.ended
      tell(processRun, end)
      if (closing) return
      if (!processRun.listens) await pass(refusedStartPauseMs)
      if (closing) return
      // Its store was unavailable, so its points were not reached.
      if (!processRun.listens && processRun.acted.size === 0 && processRun.ending === undefined)
        prepared ??= { points: processRun.armed, drainSeconds: processRun.drainSeconds }
      processRun = launch(processRun.number + 1)
      changed.resolve()
      changed = Promise.withResolvers()
    }
  }

  function launch(number: number): ProcessRun {
    const { points, drainSeconds } = prepared ?? { points: [] }
    prepared = undefined
    const drawn = draw(number)
    const own = { number, clock: drawn.clock, drainSeconds: drainSeconds ?? drawn.drainSeconds }
    const failpoints: Record<string, string> = points.length > 0 ? { TURNKEEP_FAILPOINTS: specOf(points) } : {}
    const { child, ended } = showServer({ ...env(own), ...failpoints }, program)
    const listening = Promise.withResolvers<boolean>()
    let news = Promise.withResolvers<void>()
    const processRun: ProcessRun = {
      ...own,
      child,
      startedAt: history.now(),
      armed: points,
      acted: new Map(),
      listens: false,
      listening: listening.promise,
      ended,
      end: undefined,
      ending: undefined,
      news: () => news.promise,
    }
    if (points.length > 0) armedLife = processRun
    const { pid } = child
    if (pid !== undefined) onPid('start', pid)
    readLines(child, (text) => {
      if (text.startsWith('{"failpoint":')) {
        const { failpoint, action } = JSON.parse(text) as { failpoint: string; action: string }
        processRun.acted.set(failpoint, action)
        history.write({ kind: 'failpoint', at: history.now(), supervised, name: failpoint, action })
        news.resolve()
        news = Promise.withResolvers()
      } else if (!processRun.listens && text.includes('"msg":"listening"')) {
        processRun.listens = true
        history.write({ kind: 'process', at: history.now(), supervised, what: 'started', why: specOf(points) })
        listening.resolve(true)
      } else if (/^\{"level":"(error|fatal)"/.test(text)) {
        const { level, msg } = JSON.parse(text) as { level: string; msg: string }
        onTrouble(processRun, { level, msg, at: history.now(), text })
      }
    })
    void ended.then((end) => {
      processRun.end = end
      if (pid !== undefined) onPid('gone', pid)
      listening.resolve(false)
      news.resolve()
    })
    return processRun
  }

  function tell(of: ProcessRun, { code, signal }: End): void {
    const what = of.ending === 'kill' && signal === 'SIGKILL' ? 'killed' : of.ending === undefined ? 'ended' : 'terminated'
    const byPoint = [...of.acted].find(([, action]) => action === 'kill')
    const why = byPoint && of.ending !== 'kill' ? `failpoint ${byPoint[0]}` : (of.ending ?? (of.listens ? 'by itself' : 'refused to start'))
    history.write({ kind: 'process', at: history.now(), supervised, what: byPoint ? 'ended' : what, code, signal, why })
    onEnd(of, { code, signal })
  }

  function send(name: NodeJS.Signals, ending: Ending): ProcessRun {
    const sentTo = processRun
    if (!sentTo.end) {
      sentTo.ending ??= ending
      sentTo.child.kill(name)
    }
    return sentTo
  }

  async function drain(againAfterMs?: number): Promise<void> {
    const draining = send('SIGTERM', againAfterMs === undefined ? 'drain' : 'twice')
    const within = draining.drainSeconds * 1000 + drainGraceMs
    if (againAfterMs !== undefined) {
      await Promise.race([draining.ended, pass(againAfterMs)])
      if (!draining.end) draining.child.kill('SIGTERM')
    }
    const late = new AbortController()
    const end = await Promise.race([draining.ended, pass(within, undefined, { signal: late.signal }).catch(() => undefined)])
    late.abort()
    if (end) return
    draining.child.kill('SIGKILL')
    await draining.ended
  }

  return {
    number: supervised,
    get processRun() {
      return processRun
    },
    get armedLife() {
      return armedLife
    },
    reserved: false,
    prepare(next) {
      prepared = next
    },
    async listening(limitMs = listeningWithinMs) {
      const until = performance.now() + limitMs
      for (;;) {
        const awaited = processRun
        const left = until - performance.now()
        if (closing || left <= 0) throw new Error(`place ${supervised} did not listen within ${limitMs} ms`)
        const timer = new AbortController()
        await Promise.race([awaited.listening, pass(left, undefined, { signal: timer.signal }).catch(() => undefined)])
        timer.abort()
        if (awaited.listens && !awaited.end) return awaited
        if (awaited.end && awaited === processRun) await Promise.race([changed.promise, pass(1000)])
      }
    },
    async kill() {
      await send('SIGKILL', 'kill').ended
    },
    drain,
    signal: (name) => void processRun.child.kill(name),
    order({ ends }) {
      if (ends) return send('SIGUSR2', 'order')
      processRun.child.kill('SIGUSR2')
      return processRun
    },
    async after(before) {
      if (processRun === before) await changed.promise
      return processRun
    },
    async close(how) {
      closing = true
      if (how === 'kill') send('SIGKILL', 'kill')
      else await drain()
      await kept
    },
  }
}

function readLines(child: ChildProcess, take: (line: string) => void): void {
  let rest = ''
  child.stderr!.on('data', (piece: string) => {
    const lines = (rest + piece).split('\n')
    rest = lines.pop()!
    for (const line of lines) take(line)
  })
}

/**
 * Why a process run ended in this way; undefined if nothing that the harness did explains it. `troubled`: its store was unavailable or full
 * meanwhile.
 */
export function explainEnd(
  processRun: Pick<ProcessRun, 'ending' | 'acted' | 'listens'>,
  { code, signal }: End,
  troubled: boolean,
): string | undefined {
  const acts = [...processRun.acted]
  const by = (action: string): string | undefined => acts.find(([, acted]) => acted === action)?.[0]
  if (signal === 'SIGKILL') return processRun.ending === 'kill' ? 'killed' : by('kill')
  // Node ends itself with this signal if its heap is full.
  if (processRun.ending === 'order' && (code !== 0 || signal === 'SIGABRT')) return 'crashed'
  if (processRun.ending === 'twice' && (code === 0 || code === 1)) return 'ended by a second signal'
  if (processRun.ending === 'drain' && code === 0) return 'drained'
  // A point that throws ends a process in two places only (docs/failpoints.md).
  const threwAt = (where: string): boolean => acts.some(([name, action]) => name.startsWith(where) && action !== 'delay')
  if (processRun.ending === 'drain' && code === 1 && threwAt('drain.')) return 'a failpoint in the drain'
  if (!processRun.listens && code === 1 && threwAt('start.')) return 'a failpoint in the start'
  if (!processRun.listens && troubled && code === 2) return 'its store could not be used'
  return undefined
}
