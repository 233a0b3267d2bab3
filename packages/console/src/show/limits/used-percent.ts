/** How much of a window of a spend limit is used: what is spent, held for running turns, and unpaid. Pure. */
import { readAmount, writeAmount } from '../../api/amounts.ts'
import type { Spending } from '../../api/types.ts'

type Amounts = Pick<Spending, 'limit_usd' | 'spent_usd' | 'held_usd' | 'unpaid_usd'>

const unitsOf = ({ spent_usd, held_usd, unpaid_usd }: Amounts): bigint =>
  [spent_usd, held_usd, unpaid_usd].reduce((sum, usd) => sum + (readAmount(usd) ?? 0n), 0n)

/** Decimal text, as in the API. */
export const usedAmount = (amounts: Amounts): string => writeAmount(unitsOf(amounts))

/** Whole percents, rounded down, so that 100 % means that nothing is left. A limit of zero is used up. */
export function usedPercent(amounts: Amounts): number {
  const limit = readAmount(amounts.limit_usd) ?? 0n
  return limit === 0n ? 100 : Number((unitsOf(amounts) * 100n) / limit)
}

/** `full`: nothing is left. `near`: at least 80 %. */
export const levelOf = (percent: number): 'full' | 'near' | 'fine' => (percent >= 100 ? 'full' : percent >= 80 ? 'near' : 'fine')
