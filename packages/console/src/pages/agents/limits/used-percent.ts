/** How much of a window of a spend limit is used: what is spent, held for running turns, and unpaid. */
import type { Spending } from '../../../api/types.ts'

/** Whole percents, rounded down, so that 100 % means that nothing is left. A limit of zero is used up. */
export function usedPercent({ limit_usd, spent_usd, held_usd, unpaid_usd }: Spending): number {
  const units = (usd: string): bigint => BigInt(usd.replace('.', ''))
  const limit = units(limit_usd)
  return limit === 0n ? 100 : Number(((units(spent_usd) + units(held_usd) + units(unpaid_usd)) * 100n) / limit)
}
