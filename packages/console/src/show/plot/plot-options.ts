/** A plot for uPlot: its series, axes and colors. The colors are the theme's, in shades that stand out on the background of each scheme. */
import uPlot from 'uplot'
import type { Buckets } from './buckets.ts'
import { colorVariable, heightOf } from './plot-types.ts'
import type { PlotOf, Series } from './plot-types.ts'
import { writeMs, writeShortCount } from '../measures.ts'

const [hour, day] = [3_600, 86_400]
/** Ticks on whole hours and days, so that a label never splits a bucket. */
const ticks = {
  hour: [1, 2, 3, 4, 6, 8, 12, 24, 48].map((count) => count * hour),
  day: [1, 2, 3, 4, 5, 7, 10, 15, 30, 60, 90, 120].map((count) => count * day),
}
const wholeNumbers = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()

export function plotOptions(plot: PlotOf, { width, onIndex }: { width: number; onIndex: (index: number | null) => void }): uPlot.Options {
  const styles = getComputedStyle(document.documentElement)
  const read = (variable: string): string => styles.getPropertyValue(variable).trim() || 'gray'
  const [ink, line] = ['--tk-muted', '--tk-line']
  const axis = {
    stroke: read(ink),
    font: '12px "Inter Variable", system-ui, sans-serif',
    grid: { stroke: read(line), width: 1 },
    ticks: { stroke: read(line), width: 1 },
  }
  const { buckets, measure, shape, isSmall = false } = plot
  const draw = shape === 'stacked' ? asBars : isSmall ? asThinLine : asLine
  return {
    width,
    height: heightOf(plot),
    padding: isSmall ? [8, 0, 1, 0] : [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false, setScale: false }, sync: { key: 'usage' }, points: { show: shape === 'lines' } },
    scales: {
      x: {
        // Ticks are at midnight in the viewer's time zone. A day is a UTC day, which its number of seconds aligns.
        time: buckets.unit === 'hour',
        // A line without axes starts and ends at the edges.
        range: () => (isSmall ? [buckets.middles[0]!, buckets.middles.at(-1)!] : [buckets.from, buckets.to]),
      },
      y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        show: !isSmall,
        space: 72,
        size: 32,
        incrs: ticks[buckets.unit],
        // The label of a day is below its bar.
        ...(buckets.unit === 'day' && {
          splits: (_plot, _axis, _from, _to, step) =>
            buckets.middles.filter((_, index) => index % Math.max(1, Math.round(step / day)) === 0),
        }),
        values: (_plot, splits, _axis, _space, step) => splits.map((split) => writeMoment(split, buckets.unit, step)),
      },
      {
        ...axis,
        show: !isSmall,
        ...(measure === 'count' ? { incrs: wholeNumbers } : {}),
        values: (_plot, splits) => splits.map((split) => writeMeasure(split, measure)),
        size: (_plot, values) => Math.max(44, 18 + 7 * Math.max(0, ...(values ?? []).map((text) => text.length))),
      },
    ],
    series: [{}, ...inDrawingOrder(plot).map((series) => draw(series, read(colorVariable(series.color)), buckets.middles.length))],

    hooks: { setCursor: [({ cursor }) => onIndex(cursor.idx ?? null)] },
  }
}

/** In a stack, each bar starts at zero and is as high as the sum up to it. The highest is drawn first. */
export function plotData(plot: PlotOf): uPlot.AlignedData {
  const { buckets, series, shape } = plot
  if (shape === 'lines') return [buckets.middles, ...series.map(({ values }) => values)]
  const heights: number[][] = []
  for (const { values } of series) {
    const below = heights.at(-1)
    heights.push(values.map((value, index) => (value ?? 0) + (below?.[index] ?? 0)))
  }
  return [buckets.middles, ...heights.toReversed()]
}

const inDrawingOrder = ({ series, shape }: PlotOf): Series[] => (shape === 'stacked' ? series.toReversed() : series)

const asBars = ({ label }: Series, color: string): uPlot.Series => ({
  label,
  fill: color,
  width: 0,
  points: { show: false },
  // Wide enough to be hit, and not too wide if there are few.
  ...(uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [0.8, 40] }) } : {}),
})

/** Draws points as well, because a value between two gaps has no line. */
const asLine = ({ label, dashed, isFilled, isPlain }: Series, color: string, count: number): uPlot.Series => ({
  label,
  ...softFill(isFilled, color),
  stroke: color,
  width: 2,
  ...(dashed ? { dash: [6, 4] } : {}),
  points: { show: !isPlain, size: count > 100 ? 3 : 6, fill: color, stroke: color },
})

const asThinLine = ({ label, dashed, isFilled }: Series, color: string): uPlot.Series => ({
  label,
  stroke: color,
  width: 1.5,
  ...(dashed ? { dash: [4, 4] } : {}),
  ...softFill(isFilled, color),
  points: { show: false },
})

const softFill = (isFilled: boolean | undefined, color: string): { fill?: string } =>
  isFilled ? { fill: `color-mix(in srgb, ${color} 12%, transparent)` } : {}

const dayOfAxis = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const utcDayOfAxis = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' })
const hourOfAxis = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })

/** Formats an hour in the viewer's time zone, and midnight as its day. A day is a UTC day. */
function writeMoment(split: number, unit: Buckets['unit'], stepSeconds: number): string {
  const date = new Date(split * 1_000)
  if (unit === 'day') return utcDayOfAxis.format(date)
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0
  return (stepSeconds >= day || isMidnight ? dayOfAxis : hourOfAxis).format(date)
}

const usdOfAxis = new Intl.NumberFormat(undefined, {
  style: 'currency',
  currency: 'USD',
  maximumSignificantDigits: 3,
  minimumSignificantDigits: 1,
})

const shareOfAxis = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 })

function writeMeasure(value: number, measure: PlotOf['measure']): string {
  switch (measure) {
    case 'count':
      return writeShortCount(value)
    case 'usd':
      return usdOfAxis.format(value)
    case 'ms':
      return value === 0 ? '0' : writeMs(value)
    case 'share':
      return shareOfAxis.format(value)
  }
}
