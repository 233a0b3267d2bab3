/** The API keys of one agent: their permission, rate limit and last use. */
import { Button } from '@mantine/core'
import { Link, Redirect, useLocation } from 'wouter'
import { useAgents } from '../../api/lists.ts'
import { AgentSelect } from '../../show/agent-select.tsx'
import { Empty } from '../../show/empty.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { KeysOf } from './keys-of.tsx'

export function Keys({ agentId }: { agentId: string | undefined }) {
  const agents = useAgents()
  const [, navigate] = useLocation()
  const only = agents.data?.length === 1 ? agents.data[0] : undefined
  if (agentId === undefined && only) return <Redirect to={`/keys/${only.id}`} replace />
  return (
    <Page title="API keys" lead="Your programs call an agent with an API key. Each key can access only its own conversations.">
      <AgentSelect value={agentId ?? null} onChange={(id) => navigate(id === null ? '/keys' : `/keys/${id}`)} />
      {agentId === undefined ? (
        <Waiting for={agents} what="agents">
          {(known) => (known.length === 0 ? <NoAgent /> : <Empty title="Choose an agent">Its API keys are listed here.</Empty>)}
        </Waiting>
      ) : (
        <KeysOf key={agentId} agentId={agentId} />
      )}
    </Page>
  )
}

const NoAgent = () => (
  <Empty
    title="No agents yet"
    action={
      <Button component={Link} href="/agents/new">
        Create agent
      </Button>
    }
  >
    An API key belongs to an agent. Create an agent first.
  </Empty>
)
