/** The plots of a range: which figures they show, how each is formatted, and their text alternatives. */
import type { Usage } from '../../api/types.ts'
import { causesOf } from '../error-figure.tsx'
import { shortMoney } from '../money.tsx'
import { writeCount, writeMs } from '../measures.ts'
import { bucketsOf } from './buckets.ts'
import type { Bucket, Buckets } from './buckets.ts'
import type { Color, PlotOf, Series } from './plot-types.ts'

const causeColors: Color[] = ['bad', 'retrieval', 'info']

type Drawn = Omit<PlotOf, 'summary' | 'buckets'>
type Figures = Usage['totals']

export function plotsOf({ data, totals }: Usage, unit: 'hour' | 'day'): PlotOf[] {
  const counts = (label: string, color: Color, read: (figures: Figures) => number): Series => ({
    label,
    color,
    dashed: false,
    values: data.map(read),
    texts: data.map((bucket) => writeCount(read(bucket))),
    total: writeCount(read(totals)),
  })
  const amounts = (label: string, color: Color, read: (figures: Figures) => string): Series => ({
    label,
    color,
    dashed: false,
    values: data.map((bucket) => Number(read(bucket))),
    texts: data.map((bucket) => `${read(bucket)} USD`),
    total: shortMoney(read(totals)),
  })
  const times = (label: string, color: Color, read: (figures: Figures) => number | null): Series => {
    const say = (figures: Figures | Bucket): string => {
      const ms = read(figures)
      return ms === null ? '–' : writeMs(ms)
    }
    return { label, color, dashed: color === 'tool', values: data.map(read), texts: data.map(say), total: say(totals) }
  }
  const drawn: Drawn[] = [
    {
      title: 'Completed turns and errors',
      shape: 'stacked',
      measure: 'count',
      series: [counts('Completed', 'accent', (figures) => figures.completed), counts('Errors', 'bad', (figures) => figures.errors)],
    },
    {
      title: 'Errors by cause',
      shape: 'stacked',
      measure: 'count',
      series: partsOf(totals).map(({ label, color, causes }) =>
        counts(label, color, ({ errors_by_cause: byCause }) => causes.reduce((sum, cause) => sum + (byCause[cause] ?? 0), 0)),
      ),
    },
    {
      title: 'Tokens',
      shape: 'stacked',
      measure: 'count',
      series: [
        counts('Prompt', 'info', (figures) => figures.prompt_tokens),
        counts('Completion', 'tool', (figures) => figures.completion_tokens),
      ],
    },
    {
      title: 'Spend',
      shape: 'stacked',
      measure: 'usd',
      series: [
        amounts('Charged', 'accent', (figures) => figures.charged_usd),
        amounts('Written off', 'graphic', (figures) => figures.written_off_usd),
      ],
    },
    {
      title: 'Latency of completed turns',
      shape: 'lines',
      measure: 'ms',
      series: [times('p50', 'info', (figures) => figures.p50_ms), times('p95', 'tool', (figures) => figures.p95_ms)],
    },
    {
      title: 'Time to first token',
      shape: 'lines',
      measure: 'ms',
      series: [
        times('p50', 'info', (figures) => figures.p50_first_delta_ms),
        times('p95', 'tool', (figures) => figures.p95_first_delta_ms),
      ],
    },
  ]
  const buckets = bucketsOf(data, unit)
  return drawn.map((one) => ({ ...one, buckets, summary: summarize(one, buckets) }))
}

/** The most frequent causes of the range, each with a color, and all others together. */
function partsOf({ errors_by_cause: byCause }: Figures): { label: string; color: Color; causes: string[] }[] {
  const causes = causesOf(byCause).map(([cause]) => cause)
  const named = causeColors.flatMap((color, index) => {
    const cause = causes[index]
    return cause === undefined ? [] : [{ label: cause, color, causes: [cause] }]
  })
  const others = causes.slice(causeColors.length)
  if (others.length > 0) named.push({ label: 'Other causes', color: 'graphic', causes: others })
  return named.length > 0 ? named : [{ label: 'Errors', color: 'bad', causes: [] }]
}

function summarize({ title, series }: Drawn, { unit, names }: Buckets): string {
  const span = `${title}, ${names.length} ${unit}s from ${names[0]} to ${names.at(-1)}.`
  const said = series.map(({ label, total, values, texts }) => {
    const highest = values.reduce<number>((best, value, index) => ((value ?? -1) > (values[best] ?? -1) ? index : best), 0)
    return `${label}: ${total} total${values[highest] ? `, peak ${texts[highest]} at ${names[highest]}` : ''}.`
  })
  return `${span} ${said.join(' ')}`
}
