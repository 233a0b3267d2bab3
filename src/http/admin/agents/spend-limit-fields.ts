/** Spend limits in requests and responses of the admin API (`billing.spend-limit`). */
import type { Static } from 'typebox'
import { invalid } from '../../../errors.ts'
import { spendScopes, spendSpans } from '../../../spend-limits.ts'
import type { NewSpendLimit } from '../../../store/queries/spend-limits.ts'
import type { Spending } from '../../../store/queries/spending.ts'
import { AmountUsd, TimeOrNull, idOf, orNull } from '../answer-fields.ts'
import { Usd, readUsd, writeTime, writeUsd } from '../fields.ts'
import { Type } from '../../edge/schema.ts'

const window = Type.Enum([...spendSpans], { description: 'A UTC calendar day or month, or all time.' })

const NewLimit = Type.Object({ scope: Type.Enum([...spendScopes]), usd: Usd, window }, { additionalProperties: false })

/** At most one limit for each scope and window. */
export const NewLimits = Type.Array(NewLimit, {
  maxItems: spendScopes.length * spendSpans.length,
  description:
    'Limits on what each end user, each API key, or the agent may spend. A change applies to the next message and creates no version. [] removes all limits.',
  examples: [[{ scope: 'end_user', usd: '5.00', window: 'day' }]],
})

export const Limits = Type.Array(Type.Object({ scope: Type.Enum([...spendScopes]), usd: AmountUsd, window }))

export const Warnings = Type.Array(Type.String(), {
  description: 'One sentence for each limit that is below what a turn holds at least, so that it rejects every message. Otherwise empty.',
})

export const SpendingAnswer = Type.Object({
  scope: Type.Enum([...spendScopes]),
  window,
  key_id: orNull(idOf('key')),
  external_user_id: orNull(Type.String()),
  starts_at: TimeOrNull,
  ends_at: TimeOrNull,
  limit_usd: AmountUsd,
  spent_usd: AmountUsd,
  held_usd: AmountUsd,
  unpaid_usd: AmountUsd,
})
export type SpendingAnswer = Static<typeof SpendingAnswer>

export const spendingExample = {
  scope: 'end_user',
  window: 'day',
  key_id: null,
  external_user_id: 'customer-4711',
  starts_at: '2026-11-21T00:00:00.000Z',
  ends_at: '2026-11-22T00:00:00.000Z',
  limit_usd: '5.00000000',
  spent_usd: '1.20310000',
  held_usd: '0.00000000',
  unpaid_usd: '0.00000000',
}

/** Throws ApiError `validation_error` naming the item. `scope`: the only one that is allowed here. */
export function readSpendLimits(given: Static<typeof NewLimits>, scope?: NewSpendLimit['scope']): NewSpendLimit[] {
  return given.map((limit, index) => {
    const at = `spend_limits.${index}`
    const amount = readUsd(`${at}.usd`, limit.usd)
    if (amount < 0n) throw invalid(`${at}.usd`, `${at}.usd must not be negative.`)
    if (scope !== undefined && limit.scope !== scope)
      throw invalid(`${at}.scope`, `${at}.scope must be ${scope}. Limits of other scopes belong to the agent.`)
    if (given.findIndex((other) => other.scope === limit.scope && other.window === limit.window) !== index)
      throw invalid(at, `${at} is the second limit of scope ${limit.scope} and window ${limit.window}. Send one of each.`)
    return { scope: limit.scope, span: limit.window, amount }
  })
}

export const writeSpendLimits = (limits: NewSpendLimit[]): Static<typeof Limits> =>
  limits.map(({ scope, span, amount }) => ({ scope, usd: writeUsd(amount), window: span }))

export const writeSpending = ({ scope, subject, span, startsAt, endsAt, limit, spent, held, unpaid }: Spending): SpendingAnswer => ({
  scope,
  window: span,
  key_id: scope === 'api_key' ? subject : null,
  external_user_id: scope === 'end_user' ? subject : null,
  starts_at: endsAt === null ? null : writeTime(startsAt),
  ends_at: endsAt === null ? null : writeTime(endsAt),
  limit_usd: writeUsd(limit),
  spent_usd: writeUsd(spent),
  held_usd: writeUsd(held),
  unpaid_usd: writeUsd(unpaid),
})
