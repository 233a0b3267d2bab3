/** One turn next to the conversation: cost, usage, failure, passages and trace. */
import { Anchor, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { Link } from 'wouter'
import { ApiFailure, segment } from '../../api/client.ts'
import type { Message, TurnWithSteps } from '../../api/types.ts'
import { Citations } from '../../show/citations.tsx'
import { FailureAdvice } from '../../show/failure-advice.tsx'
import { FeedbackOfTurn } from '../../show/feedback.tsx'
import { IdText } from '../../show/id-text.tsx'
import { IncompleteBadge, StateBadge } from '../../show/state-badge.tsx'
import { TurnFigures } from '../../show/turn-figures.tsx'
import { useTurn } from '../../show/turn-details.tsx'
import { TurnTrace } from '../../show/turn-trace.tsx'
import { Waiting } from '../../show/waiting.tsx'

export function TurnPanel({ requestId, reply }: { requestId: string | null; reply: Message | undefined }) {
  return (
    <Paper withBorder p="md" component="section" aria-label="Turn details">
      <Stack gap="md">
        <Title order={2} size="h4">
          Turn details
        </Title>
        {requestId === null ? (
          <Text size="sm" c="dimmed">
            Cost, latency, passages, and the trace of a reply appear here.
          </Text>
        ) : (
          <Shown key={requestId} requestId={requestId} reply={reply} />
        )}
      </Stack>
    </Paper>
  )
}

function Shown({ requestId, reply }: { requestId: string; reply: Message | undefined }) {
  const turn = useTurn(requestId)
  if (turn.error instanceof ApiFailure && turn.error.status === 404) return <Text size="sm">No turn was started. Nothing was charged.</Text>
  return (
    <Waiting for={turn} what="the turn">
      {(read) => (
        <>
          <Group gap="xs">
            <StateBadge state={read.state} />
            {read.incomplete ? <IncompleteBadge /> : null}
            <IdText id={read.request_id} />
          </Group>
          <TurnFigures turn={read} />
          {read.failure && read.state !== 'cancelled' ? <Failure turn={read} failure={read.failure} /> : null}
          <FeedbackOfTurn feedback={read.feedback} />
          {reply ? <Citations citations={reply.citations} /> : null}
          <Stack component="section" gap="sm" aria-label="Trace">
            <Title order={3} size="h5">
              Trace
            </Title>
            <TurnTrace requestId={requestId} />
          </Stack>
          <Text size="sm">
            <Anchor component={Link} href={`/conversations/${segment(read.conversation_id)}`} inherit underline="always">
              Open conversation
            </Anchor>
          </Text>
        </>
      )}
    </Waiting>
  )
}

function Failure({ turn, failure }: { turn: TurnWithSteps; failure: NonNullable<TurnWithSteps['failure']> }) {
  return (
    <Stack gap={4}>
      <Title order={3} size="h5">
        Cause of failure
      </Title>
      <Text size="sm" ff="monospace">
        {failure.code}
      </Text>
      <Text size="sm" className="as-written">
        {failure.cause ?? 'No cause recorded.'}
      </Text>
      <FailureAdvice code={failure.code} agentId={turn.agent_id} ownerId={turn.owner_id} />
    </Stack>
  )
}
