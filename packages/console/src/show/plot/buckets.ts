/** The hours or days of a response: their positions and labels. Hours are in the viewer's time zone; a day is a UTC day. */
import type { Usage } from '../../api/types.ts'

export type Bucket = Usage['data'][number]

export type Buckets = {
  unit: 'hour' | 'day'
  /** Epoch seconds of their centers, and of both ends of the range. */
  middles: number[]
  from: number
  to: number
  names: string[]
}

const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })
const hour = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' })
const seconds = { hour: 3_600, day: 86_400 }

export function bucketsOf(data: Bucket[], unit: 'hour' | 'day'): Buckets {
  const starts = data.map(({ bucket_start: start }) => Date.parse(start) / 1_000)
  const length = seconds[unit]
  const from = starts[0] ?? 0
  return {
    unit,
    middles: starts.map((start) => start + length / 2),
    from,
    to: (starts.at(-1) ?? from) + length,
    names: starts.map((start) => (unit === 'day' ? `${day.format(start * 1_000)} (UTC)` : hour.format(start * 1_000))),
  }
}
