/**
 * `billing.spend-limit`: the windows in which a turn counts, within the transaction of its admission. The constraint spent_within_limit forbids
 * what is refused here.
 */
import { effectiveLimits, readLimits, windowAt } from '../../spend-limits.ts'
import type { SpendLimit, SpendWindow } from '../../spend-limits.ts'
import type { Row } from '../sql.ts'
import type { Admission, SpendLimitExceeded } from '../turn-records.ts'
import { recordReachedLimits } from './events.ts'
import type { Statements } from './statements.ts'

type Counted = SpendLimit &
  SpendWindow & {
    subject: string
    /** The row of the window, if it has one. */
    id: bigint | undefined
    /** What is spent, held and unpaid. */
    used: bigint
  }

/** The present windows of all limits of an end user, its key and its agent. */
export function findWindows(sql: Statements, now: number, agent: Row, item: Admission): Counted[] {
  const own = sql.findEndUserLimits.get(item.agentId, item.externalUserId)
  const limits = effectiveLimits(readLimits(agent.spend_limits as string), own && readLimits(own.spend_limits as string))
  const subjects = { end_user: item.externalUserId, api_key: item.apiKeyId, agent: item.agentId }
  return limits.map((limit) => {
    const { scope, span, since } = limit
    const window = windowAt(span, now)
    const subject = subjects[scope]
    const row = sql.findSpending.get(item.agentId, scope, subject, span, window.startsAt)
    if (row) return { ...limit, ...window, subject, id: row.id as bigint, used: row.used as bigint }
    // The windows of the agent and of its keys have a row since the limit was set, if anything had been charged in them.
    const before = scope === 'end_user' && since > window.startsAt
    const used = before ? (sql.chargedSince.get(subject, item.agentId, window.startsAt)!.charged as bigint) : 0n
    return { ...limit, ...window, subject, id: undefined, used }
  })
}

/** Undefined if the hold fits in all of them. */
// mutant: limit-checked-outside-the-transaction
export function findExceeded(windows: Counted[], now: number, hold: bigint): SpendLimitExceeded | undefined {
  const exceeded = windows.filter(({ used, amount }) => used + hold > amount)
  return exceeded.length === 0
    ? undefined
    : refusal(
        exceeded.map(({ endsAt }) => endsAt),
        now,
      )
}

/** `spend_limit.reached`, if the hold would not fit without the holds of other turns either. A window without a row has no turns. */
export function recordRefusal(
  sql: Statements,
  windows: Counted[],
  { agent, item, hold, now }: { agent: Row; item: Admission; hold: bigint; now: number },
): void {
  const limits = new Map(windows.flatMap(({ id, amount }) => (id === undefined ? [] : [[id, amount]])))
  const turn = { ownerId: agent.owner_id as string, agentId: item.agentId, countsIn: `[${[...limits.keys()].join()}]` }
  recordReachedLimits(sql, turn, now, { needed: hold, limits })
}

/** Holds in each window and returns what is stored with the turn, so that its end corrects the same rows. */
export function countIn(sql: Statements, windows: Counted[], { agentId }: Admission, hold: bigint): string {
  const ids = windows.map(({ scope, subject, span, startsAt, endsAt, amount, id, used }) => {
    const row = id ?? (sql.insertSpending.get(agentId, scope, subject, span, startsAt, endsAt, used, used, amount)!.id as bigint)
    sql.holdSpending.run(hold, amount, row)
    return row
  })
  return `[${ids.join()}]`
}

/** Of the windows of a running turn: whether a larger hold exceeds the limits of the last admission that counts in them. */
export function findFull(sql: Statements, now: number, countsIn: string, more: bigint): SpendLimitExceeded | undefined {
  const full = sql.findFullSpending.all(countsIn, more)
  return full.length === 0
    ? undefined
    : refusal(
        full.map((row) => (row.ends_at === null ? null : Number(row.ends_at))),
        now,
      )
}

/** A retry can succeed when the last of the windows has ended. */
function refusal(ends: (number | null)[], now: number): SpendLimitExceeded {
  const last = ends.includes(null) ? null : Math.max(...ends.map(Number))
  return { kind: 'spend_limit_exceeded', retryAfterSeconds: last === null ? null : Math.max(1, Math.ceil((last - now) / 1000)) }
}
