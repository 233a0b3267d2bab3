/**
 * Logs overload with figures: messages refused because no slot was free, and an event loop that runs late. Only observes; the concurrency
 * limiter alone decides what is refused (docs/decisions/0025-overload.md says why).
 */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import type { Turns } from './turn.ts'

export interface OverloadWatch {
  start(): void
  stop(): void
  /** The delay of the event loop in milliseconds, 99th percentile of the last ten to twenty seconds. */
  loopDelayP99Ms(): number
}

export type OverloadWatchOptions = {
  log: Logger
  turns: Pick<Turns, 'running' | 'rejected' | 'waiting'>
  lookEveryMs?: number
}

// Ten checks per second cost nothing, and catch every delay long enough to be logged.
const resolutionMs = 100
// The same as the deadline of the rate limiter (`rate.fail-closed`): an event loop that is later than this refuses valid requests.
const lateMs = 250
// A lasting overload is logged once per interval. A single pause is not overload.
const usualLookMs = 10_000

export function watchOverload({ log, turns, lookEveryMs = usualLookMs }: OverloadWatchOptions): OverloadWatch {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs })
  let usedBefore = performance.eventLoopUtilization()
  let rejectedBefore = 0
  let lastP99Ms = 0
  let timer: NodeJS.Timeout | undefined

  /** Counts since the last check. */
  function look(): void {
    const used = performance.eventLoopUtilization()
    const rejected = turns.rejected - rejectedBefore
    const loop = {
      loop_delay_p90_ms: late(delays.percentile(90)),
      loop_delay_max_ms: late(delays.max),
      loop_busy_percent: Math.round(performance.eventLoopUtilization(used, usedBefore).utilization * 100),
    }
    const facts = { rejected, running: turns.running, waiting: turns.waiting(), ...loop }
    if (rejected > 0) log.warn(facts, 'overload: rejected messages because no turn slot was free')
    else if (loop.loop_delay_p90_ms > lateMs) log.warn(facts, 'overload: the event loop is delayed')
    rejectedBefore = turns.rejected
    usedBefore = used
    lastP99Ms = late(delays.percentile(99))
    delays.reset()
  }

  return {
    start() {
      delays.enable()
      timer = setInterval(look, lookEveryMs)
    },
    stop() {
      delays.disable()
      clearInterval(timer)
    },
    // Just after a log line there are few samples, so the value before it counts too.
    loopDelayP99Ms: () => Math.max(lastP99Ms, late(delays.percentile(99))),
  }
}

/** Each sample is the time between two checks. The planned interval between them is not delay. */
const late = (nanoseconds: number): number => Math.max(0, Math.round(nanoseconds / 1e6 - resolutionMs))
