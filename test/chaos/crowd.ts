/**
 * Measures whether the machine had time for the run: how many threads want a core at the same time. If far more threads than cores want to
 * run, delays are not violations. The history records when that was, and the report for how long.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { History } from './history.ts'
import type { LogWatch } from './log-watch.ts'

// A run alone has two or three per core. With four, a thread waits as long as a rate window may take, 250 ms, before it has run for 80.
const maxPerCore = 4
const lookEveryMs = 100
const looksTogether = 10

/** Samples until the returned function is called. */
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

/** The number of threads that run or want to, from the kernel. This thread is one of them. */
function runnableNow(): number {
  return Number(/ (\d+)\/\d+ /.exec(readFileSync('/proc/loadavg', 'utf8'))![1])
}
