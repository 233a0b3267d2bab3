/** Whether an owner's balance runs low, why, and for how long it will last at the rate of its last seven days. */
import { oneDollar } from './amounts.ts'

/** `daysLeft` is null if nothing was spent in seven days, or if that is not known yet. */
export type Low = { reason: 'empty' | 'below one dollar' | 'few days'; daysLeft: number | null }

/** A balance for fewer days than this is low: it must last for a weekend. */
const fewDays = 3n

export function lowOf(available: bigint, spent: bigint | undefined): Low | null {
  const daysLeft = spent !== undefined && spent > 0n ? Number((available * 70n) / spent) / 10 : null
  if (available <= 0n) return { reason: 'empty', daysLeft: null }
  if (available < oneDollar) return { reason: 'below one dollar', daysLeft }
  if (isFewDays(available, spent ?? 0n)) return { reason: 'few days', daysLeft }
  return null
}

/** `spent` is that of seven days. */
export const isFewDays = (available: bigint, spent: bigint): boolean => available * 7n < spent * fewDays

export function formatLow({ reason, daysLeft }: Low): string {
  const lasts =
    daysLeft === null
      ? ''
      : daysLeft < 1
        ? 'less than a day left'
        : `about ${Math.round(daysLeft)} ${Math.round(daysLeft) === 1 ? 'day' : 'days'} left`
  switch (reason) {
    case 'empty':
      return 'No available balance'
    case 'below one dollar':
      return `Low: less than $1.00${lasts ? `, ${lasts}` : ''}`
    case 'few days':
      return `Low: ${lasts}`
  }
}
