/**
 * `billing.spend-limit`: limits on what an end user, an API key or an agent may spend in a UTC calendar day, a calendar month, or in all. Pure:
 * the store decides with its own clock and stores what is spent in each window.
 */
import type { Amount } from './ledger/ledger.ts'

export const spendScopes = ['end_user', 'api_key', 'agent'] as const
export const spendSpans = ['day', 'month', 'total'] as const
export type SpendScope = (typeof spendScopes)[number]
/** How long a window of a limit is. A window is a calendar day, a calendar month, or all time. */
export type SpendSpan = (typeof spendSpans)[number]

/** Of each scope and span, an agent has at most one limit. */
export type SpendLimit = {
  scope: SpendScope
  span: SpendSpan
  amount: Amount
  /** When a limit of this scope and span was set, in epoch milliseconds. What was charged earlier in the same window counts, too. */
  since: number
}

export type SpendWindow = { startsAt: number; /** Null: never. */ endsAt: number | null }

const dayMs = 24 * 60 * 60 * 1000

/** The window of a span that contains a moment. */
export function windowAt(span: SpendSpan, now: number): SpendWindow {
  // mutant: billing.spend-limit-3
  if (span === 'total') return { startsAt: 0, endsAt: null }
  if (span === 'day') return { startsAt: now - (now % dayMs), endsAt: now - (now % dayMs) + dayMs }
  const at = new Date(now)
  return { startsAt: Date.UTC(at.getUTCFullYear(), at.getUTCMonth()), endsAt: Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1) }
}

/** The limits that apply to an end user: its own ones replace those that its agent has for end users. */
export const effectiveLimits = (ofAgent: SpendLimit[], ofEndUser: SpendLimit[] | undefined): SpendLimit[] =>
  ofEndUser ? [...ofAgent.filter(({ scope }) => scope !== 'end_user'), ...ofEndUser] : ofAgent

/** As JSON with the amounts in digits, for the store. */
export const storedLimits = (limits: SpendLimit[]): string =>
  JSON.stringify(limits.map(({ scope, span, amount, since }) => ({ scope, span, amount: String(amount), since })))

export const readLimits = (stored: string): SpendLimit[] =>
  (JSON.parse(stored) as (Omit<SpendLimit, 'amount'> & { amount: string })[]).map((limit) => ({ ...limit, amount: BigInt(limit.amount) }))

/** In percent of a limit. Webhooks are notified once when a window reaches one of them. */
const spendThresholds = [50, 80, 100] as const

/**
 * The thresholds that a window has reached and that were not reported. A refused turn for which the rest would not do without the holds of
 * other turns either has reached the last one. `used` is what is spent and unpaid, `needed` the hold of the refused turn or 0, and `reported`
 * the highest threshold of this limit that was reported.
 */
export const newThresholds = ({
  limit,
  used,
  needed,
  reported,
}: {
  limit: Amount
  used: Amount
  needed: Amount
  reported: number
}): number[] => {
  const isUsedUp = used + needed > limit
  // The limit may be newer than the turns of the window, whose next end reports it.
  if (needed > 0n && !isUsedUp) return []
  return spendThresholds.filter(
    (percent) => percent > reported && (used * 100n >= limit * BigInt(percent) || (percent === 100 && isUsedUp)),
  )
}
