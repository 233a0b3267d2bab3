/**
 * Detects that the process was suspended (by a signal or with its machine) or that its event loop was blocked. A request that seems late
 * after that may have arrived in time without being read. Does not keep the process alive.
 */
import type { Server } from 'node:http'

export interface Standstill {
  watch(server: Server): void
  /** True for one second after a standstill, until everything that waited has been handled. */
  isJustOver(): boolean
}

// On a busy machine a timer can be late by several tenths of a second.
const tickMs = 500
const longMs = 2000
// Timers run before sockets are read, so timers that expired during the standstill fire within this time. The waiting bytes are read one or
// two turns of the event loop later.
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
