/** The balance of an owner by day, computed backward from now, and where it is going at the spend of the last seven days. Pure. */
import { readAmount, writeAmount } from '../../api/amounts.ts'
import { daysLeftOf, formatDays } from '../../api/low.ts'
import type { LedgerEntry, Usage } from '../../api/types.ts'
import { shortMoney } from '../../show/short-money.ts'
import type { PlotOf } from '../../show/plot/plot-types.ts'

const daySeconds = 86_400
/** How far the projection goes. */
const maxProjected = 14
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })

export type BurnDown = {
  /** The present balance, and what of it new turns can use. Decimal texts. */
  balance: string
  available: string
  /** By UTC day, ending today. */
  days: Usage['data']
  /** Credits and adjustments of these days. */
  entries: Pick<LedgerEntry, 'amount_usd' | 'created_at'>[]
  /** Of seven days. */
  spent: bigint
}

type DatedEntry = Pick<LedgerEntry, 'created_at'>

/** Without the days before the last entry of a list, newest first, that has as many as are read: earlier entries are not known. */
export function knownDays(days: Usage['data'], lists: DatedEntry[][], maxRead: number): Usage['data'] {
  const ends = lists.flatMap((list) => (list.length < maxRead ? [] : [list.at(-1)?.created_at.slice(0, 10) ?? '']))
  return days.filter(({ bucket_start: start }) => ends.every((end) => start.slice(0, 10) >= end))
}

/** The balance at the end of each day, oldest first; the last one is the present balance. */
export function balancesOf({ balance, days, entries }: Pick<BurnDown, 'balance' | 'days' | 'entries'>): bigint[] {
  const balances: bigint[] = []
  let atEnd = readAmount(balance) ?? 0n
  for (const { bucket_start: start, charged_usd: charged } of days.toReversed()) {
    balances.push(atEnd)
    const ofDay = entries.filter(({ created_at: at }) => at.slice(0, 10) === start.slice(0, 10))
    const added = ofDay.reduce((sum, { amount_usd: amount }) => sum + (readAmount(amount) ?? 0n), 0n)
    atEnd += (readAmount(charged) ?? 0n) - added
  }
  return balances.toReversed()
}

export function burnDownPlot(given: BurnDown): PlotOf {
  const balances = balancesOf(given)
  const starts = given.days.map(({ bucket_start: start }) => Date.parse(start) / 1_000)
  const today = starts.at(-1) ?? 0
  const daysLeft = daysLeftOf(readAmount(given.available) ?? 0n, given.spent)
  const ahead = daysLeft === null ? 0 : Math.min(maxProjected, Math.ceil(daysLeft))
  const later = Array.from({ length: ahead }, (_, index) => today + (index + 1) * daySeconds)
  const all = [...starts, ...later]
  const present = balances.at(-1) ?? 0n
  const projected = later.map((_, index) => {
    const left = present - (given.spent * BigInt(index + 1)) / 7n
    return left > 0n ? left : 0n
  })
  const none = <Value>(count: number, value: Value): Value[] => Array.from({ length: count }, () => value)
  const write = (amount: bigint): string => `${writeAmount(amount)} USD`
  const lasts = daysLeft === null ? 'no spend in the last 7 days' : `lasts ${formatDays(daysLeft)} at the spend of the last 7 days`
  const before = Math.max(0, starts.length - 1)
  return {
    title: 'Balance',
    shape: 'lines',
    measure: 'usd',
    buckets: {
      unit: 'day',
      middles: all.map((start) => start + daySeconds / 2),
      from: all[0] ?? 0,
      to: (all.at(-1) ?? 0) + daySeconds,
      names: all.map((start) => `${day.format(start * 1_000)} (UTC)`),
    },
    series: [
      {
        label: 'Balance',
        color: 'accent',
        dashed: false,
        isFilled: true,
        isPlain: true,
        values: [...balances.map(Number), ...none(ahead, null)].map((units) => (units === null ? null : units / 1e8)),
        texts: [...balances.map(write), ...none(ahead, '–')],
        total: shortMoney(writeAmount(present)),
      },
      {
        label: 'Projection',
        color: 'graphic',
        dashed: true,
        isPlain: true,
        values:
          ahead === 0
            ? none(all.length, null)
            : [...none(before, null), Number(present) / 1e8, ...projected.map((units) => Number(units) / 1e8)],
        texts: ahead === 0 ? none(all.length, '–') : [...none(before, '–'), write(present), ...projected.map(write)],
        total: lasts,
      },
    ],
    summary: `Balance by day since ${day.format((starts[0] ?? 0) * 1_000)}: ${shortMoney(writeAmount(balances[0] ?? 0n))} then, ${shortMoney(writeAmount(present))} now; ${lasts}.`,
  }
}
