/** Warns of a low balance, and explains what it means for messages. */
import { Alert, Text } from '@mantine/core'
import { formatLow } from '../../api/low.ts'
import type { Low } from '../../api/low.ts'

export function LowBalance({ low }: { low: Low | null }) {
  if (!low) return null
  return (
    <Alert color="yellow" variant="outline" role="note" title={formatLow(low)}>
      <Text size="sm">
        {low.reason === 'empty' ? 'New messages to its agents are rejected with 402 until you add credit. ' : null}
        {low.reason === 'below one dollar' ? 'Messages whose hold exceeds the available balance are rejected with 402. ' : null}
        {low.reason === 'few days' ? 'The available balance covers less than three days of spend. ' : null}
        {low.daysLeft === null ? null : 'The estimate is based on the spend of the last 7 days.'}
      </Text>
    </Alert>
  )
}
