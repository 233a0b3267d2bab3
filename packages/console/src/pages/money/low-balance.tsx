/** Warns of a balance that runs low, and says what that means for messages. */
import { Alert, Text } from '@mantine/core'
import { sayLow } from '../../api/low.ts'
import type { Low } from '../../api/low.ts'

export function LowBalance({ low }: { low: Low | null }) {
  if (!low) return null
  return (
    <Alert color="yellow" variant="outline" role="note" title={sayLow(low)}>
      <Text size="sm">
        {low.reason === 'empty' ? 'New messages to its agents are refused (402) until there is a credit. ' : null}
        {low.reason === 'below one dollar' ? 'Less than 1 USD is available; a message whose hold is larger is refused (402). ' : null}
        {low.reason === 'few days' ? 'That is less than three days of what it spent in the last seven. ' : null}
        {low.daysLeft === null ? null : 'The days are reckoned at the pace of the last seven.'}
      </Text>
    </Alert>
  )
}
