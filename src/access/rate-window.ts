/**
 * The rate window of an API key: the port every limiter fulfils, and the one that lives in this process. Knows no header and no key's
 * secret. Specification section 8; rulings `rate.spend`, `rate.window`. Where the count lives decides what a restart forgets: this one all.
 * The others: redis-window.ts, store-window.ts.
 */
import type { RateOutcome } from './outcome.ts'

export type RateSpend = {
  apiKeyId: string
  /** Requests allowed per window. */
  limit: number
  windowSeconds: number
}

export interface RateWindow {
  /** Spends one unit in one atomic step. May throw or hang where its store fails; the caller answers `unavailable` then. */
  spend(request: RateSpend): Promise<RateOutcome>
  /** The same where it cannot fail and nothing has to be waited for; absent where the count lives elsewhere. */
  spendNow?(request: RateSpend): RateOutcome
  /** Rejects where `spend` could not be answered now. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** A window after a request, by the clock of the store it lives in. */
export type WindowFigures = { limit: number; spent: number; endsAtMs: number; endsInMs: number }

/** `rate.window`: what is told is rounded up, so an obedient caller is never early. */
export function outcomeOf(fits: boolean, { limit, spent, endsAtMs, endsInMs }: WindowFigures): RateOutcome {
  const figures = { limit, remaining: Math.max(0, limit - spent), resetAt: Math.ceil(endsAtMs / 1000) }
  if (fits) return { kind: 'allowed', figures }
  return { kind: 'exceeded', figures, retryAfterSeconds: Math.max(1, Math.ceil(endsInMs / 1000)) }
}

export type MemoryWindowOptions = {
  /** Milliseconds that never go back, as performance.now(): what the decision is made on. */
  monotonicMs: () => number
  /** Epoch milliseconds, as Date.now(): what `resetAt` is told in. */
  wallMs: () => number
}

type OpenWindow = { openedAt: number; openedWall: number; windowSeconds: number; accepted: number }

// Below this many windows a sweep is not worth its walk: about 100 kB.
const fewestSwept = 1_000

/**
 * `rate.window`: fixed, opened by the key's first request. A changed limit or length holds for the window under way too. Ended windows are
 * swept whenever their number could have doubled, so memory follows the keys in use and the work stays constant per request.
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
    // Whole milliseconds: 60 s from a fraction may come out as a hair more, and as 61 s to wait.
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
