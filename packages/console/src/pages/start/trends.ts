/** The four figures of the overview with their charts: turns, error rate, spend and latency, each with the previous period. Pure. */
import type { Usage } from '../../api/types.ts'
import { shortMoney } from '../../show/short-money.ts'
import { writeCount, writeMs } from '../../show/measures.ts'
import { bucketsOf } from '../../show/plot/buckets.ts'
import type { Color, PlotOf, Series } from '../../show/plot/plot-types.ts'
import { latencyChange, relativeChange, shareChange } from './change.ts'
import type { Change } from './change.ts'

type Figures = Usage['totals'] | Usage['data'][number]
export type Trend = { label: string; value: string; note: string | null; alarming: boolean; change: Change | null; plot: PlotOf }

const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 })
const usd = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD', minimumFractionDigits: 2, maximumSignificantDigits: 4 })

/** The share of runs without a reply. Null without any run. */
export const errorRate = ({ completed, errors }: Figures): number | null =>
  completed + errors === 0 ? null : errors / (completed + errors)

export type Periods = { usage: Usage; previous: Usage; unit: 'hour' | 'day'; period: string }

export function trendsOf({ usage, previous, unit, period }: Periods): Trend[] {
  const buckets = bucketsOf(usage.data, unit)
  type Read = { read: (figures: Figures) => number | null; write: (value: number) => string; totalOf?: (usage: Usage) => string }
  const series = (label: string, color: Color, of: Usage, { read, write }: Read, look: Partial<Series> = {}): Series => ({
    label,
    color,
    dashed: false,
    values: buckets.middles.map((_, index) => (of.data[index] ? read(of.data[index]) : null)),
    texts: buckets.middles.map((_, index) => {
      const value = of.data[index] ? read(of.data[index]) : null
      return value === null ? '–' : write(value)
    }),
    total: writeOrNone(read(of.totals), write),
    ...look,
  })
  const plot = (title: string, measure: PlotOf['measure'], all: Series[]): PlotOf => ({
    title,
    shape: 'lines',
    measure,
    buckets,
    series: all,
    summary: `${title} by ${unit} from ${buckets.names[0]} to ${buckets.names.at(-1)}. ${all.map(({ label, total }) => `${label}: ${total}`).join('. ')}.`,
    isSmall: true,
  })
  const compared = (title: string, measure: PlotOf['measure'], color: Color, of: Read): PlotOf =>
    plot(title, measure, [
      series(`Previous ${title.toLowerCase()}`, 'graphic', previous, of, { dashed: true }),
      series(title, color, usage, of, { isFilled: true }),
    ])
  const turns: Read = { read: ({ turns: count }) => count, write: writeCount }
  const errors: Read = { read: errorRate, write: (value) => percent.format(value) }
  const spend: Read = { read: ({ charged_usd: charged }) => Number(charged), write: (value) => usd.format(value) }
  const p95: Read = { read: ({ p95_ms: ms }) => ms, write: writeMs }
  const p50: Read = { read: ({ p50_ms: ms }) => ms, write: writeMs }
  const [now, before] = [usage.totals, previous.totals]
  return [
    {
      label: 'Turns',
      value: writeCount(now.turns),
      note: null,
      alarming: false,
      change: relativeChange(now.turns, before.turns, period, writeCount(before.turns)),
      plot: compared('Turns', 'count', 'accent', turns),
    },
    {
      label: 'Error rate',
      value: writeOrNone(errorRate(now), percent.format),
      note: now.errors > 0 ? `${writeCount(now.errors)} without a reply` : null,
      alarming: now.errors > 0,
      change: shareChange(errorRate(now), errorRate(before), period),
      plot: compared('Error rate', 'share', 'bad', errors),
    },
    {
      label: 'Spend',
      value: shortMoney(now.charged_usd),
      note: null,
      alarming: false,
      change: relativeChange(Number(now.charged_usd), Number(before.charged_usd), period, shortMoney(before.charged_usd)),
      plot: compared('Spend', 'usd', 'accent', spend),
    },
    {
      label: 'Latency p95',
      value: writeOrNone(now.p95_ms, writeMs),
      note: now.p50_ms === null ? null : `p50 ${writeMs(now.p50_ms)}`,
      alarming: false,
      change: latencyChange(now.p95_ms, before.p95_ms, period),
      plot: plot('Latency', 'ms', [
        series('Previous latency p95', 'graphic', previous, p95, { dashed: true }),
        series('Latency p95', 'accent', usage, p95),
        series('Latency p50', 'tool', usage, p50),
      ]),
    },
  ]
}

const writeOrNone = (value: number | null, write: (value: number) => string): string => (value === null ? '–' : write(value))

/** All figures in one table. */
export function tableOf(trends: Trend[]): PlotOf {
  const [first] = trends
  return { ...first!.plot, title: 'Turns, errors, spend and latency', series: trends.flatMap(({ plot }) => plot.series.toReversed()) }
}
