/**
 * Logs outages of the store: each kind of failure once immediately and then every ten seconds with a count, and one line when the store
 * responds again. Thousands of waiting turns therefore do not flood the log.
 */
import type { Logger } from 'pino'
import { createThrottle } from '../observability/throttle.ts'

export interface StoreWarnings {
  warn(what: string, cause: string): void
  /** The store has responded. */
  over(): void
}

export function createStoreWarnings(log: Logger, monotonicMs: () => number = () => performance.now()): StoreWarnings {
  const kinds = new Map<string, { mayLog: () => boolean; times: number }>()
  return {
    warn(what, cause) {
      const kind = kinds.get(what) ?? { mayLog: createThrottle(monotonicMs), times: 0 }
      kinds.set(what, kind)
      kind.times++
      if (!kind.mayLog()) return
      log.error({ cause, times: kind.times }, what)
      kind.times = 0
    },
    over() {
      if (kinds.size === 0) return
      kinds.clear()
      log.info('store available again')
    },
  }
}
