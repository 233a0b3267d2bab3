/**
 * Gives memory back to the system when the process has nothing to do. V8 keeps what a load has needed, twice as much as the idle process
 * uses, and never gives it back by itself (docs/decisions/0044-memory-and-start.md). A collection that does so takes a few tenths of a
 * second, and discards compiled code, so it is made once after each load and never while a turn runs in this process. A preview, or a stream
 * that follows a turn of another process, may pause for that time.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const checkIntervalMs = 10_000
/** One minute without a turn. */
const idleChecks = 6
/** Share of the time for which the event loop was busy. Indexing, reports and health checks are more than nothing. */
const maxBusy = 0.05
/** 32 MiB. Less is not worth a collection. */
const worthBytes = 32 * 1024 * 1024

export type ProcessState = {
  /** The number of turns that run in this process. */
  running(): number
  /** The busy share of the time since the last call, from 0 to 1. */
  busy(): number
  rssBytes(): number
  collect(): void
}

/** Returns a function to call at regular intervals: after `checks` idle ones in a row, it collects if that is worth it. */
export function createIdleMemory({ running, busy, rssBytes, collect }: ProcessState, checks = idleChecks): () => void {
  let idle = 0
  /** The size after the last collection, which is measured one interval later. Undefined before the first one, and until it is measured. */
  let keptBytes: number | undefined
  let isMeasured = true
  return () => {
    const isIdle = busy() <= maxBusy && running() === 0
    if (!isMeasured && isIdle) keptBytes = rssBytes()
    isMeasured = true
    idle = isIdle ? idle + 1 : 0
    if (idle !== checks || (keptBytes !== undefined && rssBytes() < keptBytes + worthBytes)) return
    collect()
    // The time of the collection itself must not count as load.
    busy()
    isMeasured = false
  }
}

/** Checks until the process ends, and does not keep it alive. */
export function returnMemoryWhenIdle(running: () => number, intervalMs = checkIntervalMs, checks = idleChecks): void {
  let before = performance.eventLoopUtilization()
  function busy(): number {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    return utilization
  }
  setInterval(
    createIdleMemory({ running, busy, rssBytes: () => process.memoryUsage.rss(), collect: collectAll }, checks),
    intervalMs,
  ).unref()
}

/** Node has no function for it without this flag, which adds one to new contexts. */
function collectAll(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options: { type: 'major'; flavor: 'last-resort' }) => void
  gc({ type: 'major', flavor: 'last-resort' })
}
