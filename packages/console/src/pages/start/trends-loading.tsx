/** The outline of the four figures of the overview. */
import '../../show/panel.css'
import { Skeleton, Text } from '@mantine/core'
import { heightOf } from '../../show/plot/plot-types.ts'

/** Has the size of the panel. */
export function TrendsLoading() {
  return (
    <div role="status" aria-label="Loading figures">
      <div className="trend-panel">
        {['Turns', 'Error rate', 'Spend', 'Latency p95'].map((label) => (
          <div key={label} className="trend">
            <div className="trend-words">
              <Text size="sm" c="dimmed">
                {label}
              </Text>
              <Skeleton h={26} w="40%" my={3} />
              <Skeleton h={13} w="70%" my={3} />
            </div>
            <div style={{ height: heightOf({ isSmall: true }) + 30 }} />
          </div>
        ))}
      </div>
      <div style={{ height: 58 }} />
    </div>
  )
}
