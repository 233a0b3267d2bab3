/** The spend limits of all agents and how much of them is used. They are changed on the agent's own page. */
import { Anchor, Button, Stack, Text } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../../api/client.ts'
import { useAgents } from '../../../api/lists.ts'
import type { Agent } from '../../../api/types.ts'
import { Empty } from '../../../show/empty.tsx'
import { Page } from '../../../show/page.tsx'
import { Waiting } from '../../../show/waiting.tsx'
import { Panel } from '../../../show/panel.tsx'
import { ChangeLink, LimitRows } from '../../../show/limits/limits-of.tsx'

export function Limits() {
  const agents = useAgents()
  return (
    <Page
      title="Limits"
      lead="What agents, API keys and end users may spend. Over a limit, messages are rejected with 402 until the window ends."
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
        <Empty
          title="No limits yet"
          action={
            others[0] ? (
              <Button component={Link} href={`/agents/${segment(others[0].id)}/limits`}>
                Set a limit
              </Button>
            ) : null
          }
        >
          A limit is set on an agent, for the agent, each of its API keys, or each end user. Without one, only the balance of the owner
          limits what is spent.
        </Empty>
      ) : null}
      {limited.map((agent) => (
        <Panel key={agent.id} title={agent.name} aside={<ChangeLink agent={agent} />}>
          <LimitRows agent={agent} />
        </Panel>
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
