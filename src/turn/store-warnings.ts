/**
 * What the log says while the store is away: each kind of trouble at once and then every ten seconds with how often it happened, and one line
 * when the store answers again. A thousand turns that wait for it fill no disk. Decides nothing.
 */
import type { Logger } from 'pino'

export interface StoreWarnings {
  warn(what: string, cause: string): void
  /** The store has answered. */
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
