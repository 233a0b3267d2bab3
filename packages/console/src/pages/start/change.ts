/** How a figure has changed since the previous period, in words. Pure. */
import { writeMs } from '../../show/measures.ts'

/** `tone` only where more or less is better or worse. */
export type Change = { text: string; tone: 'good' | 'bad' | 'none' }

const percent = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 })
const points = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 })

const signed = (difference: number, size: string): string => `${difference < 0 ? '−' : '+'}${size}`

/** Of a count or an amount: neither more nor less is better. `period`: "previous 7 days". `shown`: what it was before, in words. */
export function relativeChange(now: number, before: number, period: string, shown: string): Change {
  if (now === before) return { text: `same as the ${period}`, tone: 'none' }
  if (before === 0) return { text: `none in the ${period}`, tone: 'none' }
  const ratio = now / before
  // A percentage of next to nothing says less than the figure.
  if (ratio >= 10) return { text: `${shown} in the ${period}`, tone: 'none' }
  const size = percent.format(Math.abs(ratio - 1) * 100)
  return { text: size === '0' ? `about the same as the ${period}` : `${signed(now - before, `${size}%`)} from the ${period}`, tone: 'none' }
}

/** Of shares between 0 and 1, in percentage points: less is better. Null: there was nothing to have a share of. */
export function shareChange(now: number | null, before: number | null, period: string): Change | null {
  if (now === null) return null
  if (before === null) return { text: `no turns in the ${period}`, tone: 'none' }
  const size = points.format(Math.abs(now - before) * 100)
  if (size === '0') return { text: `same as the ${period}`, tone: 'none' }
  return { text: `${signed(now - before, `${size} pt`)} from the ${period}`, tone: now < before ? 'good' : 'bad' }
}

/** A latency that changes by less than this is the same. */
const sameShare = 0.02

/** Of milliseconds: less is better. */
export function latencyChange(now: number | null, before: number | null, period: string): Change | null {
  if (now === null) return null
  if (before === null) return { text: `no replies in the ${period}`, tone: 'none' }
  if (Math.abs(now - before) <= before * sameShare) return { text: `same as the ${period}`, tone: 'none' }
  return { text: `${signed(now - before, writeMs(Math.abs(now - before)))} from the ${period}`, tone: now < before ? 'good' : 'bad' }
}
