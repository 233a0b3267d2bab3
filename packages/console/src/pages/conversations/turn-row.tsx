/** A turn without messages: it is running, with its text so far, or it ended without a reply. */
import { Box, Group, Paper, Text } from '@mantine/core'
import { memo } from 'react'
import type { useCancel } from '../../api/turns.ts'
import type { Turn } from '../../api/types.ts'
import { LiveTurn } from '../../show/live-turn.tsx'
import { Moment } from '../../show/moment.tsx'
import { StateBadge } from '../../show/state-badge.tsx'
import { Folds } from './folds.tsx'
import { FailureText, TurnDetails } from '../../show/turn-details.tsx'
import { TurnTrace } from '../../show/turn-trace.tsx'

const said = {
  completed: 'The reply was stored.',
  failed: 'The turn ended without a reply.',
  released: 'No reply yet. If the caller retries, the same turn runs again.',
  cancelled: 'The turn was stopped before there was any text.',
} as const

type TurnRowProps = { turn: Turn; cancel: ReturnType<typeof useCancel> }

export const TurnRow = memo(function TurnRow({ turn, cancel }: TurnRowProps) {
  const { request_id: requestId, state, failure, created_at: at } = turn
  const folds = [
    { name: 'turn', label: 'Turn details', content: <TurnDetails requestId={requestId} /> },
    { name: 'trace', label: 'Trace', content: <TurnTrace requestId={requestId} /> },
  ]
  return (
    <Paper withBorder px="md" py="xs" style={{ borderStyle: 'dashed' }}>
      <Group gap="xs">
        <StateBadge state={state} />
        {state === 'running' ? null : <Text size="sm">{said[state]}</Text>}
        <Text size="xs" span>
          <Moment at={at} />
        </Text>
      </Group>
      {state === 'running' ? (
        <Box mt="xs">
          <LiveTurn requestId={requestId} cancel={cancel} />
        </Box>
      ) : null}
      {failure && state !== 'cancelled' ? <FailureText failure={failure} /> : null}
      <Folds of={requestId} folds={folds} />
    </Paper>
  )
})
