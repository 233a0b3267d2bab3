/**
 * Logs outages of the store: each kind of failure once immediately and then every ten seconds with a count, and one line when the store
 * responds again. Thousands of waiting turns therefore do not flood the log.
 */
import type { Logger } from 'pino'

export interface StoreWarnings {
  warn(what: string, cause: string): void
  /** The store has responded. */
  over(): void
}

const warnEveryMs = 10_000

export function createStoreWarnings(log: Logger, monotonicMs: () => number = () => performance.now()): StoreWarnings {
  const kinds = new Map<string, { warnedAt: number; times: number }>()
  return {
    warn(what, cause) {
      const kind = kinds.get(what) ?? { warnedAt: -Infinity, times: 0 }
      kinds.set(what, kind)
      kind.times++
      if (monotonicMs() - kind.warnedAt < warnEveryMs) return
      log.error({ cause, times: kind.times }, what)
      Object.assign(kind, { warnedAt: monotonicMs(), times: 0 })
    },
    over() {
      if (kinds.size === 0) return
      kinds.clear()
      log.info('store available again')
    },
  }
}
