/** The details of a turn, loaded when they are shown: figures, failure, feedback and, unless a trace is next to them, steps. */
import { Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call, segment } from '../api/client.ts'
import type { TurnWithSteps } from '../api/types.ts'
import { FailureAdvice } from './failure-advice.tsx'
import { FeedbackOfTurn } from './feedback.tsx'
import { IdText } from './id-text.tsx'
import { Moment } from './moment.tsx'
import { IncompleteBadge, StateBadge } from './state-badge.tsx'
import { Waiting } from './waiting.tsx'
import { TurnFigures } from './turn-figures.tsx'
import { TurnSteps } from './turn-steps.tsx'

export const useTurn = (requestId: string) =>
  useQuery({
    queryKey: ['turns', requestId],
    queryFn: ({ signal }) => call<TurnWithSteps>(`/turns/${segment(requestId)}`, { signal }),
    refetchInterval: ({ state }) => (state.data?.state === 'running' ? 2_000 : false),
  })

export function TurnDetails({ requestId, withSteps = true }: { requestId: string; withSteps?: boolean }) {
  const turn = useTurn(requestId)
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
            <Text size="sm" c="dimmed" span style={{ flexShrink: 0 }}>
              Request ID
            </Text>
            <IdText id={read.request_id} />
          </Group>
          <TurnFigures turn={read} />
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

export const FailureText = ({ failure: { code, cause } }: { failure: NonNullable<TurnWithSteps['failure']> }) => (
  <Text size="sm" className="as-written">
    <Text span inherit ff="monospace" fw={600}>
      {code}
    </Text>
    {cause === null ? ' · no cause recorded' : ` · ${cause}`}
  </Text>
)
