/**
 * The rate window of an API key: the interface of all limiters, and the one in this process (`rate.spend`, `rate.window`). Its count is
 * lost at a restart. The others are redis-window.ts and store-window.ts.
 */
import type { RateOutcome } from './outcome.ts'

export type RateSpend = {
  apiKeyId: string
  /** Requests allowed per window. */
  limit: number
  windowSeconds: number
}

export interface RateWindow {
  /** Spends one unit in one atomic step. May throw or never resolve if its store fails; the caller then responds with `unavailable`. */
  spend(request: RateSpend): Promise<RateOutcome>
  /** The same for a window that cannot fail and needs no waiting. Undefined if the count is stored elsewhere. */
  spendNow?(request: RateSpend): RateOutcome
  /** Rejects if `spend` could not be answered now. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** The state of a window after a request, by the clock of its store. */
export type WindowFigures = { limit: number; spent: number; endsAtMs: number; endsInMs: number }

/** `rate.window`: times are rounded up, so a caller that honors them is never early. */
export function outcomeOf(fits: boolean, { limit, spent, endsAtMs, endsInMs }: WindowFigures): RateOutcome {
  const figures = { limit, remaining: Math.max(0, limit - spent), resetAt: Math.ceil(endsAtMs / 1000) }
  if (fits) return { kind: 'allowed', figures }
  return { kind: 'exceeded', figures, retryAfterSeconds: Math.max(1, Math.ceil(endsInMs / 1000)) }
}

export type MemoryWindowOptions = {
  /** A monotonic clock in milliseconds, such as performance.now(), on which decisions are based. */
  monotonicMs: () => number
  /** Epoch milliseconds, such as Date.now(), for `resetAt`. */
  wallMs: () => number
}

type OpenWindow = { openedAt: number; openedWall: number; windowSeconds: number; accepted: number }

// Below this number of windows (about 100 kB), a sweep is not worth its time.
const fewestSwept = 1_000

/**
 * `rate.window`: fixed, and starts with the key's first request. A changed limit or length also applies to the current window. Ended
 * windows are swept whenever their number could have doubled, so memory follows the keys in use and the work per request is constant.
 */
export function createMemoryWindow({ monotonicMs, wallMs }: MemoryWindowOptions): RateWindow {
  const windows = new Map<string, OpenWindow>()
  let sweepAt = fewestSwept

  function open(apiKeyId: string, now: number, windowSeconds: number): OpenWindow {
    if (windows.size >= sweepAt) {
      for (const [id, window] of windows) if (endOf(window) <= now) windows.delete(id)
      sweepAt = Math.max(fewestSwept, windows.size * 2)
    }
    const window = { openedAt: now, openedWall: wallMs(), windowSeconds, accepted: 0 }
    windows.set(apiKeyId, window)
    return window
  }

  function spendNow({ apiKeyId, limit, windowSeconds }: RateSpend): RateOutcome {
    // Whole milliseconds: 60 s from a fraction could come out slightly above, as 61 s to wait.
    const now = Math.floor(monotonicMs())
    const known = windows.get(apiKeyId)
    const underWay = known && now < endOf(known) ? known : undefined
    if (underWay) underWay.windowSeconds = windowSeconds
    const window = underWay && now < endOf(underWay) ? underWay : open(apiKeyId, now, windowSeconds)
    const allowed = window.accepted < limit
    if (allowed) window.accepted += 1
    const figures = { limit, remaining: Math.max(0, limit - window.accepted), resetAt: resetAt(window) }
    if (allowed) return { kind: 'allowed', figures }
    return { kind: 'exceeded', figures, retryAfterSeconds: Math.max(1, Math.ceil((endOf(window) - now) / 1000)) }
  }

  return {
    spendNow,
    spend: async (request) => spendNow(request),
    async ping() {},
    async close() {},
  }
}

const endOf = (window: OpenWindow): number => window.openedAt + window.windowSeconds * 1000

/** The end rounded up to whole Unix seconds. The wall clock drops a part of a millisecond, so an end on the full second lies just after it. */
const resetAt = (window: OpenWindow): number => Math.floor((window.openedWall + window.windowSeconds * 1000) / 1000) + 1
