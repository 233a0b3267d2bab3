/** The spend limits of all agents and how much of them is used. They are changed on the agent's own page. */
import { Anchor, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../../api/client.ts'
import { useAgents } from '../../../api/lists.ts'
import type { Agent } from '../../../api/types.ts'
import { Empty } from '../../../show/empty.tsx'
import { Page } from '../../../show/page.tsx'
import { Waiting } from '../../../show/waiting.tsx'
import { labelOf, scopes, windows } from './limit-names.ts'
import { useSpending } from './spending.ts'
import { SpendingTable } from './spending-table.tsx'
import { Money } from '../../../show/money.tsx'

export function Limits() {
  const agents = useAgents()
  return (
    <Page
      title="Limits"
      lead="What agents, API keys and external users may spend. Over a limit, messages are rejected with 402 until the window ends."
    >
      <Waiting for={agents} what="agents">
        {(data) => <LimitList agents={data} />}
      </Waiting>
    </Page>
  )
}

function LimitList({ agents }: { agents: Agent[] }) {
  const limited = agents.filter(({ spend_limits: limits }) => limits.length > 0)
  const others = agents.filter(({ spend_limits: limits }) => limits.length === 0)
  return (
    <Stack>
      {limited.length === 0 ? (
        <Empty title="No limits yet">
          A limit is set on an agent, for the agent, each of its API keys, or each external user. Without one, only the balance of the owner
          limits what is spent.
        </Empty>
      ) : null}
      {limited.map((agent) => (
        <LimitsOf key={agent.id} agent={agent} />
      ))}
      {others.length > 0 ? (
        <Text size="sm" component="div">
          Without a limit:{' '}
          {others.map(({ id, name }, index) => (
            <span key={id}>
              {index > 0 ? ', ' : null}
              <Anchor component={Link} href={`/agents/${segment(id)}/limits`} inherit className="as-name">
                {name}
              </Anchor>
            </span>
          ))}
        </Text>
      ) : null}
    </Stack>
  )
}

function LimitsOf({ agent: { id, name, spend_limits: limits } }: { agent: Agent }) {
  const spending = useSpending(id)
  return (
    <Paper withBorder p="md" component="section" aria-label={name}>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4" className="as-name">
          {name}
        </Title>
        <Anchor component={Link} href={`/agents/${segment(id)}/limits`} size="sm">
          Change limits<span className="for-readers-only"> of {name}</span>
        </Anchor>
      </Group>
      <Text size="sm" c="dimmed" component="div">
        {limits.map(({ scope, window, usd }) => (
          <div key={`${scope} ${window}`}>
            {labelOf(scopes, scope)}, {labelOf(windows, window)}: <Money amount={usd} />
          </div>
        ))}
      </Text>
      <Waiting for={spending} what="what is spent">
        {({ data }) => (data.length === 0 ? null : <SpendingTable rows={data} />)}
      </Waiting>
    </Paper>
  )
}
