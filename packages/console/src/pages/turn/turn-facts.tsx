/** The facts of a turn on one line: its state, who and what took part, how long it took and what it cost. */
import { Anchor, Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useAgents } from '../../api/lists.ts'
import type { Conversation, TurnWithSteps } from '../../api/types.ts'
import { IdText } from '../../show/id-text.tsx'
import { latencyOf, writeCount, writeMs } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Money } from '../../show/money.tsx'
import { ReplyEndBadge, StateBadge } from '../../show/state-badge.tsx'
import classes from '../../show/trace.module.css'

type TurnFactsProps = { turn: TurnWithSteps; conversation: Conversation | undefined }

export function TurnFacts({ turn, conversation }: TurnFactsProps) {
  const { usage, agent_id: agentId, agent_version: version, run, attempts } = turn
  const agentName = useAgents().data?.find(({ id }) => id === agentId)?.name
  const took = latencyOf(turn)
  const user = conversation?.external_user_id
  const lost = turn.written_off_usd !== null && /[1-9]/.test(turn.written_off_usd) ? turn.written_off_usd : null
  return (
    <dl className={classes['facts']} aria-label="Turn">
      <Fact name="Status">
        <Group gap={4} wrap="nowrap">
          <StateBadge state={turn.status} />
          <ReplyEndBadge of={turn} />
        </Group>
      </Fact>
      <Fact name="Agent">
        <To href={`/agents/${segment(agentId)}`}>{agentName ?? 'Deleted agent'}</To>{' '}
        <To href={`/agents/${segment(agentId)}/versions`}>v{version}</To>
      </Fact>
      <Fact name="User">
        {user ? (
          <To href={`/end-users/${segment(agentId)}/one?${new URLSearchParams({ external_user_id: user }).toString()}`}>{user}</To>
        ) : (
          '–'
        )}
      </Fact>
      <Fact name="Started">
        <Moment at={turn.started_at} />
      </Fact>
      <Fact name="Latency">{took === null ? '–' : writeMs(took)}</Fact>
      <Fact name="First token">{turn.first_delta_ms === null ? '–' : writeMs(turn.first_delta_ms)}</Fact>
      <Fact name="Tokens">
        {usage
          ? `${writeCount(usage.prompt_tokens)} in, ${writeCount(usage.completion_tokens)} out${usage.estimated ? ' (estimated)' : ''}`
          : '–'}
      </Fact>
      <Fact name={turn.status === 'running' ? 'Hold' : 'Charge'}>
        {turn.status === 'running' ? <Money amount={turn.held_usd} /> : usage ? <Money amount={usage.charged_usd} /> : 'None'}
      </Fact>
      {lost === null ? null : (
        <Fact name="Written off">
          <Money amount={lost} />
        </Fact>
      )}
      {run > 1 || attempts > 1 ? (
        <Fact name="Run, attempt">
          {run}, {attempts}
        </Fact>
      ) : null}
    </dl>
  )
}

/** Under the facts: the IDs, which are copied more often than read. */
export const TurnIds = ({ turn }: { turn: TurnWithSteps }) => (
  <Group gap="md" style={{ rowGap: 4 }}>
    <Group gap={6} wrap="nowrap">
      <Text size="xs" c="dimmed" span style={{ flexShrink: 0 }}>
        Request ID
      </Text>
      <IdText id={turn.request_id} />
    </Group>
    <Anchor component={Link} href={`/conversations/${segment(turn.conversation_id)}`} size="sm" underline="always">
      Open conversation
    </Anchor>
  </Group>
)

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd className="as-name" style={{ fontVariantNumeric: 'tabular-nums' }}>
      {children}
    </dd>
  </div>
)

const To = ({ href, children }: { href: string; children: ReactNode }) => (
  <Anchor component={Link} href={href} inherit underline="always">
    {children}
  </Anchor>
)
