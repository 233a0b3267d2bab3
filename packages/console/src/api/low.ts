/** Whether an owner's balance runs low, why, and for how long it will last at the rate of its last seven days. */
import { oneDollar } from './amounts.ts'

/** `daysLeft` is null if nothing was spent in seven days, or if that is not known yet. */
export type Low = { reason: 'empty' | 'below one dollar' | 'few days'; daysLeft: number | null }

/** A balance for fewer days than this is low: it must last for a weekend. */
const fewDays = 3n

/** For how many days an amount lasts at the spend of seven days. Null if nothing was spent, or if that is not known yet. */
export const daysLeftOf = (available: bigint, spent: bigint | undefined): number | null =>
  spent !== undefined && spent > 0n ? Number((available * 70n) / spent) / 10 : null

/** More than this is not worth a number. */
const manyDays = 365

/** "about 12 days", "less than a day". */
export function formatDays(days: number): string {
  if (days < 1) return 'less than a day'
  if (days > manyDays) return 'over a year'
  return `about ${Math.round(days)} ${Math.round(days) === 1 ? 'day' : 'days'}`
}

export function lowOf(available: bigint, spent: bigint | undefined): Low | null {
  const daysLeft = daysLeftOf(available, spent)
  if (available <= 0n) return { reason: 'empty', daysLeft: null }
  if (available < oneDollar) return { reason: 'below one dollar', daysLeft }
  if (isFewDays(available, spent ?? 0n)) return { reason: 'few days', daysLeft }
  return null
}

/** `spent` is that of seven days. */
const isFewDays = (available: bigint, spent: bigint): boolean => available * 7n < spent * fewDays

export function formatLow({ reason, daysLeft }: Low): string {
  // A small balance that lasts for months is low all the same, and the days would say otherwise.
  const lasts = daysLeft === null || daysLeft > 30 ? '' : `${formatDays(daysLeft)} left`
  switch (reason) {
    case 'empty':
      return 'No available balance'
    case 'below one dollar':
      return `Low: less than $1.00${lasts ? `, ${lasts}` : ''}`
    case 'few days':
      return `Low: ${lasts}`
  }
}
