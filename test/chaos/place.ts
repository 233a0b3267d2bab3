/**
 * One server of a run through all of its lives: started again at once whenever it ends, as a service manager would do it, on the port it always
 * had. Reads what each life says, and tells how it came to its end; an end that nothing explains is told as such. Never decides when a life ends.
 */
import type { ChildProcess } from 'node:child_process'
import { setTimeout as pass } from 'node:timers/promises'
import { showServer } from '../support/shown-server.ts'
import type { History } from './history.ts'
import { specOf } from './schedule.ts'
import type { ArmedPoint } from './schedule.ts'

export type End = { code: number | null; signal: NodeJS.Signals | null }
/** How the harness ends a life; `order`: by a fault in the process itself. */
export type Ending = 'kill' | 'drain' | 'twice' | 'order'

export type Life = {
  number: number
  child: ChildProcess
  startedAt: number
  armed: ArmedPoint[]
  drainSeconds: number
  /** The clock that it sees can be moved. */
  clock: boolean
  /** What acted, and how, as the server itself said. */
  acted: Map<string, string>
  listens: boolean
  /** False where it ended before. */
  listening: Promise<boolean>
  ended: Promise<End>
  end: End | undefined
  ending: Ending | undefined
  /** Resolves when a failpoint acts in this life, or when it has ended. */
  news(): Promise<void>
}

export type NextLife = { points: ArmedPoint[]; drainSeconds?: number }

export type PlaceOptions = {
  number: number
  history: History
  /** The bin/turnkeep.js that runs. */
  program?: string
  env(life: { number: number; drainSeconds: number; clock: boolean }): Record<string, string>
  /** Whether a life runs under a clock that can be moved, and its drain limit where nobody asked for one. */
  draw(number: number): { clock: boolean; drainSeconds: number }
  /** A line at level error or fatal. */
  onTrouble(life: Life, line: LogLine): void
  onEnd(life: Life, end: End): void
  /** For the guard that ends what a dead harness leaves. */
  onPid(word: 'start' | 'gone', pid: number): void
}

export type LogLine = { level: string; msg: string; at: number; text: string }

export type Place = {
  readonly number: number
  readonly life: Life
  /** The last one that began with failpoints. */
  readonly armedLife: Life | undefined
  /** A fault is at work here, and no other may disturb it. */
  reserved: boolean
  /** How the next life begins, and where its start is refused the one after; those that follow are plain again. */
  prepare(next: NextLife): void
  /** The first life that listens from now on; rejects where none does in time. */
  listening(limitMs?: number): Promise<Life>
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>
  /** SIGTERM, and once more where it is told; resolves when it is gone. */
  drain(againAfterMs?: number): Promise<void>
  signal(name: NodeJS.Signals): void
  /** SIGUSR2, for what obey.ts was told; `ends` where the process is to die of it. */
  order({ ends }: { ends: boolean }): Life
  /** The life that follows this one. */
  after(life: Life): Promise<Life>
  /** No more lives: drains the one there is, or kills it. */
  close(how: 'drain' | 'kill'): Promise<void>
}

// A start that is refused must not be asked for in a tight circle.
const refusedStartPauseMs = 300
// A start takes a second or two; this is for a machine that does much else, and for a database that comes back late.
const listeningWithinMs = 90_000
// Beyond the drain's own limit: what closes after it may wait for a database that is away.
const drainGraceMs = 30_000

