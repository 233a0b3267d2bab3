/** A chart with its legend, which shows the figures under the pointer, and with its content as a table. */
import '../panel.css'
import { Box, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { Suspense, lazy, useId, useState } from 'react'
import { FiguresTable } from './figures-table.tsx'
import { colorVariable, isEmpty, plotHeight } from './plot-types.ts'
import type { PlotOf, Series } from './plot-types.ts'

const Canvas = lazy(() => import('./plot-canvas.tsx').then(({ PlotCanvas: canvas }) => ({ default: canvas })))

export function Plot({ plot }: { plot: PlotOf }) {
  const titleId = useId()
  const [index, setIndex] = useState<number | null>(null)
  const { title, buckets, series, shape } = plot
  return (
    <Box component="section" className="panel" p="md" aria-labelledby={titleId}>
      <Stack gap="xs">
        <Title order={2} size="h5" id={titleId}>
          {title}
        </Title>
        {isEmpty(plot) ? (
          <Text size="sm" c="dimmed" py="lg">
            No data in this range.
          </Text>
        ) : (
          <>
            <Group gap="md" aria-hidden="true">
              <Text size="xs" className="figures">
                {index === null ? 'Whole range' : buckets.names[index]}
              </Text>
              {series.map((one) => (
                <LegendItem
                  key={one.label}
                  series={one}
                  isBar={shape === 'stacked'}
                  text={index === null ? one.total : (one.texts[index] ?? '–')}
                />
              ))}
            </Group>
            <Suspense fallback={<Skeleton h={plotHeight} />}>
              <Canvas plot={plot} onIndex={setIndex} />
            </Suspense>
            <FiguresTable plot={plot} />
          </>
        )}
      </Stack>
    </Box>
  )
}

function LegendItem({ series: { label, color, dashed }, isBar, text }: { series: Series; isBar: boolean; text: string }) {
  const ink = `var(${colorVariable(color)})`
  return (
    <Group gap={6} wrap="nowrap">
      <svg width="16" height="12" aria-hidden="true">
        {isBar ? (
          <rect x="2" width="12" height="12" fill={ink} />
        ) : (
          <line x1="0" y1="6" x2="16" y2="6" stroke={ink} strokeWidth="3" {...(dashed ? { strokeDasharray: '6 4' } : {})} />
        )}
      </svg>
      <Text size="xs" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {label}: {text}
      </Text>
    </Group>
  )
}
