/** Arithmetic of the bench: percentiles of one measurement, and the spread of a figure over the rounds. Pure. */

/** Over the rounds. With an even number of rounds the median is the mean of the two in the middle. */
export type Spread = { median: number; min: number; max: number; rounds: number }

/** Headings of columns that several scenarios have; goals find figures by them. */
export const headings = {
  rate: 'turns/s',
  cpu: 'CPU ms a turn',
  p50: 'p50, ms',
  p99: 'p99, ms',
  firstDelta50: 'first delta p50, ms',
  firstDelta99: 'first delta p99, ms',
  databaseCpu: 'PostgreSQL and Redis CPU ms a turn',
  upstreamCpu: 'upstream CPU ms a turn',
  clientCpu: 'client CPU ms a turn',
} as const

/** Throws without values: a figure that was not measured has no spread. */
export function spread(values: number[]): Spread {
  if (values.length === 0) throw new Error('no round measured this')
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const median = Number.isInteger(middle) ? (sorted[middle - 1]! + sorted[middle]!) / 2 : sorted[Math.floor(middle)]!
  return { median, min: sorted[0]!, max: sorted.at(-1)!, rounds: sorted.length }
}

/** The smallest value that `share` of all values do not exceed (nearest rank); 0 without values. `sorted` is ascending. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted.length === 0 ? 0 : sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!
}

/** Each of `these` divided by the median of `those`: a figure relative to another one of the same run. */
export function ratio(these: Spread, those: Spread): number {
  return these.median / those.median
}

/** The slope of a straight line through the points by least squares, y for each x; 0 for fewer than two points. */
export function slope(points: { x: number; y: number }[]): number {
  const mean = (of: (point: { x: number; y: number }) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length
  const [x, y] = [mean((point) => point.x), mean((point) => point.y)]
  const across = points.reduce((sum, point) => sum + (point.x - x) ** 2, 0)
  return across === 0 ? 0 : points.reduce((sum, point) => sum + (point.x - x) * (point.y - y), 0) / across
}
