/** A turn without messages: it is running, or it ended without a reply. Its text is not stored in the conversation. */
import { Group, Paper, Text } from '@mantine/core'
import { memo } from 'react'
import type { Turn } from '../../api/types.ts'
import { Moment } from '../../show/moment.tsx'
import { StateBadge } from '../../show/state-badge.tsx'
import { Folds } from './folds.tsx'
import { FailureText, TurnDetails } from './turn-details.tsx'

const said = {
  running: 'The agent is working on the reply.',
  completed: 'The reply was stored.',
  failed: 'The turn ended without a reply.',
  released: 'No reply yet. If the caller retries, the same turn runs again.',
} as const

export const TurnRow = memo(function TurnRow({ turn }: { turn: Turn }) {
  const { request_id: requestId, state, failure, created_at: at } = turn
  const details = { name: 'turn', label: 'Turn details', content: <TurnDetails requestId={requestId} /> }
  return (
    <Paper withBorder px="md" py="xs" style={{ borderStyle: 'dashed' }}>
      <Group gap="xs">
        <StateBadge state={state} />
        <Text size="sm">{said[state]}</Text>
        <Text size="xs" span>
          <Moment at={at} />
        </Text>
      </Group>
      {failure ? <FailureText failure={failure} /> : null}
      <Folds of={requestId} folds={[details]} />
    </Paper>
  )
})
