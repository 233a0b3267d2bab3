/** The details of a turn, loaded when they are expanded: figures, failure, steps. */
import { Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call, segment } from '../../api/client.ts'
import type { TurnWithSteps } from '../../api/types.ts'
import { FailureAdvice } from '../../show/failure-advice.tsx'
import { FeedbackOfTurn } from '../../show/feedback.tsx'
import { IdText } from '../../show/id-text.tsx'
import { Moment } from '../../show/moment.tsx'
import { IncompleteBadge, StateBadge } from '../../show/state-badge.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { PriceOfTurn } from '../../show/price-calculation.tsx'
import { TurnFigures } from '../../show/turn-figures.tsx'
import { TurnSteps } from '../../show/turn-steps.tsx'

export function TurnDetails({ requestId }: { requestId: string }) {
  const turn = useQuery({
    queryKey: ['turns', requestId],
    queryFn: ({ signal }) => call<TurnWithSteps>(`/turns/${segment(requestId)}`, { signal }),
  })
  return (
    <Waiting for={turn} what="the turn">
      {(read) => (
        <Stack gap="sm" maw={560}>
          <Group gap="xs">
            <StateBadge state={read.state} />
            {read.incomplete ? <IncompleteBadge /> : null}
            <Text size="sm" span>
              Started <Moment at={read.created_at} />
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Text size="sm" c="dimmed" span>
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
          <TurnSteps steps={read.steps} />
        </Stack>
      )}
    </Waiting>
  )
}

export const FailureText = ({ failure: { code, cause } }: { failure: NonNullable<TurnWithSteps['failure']> }) => (
  <Text size="sm" className="as-written">
    <Text span inherit ff="monospace" fw={600}>
      {code}
    </Text>
    {cause === null ? ' · no cause recorded' : ` · ${cause}`}
  </Text>
)
