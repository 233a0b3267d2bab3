/** One reply next to the conversation: cost, usage, failure, passages and trace, of a turn or of a preview. */
import { useTurn } from '../../api/turns.ts'
import { Anchor, Badge, Group, Stack, Text, Title } from '@mantine/core'
import { Link } from 'wouter'
import { ApiFailure, segment } from '../../api/client.ts'
import type { Message, Preview, TurnWithSteps } from '../../api/types.ts'
import { Citations } from '../../show/citations.tsx'
import { FailureAdvice } from '../../show/failure-advice.tsx'
import { FeedbackOfTurn } from '../../show/feedback.tsx'
import { IdText } from '../../show/id-text.tsx'
import { writeCount, writeMs } from '../../show/measures.ts'
import { Money } from '../../show/money.tsx'
import { ReplyEndBadge, StateBadge } from '../../show/state-badge.tsx'
import { PriceOfTurn } from '../../show/price-calculation.tsx'
import { TurnFigures } from '../../show/turn-figures.tsx'
import { Attempts, TurnTrace } from '../../show/turn-trace.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { tookOf } from './preview-reply.tsx'
import type { PreviewRun } from './previews.ts'

export type Detailed = { kind: 'turn'; requestId: string; reply: Message | undefined } | { kind: 'preview'; run: PreviewRun; name: string }

export const TurnPanel = ({ detailed }: { detailed: Detailed | null }) => (
  <Stack gap="md" component="section" aria-label="Turn details">
    <Title order={2} size="h4">
      Turn details
    </Title>
    {detailed === null ? (
      <Text size="sm" c="dimmed">
        Cost, latency, passages, and the trace of a reply appear here.
      </Text>
    ) : detailed.kind === 'turn' ? (
      <Shown key={detailed.requestId} requestId={detailed.requestId} reply={detailed.reply} />
    ) : detailed.run.preview ? (
      <ShownPreview preview={detailed.run.preview} name={detailed.name} />
    ) : (
      <Text size="sm" c="dimmed">
        A reply that is not stored has its trace when it has ended.
      </Text>
    )}
  </Stack>
)

function ShownPreview({ preview, name }: { preview: Preview; name: string }) {
  const took = tookOf(preview)
  const { usage } = preview
  return (
    <>
      <Group gap="xs">
        <Badge variant="light" color="gray">
          Not stored
        </Badge>
        <Text size="sm" className="as-written">
          {name}
        </Text>
      </Group>
      <dl style={{ margin: 0 }}>
        <Figure name="Cost, not charged">
          <Money amount={preview.cost_usd} />
        </Figure>
        <Figure name="Tokens">
          {writeCount(usage.prompt_tokens)} in, {writeCount(usage.completion_tokens)} out{usage.estimated ? ' (estimated)' : ''}
        </Figure>
        <Figure name="Latency">{took === null ? '–' : writeMs(took)}</Figure>
      </dl>
      <Text size="xs" c="dimmed">
        At the price of version {preview.version}. The provider bills the model calls.
      </Text>
      <Stack component="section" gap="sm" aria-label="Trace">
        <Title order={3} size="h5">
          Trace
        </Title>
        <Attempts spans={preview.spans} />
      </Stack>
    </>
  )
}

const Figure = ({ name, children }: { name: string; children: React.ReactNode }) => (
  <Group justify="space-between" gap="xs" wrap="nowrap">
    <Text size="sm" c="dimmed" component="dt">
      {name}
    </Text>
    <Text size="sm" component="dd" m={0} ta="right" className="figures">
      {children}
    </Text>
  </Group>
)

function Shown({ requestId, reply }: { requestId: string; reply: Message | undefined }) {
  const turn = useTurn(requestId)
  if (turn.error instanceof ApiFailure && turn.error.status === 404) return <Text size="sm">No turn was started. Nothing was charged.</Text>
  return (
    <Waiting for={turn} what="the turn">
      {(read) => (
        <>
          <Group gap="xs">
            <StateBadge state={read.status} />
            <ReplyEndBadge of={read} />
            <IdText id={read.request_id} />
          </Group>
          <TurnFigures turn={read} />
          <PriceOfTurn calculation={read.price_calculation} />
          {read.failure && read.status !== 'cancelled' ? <Failure turn={read} failure={read.failure} /> : null}
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
