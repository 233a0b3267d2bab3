/** Step 2: an existing agent or a new one. */
import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useOwners } from '../../api/lists.ts'
import type { Agent } from '../../api/types.ts'
import { Waiting } from '../../show/waiting.tsx'
import { providerOf } from '../providers/kinds.ts'
import { AgentForm } from './agent-form.tsx'
import type { Chosen } from './provider-step.tsx'

type AgentStepProps = {
  chosen: Chosen
  /** The provider's model; undefined for the demo model. */
  kind: string | undefined
  agent: Agent | undefined
  agents: Agent[]
  /** An ID, or `new` for another one. */
  onAgent: (id: string) => void
}

export function AgentStep({ chosen, kind, agent, agents, onAgent }: AgentStepProps) {
  const owners = useOwners()
  const [another, setAnother] = useState(false)
  const there = agents.find(({ model }) => providerOf(model) === chosen.provider)
  if (agent && providerOf(agent.model) === chosen.provider) return <Present agent={agent} onAgent={onAgent} />
  // The demo agent already has a knowledge base, so it can be tried without changes.
  if (there && chosen.provider === 'demo' && !another)
    return (
      <Stack>
        <Text>
          The agent “{there.name}” already runs on the demo model
          {there.name === 'demo' ? ', with a small knowledge base about Turnkeep' : ''}.
        </Text>
        <Group>
          <Button onClick={() => onAgent(there.id)}>Use {there.name}</Button>
          <Button variant="default" onClick={() => setAnother(true)}>
            Create another agent
          </Button>
        </Group>
      </Stack>
    )
  return (
    <Waiting for={owners} what="owners">
      {(found) => <AgentForm chosen={chosen} kind={kind} owners={found} onCreated={({ id }) => onAgent(id)} />}
    </Waiting>
  )
}

function Present({ agent, onAgent }: Pick<AgentStepProps, 'onAgent'> & { agent: Agent }) {
  return (
    <Stack>
      <Text className="as-written">
        {agent.name} runs on {agent.model}.{' '}
        <Anchor component={Link} href={`/agents/${segment(agent.id)}`} underline="always">
          Edit agent
        </Anchor>
      </Text>
      <Group>
        <Button onClick={() => onAgent(agent.id)}>Continue to API key</Button>
        <Button variant="default" onClick={() => onAgent('new')}>
          Create another agent
        </Button>
      </Group>
    </Stack>
  )
}
