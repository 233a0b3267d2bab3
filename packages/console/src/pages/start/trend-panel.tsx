/** Four figures in one panel, each above its chart. The pointer in one chart shows the values of that hour or day in all of them. */
import { Group, Stack, Text } from '@mantine/core'
import { Suspense, lazy, useMemo, useState } from 'react'
import { FiguresTable } from '../../show/plot/figures-table.tsx'
import { colorVariable, heightOf } from '../../show/plot/plot-types.ts'
import type { Color } from '../../show/plot/plot-types.ts'
import { tableOf, trendsOf } from './trends.ts'
import type { Periods, Trend } from './trends.ts'

const Canvas = lazy(() => import('../../show/plot/plot-canvas.tsx').then(({ PlotCanvas: canvas }) => ({ default: canvas })))
const tones = { good: 'var(--tk-good)', bad: 'var(--tk-bad)', none: 'dimmed' }

export function TrendPanel({ periods }: { periods: Periods }) {
  const trends = useMemo(() => trendsOf(periods), [periods])
  const table = useMemo(() => tableOf(trends), [trends])
  const [index, setIndex] = useState<number | null>(null)
  return (
    <section aria-label={`Figures compared with the ${periods.period}`}>
      <div className="trend-panel">
        {trends.map((trend) => (
          <TrendCell key={trend.label} trend={trend} index={index} onIndex={setIndex} />
        ))}
      </div>
      <Stack gap="xs" mt={8}>
        <Legend period={periods.period} />
        <FiguresTable plot={table} />
      </Stack>
    </section>
  )
}

/** What the lines mean, in all of the charts. */
const Legend = ({ period }: { period: string }) => (
  <Group gap="md" aria-hidden="true">
    <LegendLine color="accent" text="This period" />
    <LegendLine color="graphic" text={period.replace('previous', 'Previous')} dashed />
    <LegendLine color="tool" text="Latency p50" />
  </Group>
)

function LegendLine({ color, text, dashed = false }: { color: Color; text: string; dashed?: boolean }) {
  const ink = `var(${colorVariable(color)})`
  return (
    <Group gap={6} wrap="nowrap">
      <svg width="16" height="12">
        <line x1="0" y1="6" x2="16" y2="6" stroke={ink} strokeWidth="2" {...(dashed ? { strokeDasharray: '4 4' } : {})} />
      </svg>
      <Text size="xs" c="dimmed">
        {text}
      </Text>
    </Group>
  )
}

type TrendCellProps = { trend: Trend; index: number | null; onIndex: (index: number | null) => void }

function TrendCell({ trend: { label, value, note, alarming, change, plot }, index, onIndex }: TrendCellProps) {
  const { names } = plot.buckets
  return (
    <div className="trend" role="group" aria-label={label}>
      <div className="trend-words">
        <Text size="sm" c="dimmed">
          {label}
        </Text>
        <Text fz="xl" fw={600} className="figures" {...(alarming ? { c: 'var(--tk-bad)' } : {})}>
          {value}{' '}
          {note ? (
            <Text span size="xs" fw={400} c="dimmed">
              {note}
            </Text>
          ) : null}
        </Text>
        {index === null ? (
          <Text size="xs" c={tones[change?.tone ?? 'none']} className="trend-change">
            {change?.text ?? 'no replies in this range'}
          </Text>
        ) : (
          <Text size="xs" aria-hidden className="trend-change">
            {`${shortName(names[index] ?? '')}: ${plot.series
              .toReversed()
              .map(({ texts, dashed }) => `${dashed ? 'before ' : ''}${texts[index]}`)
              .join(', ')}`}
          </Text>
        )}
      </div>
      <div>
        <Suspense fallback={<div style={{ height: heightOf(plot) }} />}>
          <Canvas plot={plot} onIndex={onIndex} />
        </Suspense>
        <div className="trend-ends" aria-hidden="true">
          <Text size="xs" c="dimmed">
            {shortName(names[0] ?? '')}
          </Text>
          <Text size="xs" c="dimmed">
            now
          </Text>
        </div>
      </div>
    </div>
  )
}

/** Without the year and the note about UTC, which the table has. */
const shortName = (name: string): string => name.replace(/, \d{4} \(UTC\)$/, '')