export function keepPlace(options: PlaceOptions): Place {
  const { number: place, history, program, env, draw, onTrouble, onEnd, onPid } = options
  let prepared: NextLife | undefined
  let armedLife: Life | undefined
  let closing = false
  let life = launch(1)
  let changed = Promise.withResolvers<void>()
  const kept = keep()

  async function keep(): Promise<void> {
    for (;;) {
      const end = await life.ended
      tell(life, end)
      if (closing) return
      if (!life.listens) await pass(refusedStartPauseMs)
      if (closing) return
      // Its store was away; its points have not been passed.
      if (!life.listens && life.acted.size === 0 && life.ending === undefined)
        prepared ??= { points: life.armed, drainSeconds: life.drainSeconds }
      life = launch(life.number + 1)
      changed.resolve()
      changed = Promise.withResolvers()
    }
  }

  function launch(number: number): Life {
    const { points, drainSeconds } = prepared ?? { points: [] }
    prepared = undefined
    const drawn = draw(number)
    const own = { number, clock: drawn.clock, drainSeconds: drainSeconds ?? drawn.drainSeconds }
    const failpoints: Record<string, string> = points.length > 0 ? { TURNKEEP_FAILPOINTS: specOf(points) } : {}
    const { child, ended } = showServer({ ...env(own), ...failpoints }, program)
    const listening = Promise.withResolvers<boolean>()
    let news = Promise.withResolvers<void>()
    const life: Life = {
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
    if (points.length > 0) armedLife = life
    const { pid } = child
    if (pid !== undefined) onPid('start', pid)
    readLines(child, (text) => {
      if (text.startsWith('{"failpoint":')) {
        const { failpoint, action } = JSON.parse(text) as { failpoint: string; action: string }
        life.acted.set(failpoint, action)
        history.write({ kind: 'failpoint', at: history.now(), place, name: failpoint, action })
        news.resolve()
        news = Promise.withResolvers()
      } else if (!life.listens && text.includes('"msg":"listening"')) {
        life.listens = true
        history.write({ kind: 'process', at: history.now(), place, what: 'started', why: specOf(points) })
        listening.resolve(true)
      } else if (/^\{"level":"(error|fatal)"/.test(text)) {
        const { level, msg } = JSON.parse(text) as { level: string; msg: string }
        onTrouble(life, { level, msg, at: history.now(), text })
      }
    })
    void ended.then((end) => {
      life.end = end
      if (pid !== undefined) onPid('gone', pid)
      listening.resolve(false)
      news.resolve()
    })
    return life
  }

  function tell(of: Life, { code, signal }: End): void {
    const what = of.ending === 'kill' && signal === 'SIGKILL' ? 'killed' : of.ending === undefined ? 'ended' : 'terminated'
    const byPoint = [...of.acted].find(([, action]) => action === 'kill')
    const why = byPoint && of.ending !== 'kill' ? `failpoint ${byPoint[0]}` : (of.ending ?? (of.listens ? 'by itself' : 'refused to start'))
    history.write({ kind: 'process', at: history.now(), place, what: byPoint ? 'ended' : what, code, signal, why })
    onEnd(of, { code, signal })
  }

  function send(name: NodeJS.Signals, ending: Ending): Life {
    const sentTo = life
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
    number: place,
    get life() {
      return life
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
        const awaited = life
        const left = until - performance.now()
        if (closing || left <= 0) throw new Error(`place ${place} did not listen within ${limitMs} ms`)
        const timer = new AbortController()
        await Promise.race([awaited.listening, pass(left, undefined, { signal: timer.signal }).catch(() => undefined)])
        timer.abort()
        if (awaited.listens && !awaited.end) return awaited
        if (awaited.end && awaited === life) await Promise.race([changed.promise, pass(1000)])
      }
    },
    async kill() {
      await send('SIGKILL', 'kill').ended
    },
    drain,
    signal: (name) => void life.child.kill(name),
    order({ ends }) {
      if (ends) return send('SIGUSR2', 'order')
      life.child.kill('SIGUSR2')
      return life
    },
    async after(before) {
      if (life === before) await changed.promise
      return life
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

/** Why a life came to this end; undefined where nothing that the harness did explains it. `troubled`: its store was away or full meanwhile. */
export function explainEnd(life: Pick<Life, 'ending' | 'acted' | 'listens'>, { code, signal }: End, troubled: boolean): string | undefined {
  const acts = [...life.acted]
  const by = (action: string): string | undefined => acts.find(([, acted]) => acted === action)?.[0]
  if (signal === 'SIGKILL') return life.ending === 'kill' ? 'killed' : by('kill')
  // Node ends itself by this signal where its heap is full.
  if (life.ending === 'order' && (code !== 0 || signal === 'SIGABRT')) return 'crashed'
  if (life.ending === 'twice' && (code === 0 || code === 1)) return 'ended by a second signal'
  if (life.ending === 'drain' && code === 0) return 'drained'
  // By rule a point that throws ends a process in two places only (docs/failpoints.md).
  const threwAt = (where: string): boolean => acts.some(([name, action]) => name.startsWith(where) && action !== 'delay')
  if (life.ending === 'drain' && code === 1 && threwAt('drain.')) return 'a failpoint in the drain'
  if (!life.listens && code === 1 && threwAt('start.')) return 'a failpoint in the start'
  if (!life.listens && troubled && code === 2) return 'its store could not be used'
  return undefined
}
