/**
 * The only place that draws with uPlot, loaded with the first chart. It follows the size and the color scheme of the page and cleans up after
 * itself.
 */
import 'uplot/dist/uPlot.min.css'
import { Box, useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import { plotData, plotOptions } from './plot-options.ts'
import { heightOf } from './plot-types.ts'
import type { PlotOf } from './plot-types.ts'

export function PlotCanvas({ plot, onIndex }: { plot: PlotOf; onIndex: (index: number | null) => void }) {
  const box = useRef<HTMLDivElement>(null)
  // The canvas reads the colors when it is drawn.
  const scheme = useComputedColorScheme('light')
  useEffect(() => {
    const element = box.current
    if (!element) return
    const drawn = new uPlot(plotOptions(plot, { width: element.clientWidth, onIndex }), plotData(plot), element)
    drawn.ctx.canvas.setAttribute('role', 'img')
    drawn.ctx.canvas.setAttribute('aria-label', plot.summary)
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0 && element.clientWidth !== drawn.width)
        drawn.setSize({ width: element.clientWidth, height: heightOf(plot) })
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      drawn.destroy()
      onIndex(null)
    }
  }, [plot, scheme, onIndex])
  return <Box ref={box} h={heightOf(plot)} style={{ overflow: 'hidden' }} />
}
