/** The API keys of one agent: who may call it, how often, and when each was last used. */
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
    <Page
      title="Keys"
      lead="A program calls an agent with an API key. Conversations belong to their key: two programs with two keys never see each other’s."
    >
      <AgentSelect value={agentId ?? null} onChange={(id) => navigate(id === null ? '/keys' : `/keys/${id}`)} />
      {agentId === undefined ? (
        <Waiting for={agents} what="the agents">
          {(known) =>
            known.length === 0 ? <NoAgent /> : <Empty title="Choose an agent">Its keys are shown here, and new ones are made here.</Empty>
          }
        </Waiting>
      ) : (
        <KeysOf key={agentId} agentId={agentId} />
      )}
    </Page>
  )
}

const NoAgent = () => (
  <Empty
    title="No agent yet"
    action={
      <Button component={Link} href="/agents/new">
        Create an agent
      </Button>
    }
  >
    A key belongs to an agent. Make one first.
  </Empty>
)
