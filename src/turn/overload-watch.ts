/**
 * Tells the operator of overload, with figures: messages that were refused for want of a place, and an event loop that comes late to
 * everything. Looks and tells; what is refused, and when, is decided by places alone (docs/decisions/0025-overload.md says why).
 */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import type { Turns } from './turn.ts'

export interface OverloadWatch {
  start(): void
  stop(): void
  /** How late the event loop came to what was due, in milliseconds: 99 of a hundred looks of the last ten to twenty seconds were no worse. */
  loopDelayP99Ms(): number
}

export type OverloadWatchOptions = {
  log: Logger
  turns: Pick<Turns, 'running' | 'rejected' | 'waiting'>
  lookEveryMs?: number
}

// Ten looks a second cost nothing, and see whatever is as long as what is told of.
const resolutionMs = 100
// The limiter's deadline is as long (`rate.fail-closed`): a loop that is later refuses what was fine.
const lateMs = 250
// An overload that lasts is a line in so long, and a single pause is no overload.
const usualLookMs = 10_000

export function watchOverload({ log, turns, lookEveryMs = usualLookMs }: OverloadWatchOptions): OverloadWatch {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs })
  let usedBefore = performance.eventLoopUtilization()
  let rejectedBefore = 0
  let lastP99Ms = 0
  let timer: NodeJS.Timeout | undefined

  /** Of what was since the last look. */
  function look(): void {
    const used = performance.eventLoopUtilization()
    const rejected = turns.rejected - rejectedBefore
    const loop = {
      loop_delay_p90_ms: late(delays.percentile(90)),
      loop_delay_max_ms: late(delays.max),
      loop_busy_percent: Math.round(performance.eventLoopUtilization(used, usedBefore).utilization * 100),
    }
    const facts = { turned_away: rejected, running: turns.running, waiting: turns.waiting(), ...loop }
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
    // The looks since the last line may be very few.
    loopDelayP99Ms: () => Math.max(lastP99Ms, late(delays.percentile(99))),
  }
}

/** What is measured is from one look to the next, and the wait between them is no delay. */
const late = (nanoseconds: number): number => Math.max(0, Math.round(nanoseconds / 1e6 - resolutionMs))
