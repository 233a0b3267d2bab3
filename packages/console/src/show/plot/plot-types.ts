/** A chart as the pages describe it, before it is drawn. */
import type { Buckets } from './buckets.ts'

/** A color of tokens.ts that stands out on a panel. */
export type Color = 'accent' | 'bad' | 'graphic' | 'info' | 'retrieval' | 'tool'
export type Series = {
  label: string
  color: Color
  dashed: boolean
  /** A line with a soft surface below it. */
  isFilled?: boolean
  /** Without a point for each value. */
  isPlain?: boolean
  /** For drawing only. */
  values: (number | null)[]
  /** Its exact value in words. */
  texts: string[]
  /** For the whole range. */
  total: string
}
export type PlotOf = {
  title: string
  /** Stacked: bars, with the first series at the bottom. */
  shape: 'stacked' | 'lines'
  measure: 'count' | 'usd' | 'ms' | 'share'
  buckets: Buckets
  series: Series[]
  /** The text alternative of the plot. */
  summary: string
  isSmall?: boolean
}

/** Pixels. */
export const plotHeight = 220
const smallHeight = 88

/** `isSmall`: in a row of figures, without axes. */
export const heightOf = ({ isSmall }: Pick<PlotOf, 'isSmall'>): number => (isSmall ? smallHeight : plotHeight)

/** A CSS variable of tokens.ts, which has a value for each scheme. */
export const colorVariable = (color: Color): string => `--tk-${color}`

export const isEmpty = ({ series }: Pick<PlotOf, 'series'>): boolean => series.every(({ values }) => values.every((value) => !value))
