/**
 * Whether the process has stood still a moment ago: stopped by a signal or with its machine, or kept busy by something of ours. What was late then
 * is no fault of a caller, whose bytes lay here unread. Holds no process open.
 */
import type { Server } from 'node:http'

export interface Standstill {
  watch(server: Server): void
  /** True from the first moment after it until everything that waited has been looked at. */
  isJustOver(): boolean
}

// A busy machine keeps a timer waiting for tenths of a second.
const tickMs = 500
const longMs = 2000
// Timers come before sockets are read, so those that fell due during the standstill see it; a round or two of the loop is enough.
const justMs = 1000

export function createStandstill(monotonicMs: () => number): Standstill {
  let tickedAt = monotonicMs()
  let overAt = -Infinity

  function look(): void {
    const now = monotonicMs()
    if (now - tickedAt > longMs) overAt = now
    tickedAt = now
  }

  return {
    watch(server) {
      const timer = setInterval(look, tickMs).unref()
      server.once('close', () => clearInterval(timer))
    },
    isJustOver() {
      look()
      return monotonicMs() - overAt < justMs
    },
  }
}
