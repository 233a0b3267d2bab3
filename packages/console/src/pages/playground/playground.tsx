/** The playground: the operator talks to an agent as an external user would, through the real pipeline, including billing. */
import { Alert, Anchor, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useAgent, useAgents, useOwners } from '../../api/lists.ts'
import { segment } from '../../api/client.ts'
import type { Agent } from '../../api/types.ts'
import { AgentSelect } from '../../show/agent-select.tsx'
import { Empty } from '../../show/empty.tsx'
import { Money } from '../../show/money.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { Chat } from './chat.tsx'
import { ConversationChoice } from './conversation-choice.tsx'

/** The external user if none is named, as on the server. */
const usualUser = 'playground'

export function Playground({ agentId }: { agentId: string | undefined }) {
  const [, navigate] = useLocation()
  const [search, setSearch] = useSearchParams()
  const [hasChosen, setHasChosen] = useState(false)
  const agents = useAgents()
  const user = search.get('user') || usualUser
  const choose = (chosen: string): void => {
    setHasChosen(true)
    setSearch(chosen === usualUser ? {} : { user: chosen })
  }
  return (
    <Page title="Playground" lead="Chat with an agent and see the steps and cost of each reply. Replies are charged to the agent’s owner.">
      <Group align="flex-end" gap="sm">
        <AgentSelect value={agentId ?? null} onChange={(id) => navigate(id === null ? '/playground' : `/playground/${segment(id)}`)} />
        {agentId === undefined ? null : <ConversationChoice key={agentId} agentId={agentId} user={user} onChoose={choose} />}
      </Group>
      {agentId !== undefined ? (
        <WithAgent key={agentId} agentId={agentId} user={user} focus={hasChosen} />
      ) : agents.data?.length === 0 ? (
        <Empty title="No agents yet">
          <Anchor component={Link} href="/agents/new" underline="always">
            Create an agent
          </Anchor>
          , then chat with it here.
        </Empty>
      ) : (
        <Empty title="Choose an agent">Your conversation with the agent appears here.</Empty>
      )}
    </Page>
  )
}

function WithAgent({ agentId, user, focus }: { agentId: string; user: string; focus: boolean }) {
  const agent = useAgent(agentId)
  return (
    <Waiting for={agent} what="the agent">
      {(read) => (
        <Stack gap="lg">
          <Billed agent={read} />
          {read.enabled ? null : (
            <Alert color="yellow" variant="outline" title="This agent is disabled">
              It rejects all messages, including those from the playground.{' '}
              <Anchor component={Link} href={`/agents/${segment(read.id)}`} inherit underline="always">
                Open agent
              </Anchor>{' '}
              to enable it.
            </Alert>
          )}
          <Chat key={user} agent={read} externalUserId={user} focus={focus} />
        </Stack>
      )}
    </Waiting>
  )
}

function Billed({ agent }: { agent: Agent }) {
  const owners = useOwners()
  const owner = owners.data?.find(({ id }) => id === agent.owner_id)
  if (!owner) return null
  const empty = !/[1-9]/.test(owner.available_usd)
  return (
    <Text size="sm">
      Charged to{' '}
      <Anchor component={Link} href={`/money/${segment(owner.id)}`} inherit underline="always">
        {owner.name}
      </Anchor>
      : <Money amount={owner.available_usd} fw={600} /> available. {empty ? 'Add credit to the owner before you send a message.' : null}
    </Text>
  )
}
