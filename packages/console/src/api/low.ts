/** When an owner's balance runs low, why, and for about how long it still lasts at the pace of its last seven days. */
import { oneDollar } from './amounts.ts'

/** `daysLeft` null: nothing was spent in seven days, or it is not known yet. */
export type Low = { reason: 'empty' | 'below one dollar' | 'few days'; daysLeft: number | null }

/** Less than this many days of the last seven days' spend is low: a weekend without anybody at the books. */
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

export function sayLow({ reason, daysLeft }: Low): string {
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
