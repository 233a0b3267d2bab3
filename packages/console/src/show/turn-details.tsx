/** The details of a turn, loaded when they are shown: figures, failure, feedback and, unless a trace is next to them, steps. */
import { Group, Stack, Text } from '@mantine/core'
import { useTurn } from '../api/turns.ts'
import { FailureAdvice, FailureText } from './failure-advice.tsx'
import { FeedbackOfTurn } from './feedback.tsx'
import { IdText } from './id-text.tsx'
import { Moment } from './moment.tsx'
import { ReplyEndBadge, StateBadge } from './state-badge.tsx'
import { Waiting } from './waiting.tsx'
import { PriceOfTurn } from './price-calculation.tsx'
import { TurnFigures } from './turn-figures.tsx'
import { TurnSteps } from './turn-steps.tsx'

export function TurnDetails({ requestId, withSteps = true }: { requestId: string; withSteps?: boolean }) {
  const turn = useTurn(requestId)
  return (
    <Waiting for={turn} what="the turn">
      {(read) => (
        <Stack gap="sm" maw={560}>
          <Group gap="xs">
            <StateBadge state={read.status} />
            <ReplyEndBadge of={read} />
            <Text size="sm" span>
              Started <Moment at={read.created_at} />
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Text size="sm" c="dimmed" span style={{ flexShrink: 0 }}>
              Request ID
            </Text>
            <IdText id={read.request_id} />
          </Group>
          <TurnFigures turn={read} />
          <PriceOfTurn calculation={read.price_calculation} />
          {read.failure ? (
            <div>
              <FailureText failure={read.failure} />
              <FailureAdvice code={read.failure.code} agentId={read.agent_id} ownerId={read.owner_id} />
            </div>
          ) : null}
          <FeedbackOfTurn feedback={read.feedback} />
          {withSteps ? <TurnSteps steps={read.steps} /> : null}
        </Stack>
      )}
    </Waiting>
  )
}
