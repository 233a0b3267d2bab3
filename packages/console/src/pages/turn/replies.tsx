/** The stored reply of a turn and the new one of its rerun, side by side, and how the new one came about. */
import { useTurn } from '../../api/turns.ts'
import { Badge, Group, Loader, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import type { TurnRerun, TurnTrace } from '../../api/types.ts'
import { Markdown } from '../../show/markdown.tsx'
import { writeCount } from '../../show/measures.ts'
import { Money } from '../../show/money.tsx'
import { Attempts } from '../../show/turn-trace.tsx'

type RepliesProps = {
  trace: TurnTrace
  rerun: TurnRerun | undefined
  /** What it ran with. */
  ran: { model: string } | undefined
  isRunning: boolean
}

export function Replies({ trace, rerun, ran, isRunning }: RepliesProps) {
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <StoredReply trace={trace} />
        <Reply name="New reply" badge={<Badge color="gray">Not stored</Badge>}>
          <div role="status">
            {isRunning ? (
              <Group gap="xs">
                <Loader size="xs" type="dots" aria-hidden />
                <Text size="sm" c="dimmed">
                  The agent is replying…
                </Text>
              </Group>
            ) : null}
            {!isRunning && !rerun ? (
              <Text size="sm" c="dimmed">
                The reply of the rerun appears here.
              </Text>
            ) : null}
            {!isRunning && rerun ? <NewReply rerun={rerun} model={ran?.model ?? trace.version.model} /> : null}
          </div>
        </Reply>
      </SimpleGrid>
      {!isRunning && rerun ? (
        <Stack component="section" gap="sm" aria-label="Trace of the new reply">
          <Title order={3} size="h4">
            Trace of the new reply
          </Title>
          <Attempts spans={rerun.spans} layout="wide" />
        </Stack>
      ) : null}
    </Stack>
  )
}

function StoredReply({ trace: { request_id: requestId, reply, status, version } }: { trace: TurnTrace }) {
  const usage = useTurn(requestId).data?.usage
  return (
    <Reply name="Stored reply">
      {usage ? (
        <Facts model={version.model} usage={usage}>
          <Money amount={usage.charged_usd} /> charged
        </Facts>
      ) : null}
      {reply === null ? <Text size="sm">The turn ended without a reply: {status}.</Text> : <Markdown text={reply} />}
    </Reply>
  )
}

const NewReply = ({ rerun: { text, usage, cost_usd: cost, failure }, model }: { rerun: TurnRerun; model: string }) => (
  <Stack gap="sm">
    <Facts model={model} usage={usage}>
      <Money amount={cost} /> at the price of the turn, not charged
    </Facts>
    {failure ? (
      <Text size="sm" className="as-written">
        No reply: {failure.cause_kind} · {failure.cause}
      </Text>
    ) : (
      <Markdown text={text} />
    )}
  </Stack>
)

type FactsProps = { model: string; usage: TurnRerun['usage']; children: ReactNode }

const Facts = ({ model, usage, children }: FactsProps) => (
  <Text size="xs" c="dimmed" component="div" className="as-written">
    {model} · {writeCount(usage.prompt_tokens)} tokens in, {writeCount(usage.completion_tokens)} out
    {usage.estimated ? ' (estimated)' : ''} · {children}
  </Text>
)

const Reply = ({ name, badge, children }: { name: string; badge?: ReactNode; children: ReactNode }) => (
  <Paper withBorder p="md" component="section" aria-label={name}>
    <Stack gap="sm">
      <Group gap="xs">
        <Title order={3} size="h4">
          {name}
        </Title>
        {badge}
      </Group>
      {children}
    </Stack>
  </Paper>
)
