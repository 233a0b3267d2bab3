/**
 * What the windows of spend limits must contain, derived only from the rule `billing.spend-limit`. Every outcome of a store call is applied in
 * the order of the commits. Part of the store model.
 */
import type { Row } from '../../src/store/sql.ts'

type Scope = 'end_user' | 'api_key' | 'agent'
type Span = 'day' | 'month' | 'total'
type Limit = { scope: Scope; span: Span; amount: bigint }
type Window = { scope: Scope; subject: string; span: Span; startsAt: number; spent: bigint; held: bigint; unpaid: bigint; most: bigint }
type Charge = { apiKeyId: string; user: string | undefined; startedAt: number; amount: bigint }

/** What is needed of a turn of the store model. */
type Turn = {
  requestId: string
  conversationId: string
  apiKeyId: string
  externalUserId: string
  hold: bigint
  erased: boolean
}
type Accuse = (check: string, what: string) => void

/** There is one agent. */
const theAgent = 'agent'

function startOf(span: Span, now: number): number {
  const at = new Date(now)
  if (span === 'total') return 0
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), span === 'day' ? at.getUTCDate() : 1)
}

export function createSpendingModel(accuse: Accuse, saw: (what: string) => void) {
  let limits: (Limit & { since: number })[] = []
  const windows: Window[] = []
  /** The windows of the last run of a turn, and its start. */
  const counted = new Map<string, { in: Window[]; startedAt: number }>()
  const charges: Charge[] = []
  const conversations = new Map<string, string>()

  const find = (scope: Scope, subject: string, span: Span, startsAt: number): Window | undefined =>
    windows.find((one) => one.scope === scope && one.subject === subject && one.span === span && one.startsAt === startsAt)

  function chargedBefore(scope: Scope, subject: string, startsAt: number): bigint {
    const own = charges.filter(({ apiKeyId, user }) => scope === 'agent' || (scope === 'api_key' ? apiKeyId : user) === subject)
    return own.filter(({ startedAt }) => startedAt >= startsAt).reduce((sum, { amount }) => sum + amount, 0n)
  }

  const used = ({ spent, held, unpaid }: Window): bigint => spent + held + unpaid

  function setLimits(given: Limit[], now: number): void {
    saw('limits are set')
    const isSame = (one: Limit) => (other: Limit) => one.scope === other.scope && one.span === other.span
    limits = given.map((limit) => ({ ...limit, since: limits.find(isSame(limit))?.since ?? now }))
    for (const { scope, span, amount, since } of limits) {
      if (since !== now || scope === 'end_user') continue
      const subjects = scope === 'agent' ? [theAgent] : new Set(charges.map(({ apiKeyId }) => apiKeyId))
      for (const subject of subjects) {
        const startsAt = startOf(span, now)
        const spent = chargedBefore(scope, subject, startsAt)
        const known = find(scope, subject, span, startsAt)
        if (spent === 0n) continue
        if (known) known.spent = spent
        else windows.push({ scope, subject, span, startsAt, spent, held: 0n, unpaid: 0n, most: spent > amount ? spent : amount })
      }
    }
  }

  function admitted(turn: Turn, { now }: { now: number }): void {
    const subjects = { end_user: turn.externalUserId, api_key: turn.apiKeyId, agent: theAgent }
    conversations.set(turn.conversationId, turn.externalUserId)
    const inWindows = limits.map(({ scope, span, amount, since }) => {
      const startsAt = startOf(span, now)
      const subject = subjects[scope]
      let window = find(scope, subject, span, startsAt)
      if (!window) {
        const spent = scope === 'end_user' && since > startsAt ? chargedBefore(scope, subject, startsAt) : 0n
        window = { scope, subject, span, startsAt, spent, held: 0n, unpaid: 0n, most: amount }
        windows.push(window)
      }
      window.held += turn.hold
      window.most = amount
      if (used(window) > amount) accuse('limit', `${turn.requestId}: ${used(window)} is used of ${amount} (${scope}, ${span})`)
      return window
    })
    if (inWindows.length > 0) saw('a turn counts in a window')
    counted.set(turn.requestId, { in: inWindows, startedAt: now })
  }

  /** A refusal needs a window in which less is free than the turn holds at most. */
  function refused({ apiKeyId, externalUserId }: Pick<Turn, 'apiKeyId' | 'externalUserId'>, now: number, mostHold: bigint): void {
    const subjects = { end_user: externalUserId, api_key: apiKeyId, agent: theAgent }
    const isTight = limits.some(({ scope, span, amount, since }) => {
      const startsAt = startOf(span, now)
      const window = find(scope, subjects[scope], span, startsAt)
      const before = scope === 'end_user' && since > startsAt ? chargedBefore(scope, externalUserId, startsAt) : 0n
      return (window ? used(window) : before) + mostHold > amount
    })
    if (!isTight) accuse('limit', `${apiKeyId} ${externalUserId} was refused, and each of ${limits.length} limits has room for ${mostHold}`)
  }

  function extended({ requestId }: Turn, more: bigint): void {
    for (const window of counted.get(requestId)!.in) {
      window.held += more
      if (used(window) > window.most) accuse('limit', `${requestId}: an extension uses ${used(window)} of ${window.most}`)
    }
  }

  /** `charge` undefined: the turn has no reply. */
  function ended({ requestId, apiKeyId, externalUserId, hold, erased }: Turn, charge: bigint | undefined, reserved: bigint): void {
    const run = counted.get(requestId)!
    for (const window of run.in) {
      window.held -= hold
      window.unpaid += reserved
      window.spent += charge ?? 0n
    }
    const user = erased ? undefined : externalUserId
    if (charge !== undefined) charges.push({ apiKeyId, user, startedAt: run.startedAt, amount: charge })
  }

  /** The names of these users are gone if no conversation is left. */
  function erased(conversationIds: string[]): void {
    for (const id of conversationIds) {
      const user = conversations.get(id)
      conversations.delete(id)
      if (user === undefined || conversations.values().some((other) => other === user)) continue
      for (const charge of charges) if (charge.user === user) charge.user = undefined
      for (const window of windows) if (window.scope === 'end_user' && window.subject === user) window.subject = `erased ${user}`
    }
  }

  function compare(rows: Row[]): void {
    const line = (values: unknown[]): string => values.map(String).join(' ')
    const stored = rows.map((row) => line([row.scope, row.span, row.starts_at, row.spent, row.held, row.unpaid])).toSorted()
    const must = windows
      .map(({ scope, span, startsAt, spent, held, unpaid }) => line([scope, span, startsAt, spent, held, unpaid]))
      .toSorted()
    const wrong = stored.length === must.length ? stored.findIndex((one, index) => one !== must[index]) : 0
    if (wrong >= 0 && (stored.length > 0 || must.length > 0))
      accuse(
        'spending',
        `stored: ${stored[wrong] ?? 'nothing'}; must be: ${must[wrong] ?? 'nothing'} (${stored.length} of ${must.length} windows)`,
      )
  }

  return { setLimits, admitted, refused, extended, ended, erased, compare }
}
