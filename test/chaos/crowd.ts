/**
 * Whether the machine had time for the run: how many threads want a core at the same time. What comes late while far more want one than there are
 * is late by the machine's fault, and no promise is about that; the history says when it was, and the report for how long. Judges nothing else.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { History } from './history.ts'
import type { LogWatch } from './log-watch.ts'

// A run by itself has two or three a core; with four a thread waits as long as a rate window may take, 250 ms, before it has run for 80.
const maxPerCore = 4
const lookEveryMs = 100
const looksTogether = 10

/** Looks until the function that it answers is called. */
export function watchCrowd(
  { history, logWatch }: { history: Pick<History, 'write' | 'now'>; logWatch: Pick<LogWatch, 'crowded'> },
  runnable: () => number = runnableNow,
): () => void {
  const most = maxPerCore * availableParallelism()
  let looks: number[] = []
  let from = history.now()
  const timer = setInterval(() => {
    looks.push(runnable())
    if (looks.length < looksTogether) return
    const mean = looks.reduce((sum, count) => sum + count, 0) / looks.length
    const at = history.now()
    if (mean > most) {
      history.write({ kind: 'machine', at, from, runnable: Math.round(mean) })
      logWatch.crowded(at)
    }
    looks = []
    from = at
  }, lookEveryMs)
  return () => clearInterval(timer)
}

/** Threads that run or want to, at this moment, by the kernel's own count; this one is among them. */
function runnableNow(): number {
  return Number(/ (\d+)\/\d+ /.exec(readFileSync('/proc/loadavg', 'utf8'))![1])
}
