/**
 * The only place that draws with uPlot. It follows the size and the color scheme of the page and cleans up after itself. Its content is
 * also available as text: in the legend, which shows the figures under the pointer, and as a table.
 */
import 'uplot/dist/uPlot.min.css'
import { Box, Group, Paper, Stack, Text, Title, useComputedColorScheme } from '@mantine/core'
import { useEffect, useId, useRef, useState } from 'react'
import uPlot from 'uplot'
import { FiguresTable } from './figures-table.tsx'
import { colorVariable, plotData, plotHeight, plotOptions } from './plot-options.ts'
import type { Scheme } from './plot-options.ts'
import { isEmpty } from './plots.ts'
import type { PlotOf, Series } from './plots.ts'

export function Plot({ plot }: { plot: PlotOf }) {
  const titleId = useId()
  const [index, setIndex] = useState<number | null>(null)
  const { title, buckets, series, shape } = plot
  return (
    <Paper withBorder p="md" component="section" aria-labelledby={titleId} miw={0}>
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
            <Canvas plot={plot} onIndex={setIndex} />
            <FiguresTable plot={plot} />
          </>
        )}
      </Stack>
    </Paper>
  )
}

function Canvas({ plot, onIndex }: { plot: PlotOf; onIndex: (index: number | null) => void }) {
  const box = useRef<HTMLDivElement>(null)
  const scheme = useComputedColorScheme('light')
  useEffect(() => {
    const element = box.current
    if (!element) return
    const drawn = new uPlot(plotOptions(plot, { width: element.clientWidth, scheme, onIndex }), plotData(plot), element)
    drawn.ctx.canvas.setAttribute('role', 'img')
    drawn.ctx.canvas.setAttribute('aria-label', plot.summary)
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0 && element.clientWidth !== drawn.width) drawn.setSize({ width: element.clientWidth, height: plotHeight })
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      drawn.destroy()
      onIndex(null)
    }
  }, [plot, scheme, onIndex])
  return <Box ref={box} h={plotHeight} style={{ overflow: 'hidden' }} />
}

function LegendItem({ series: { label, color, dashed }, isBar, text }: { series: Series; isBar: boolean; text: string }) {
  const scheme: Scheme = useComputedColorScheme('light')
  const ink = `var(${colorVariable(color, scheme)})`
  return (
    <Group gap={6} wrap="nowrap">
      <svg width="16" height="12" aria-hidden="true">
        {isBar ? (
          <rect x="2" width="12" height="12" fill={ink} />
        ) : (
          <line x1="0" y1="6" x2="16" y2="6" stroke={ink} strokeWidth="3" {...(dashed ? { strokeDasharray: '6 4' } : {})} />
        )}
      </svg>
      <Text size="xs" className="figures">
        {label}: {text}
      </Text>
    </Group>
  )
}
