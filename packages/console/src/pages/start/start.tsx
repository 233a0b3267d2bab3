/**
 * The first page: the setup of a first agent until one has answered, and the overview from then on. What has been done is read from the
 * server, so the setup can be interrupted. `?agent=new` starts another setup, `?agent=ID` continues with that agent, `?overview` skips it.
 */
import { useQuery } from '@tanstack/react-query'
import { lazy } from 'react'
import { Redirect, useSearchParams } from 'wouter'
import { call } from '../../api/client.ts'
import { useAgents } from '../../api/lists.ts'
import { useMay } from '../../api/session.ts'
import type { Agent, Page as PageOf, Turn } from '../../api/types.ts'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { TrendsLoading } from './trends-loading.tsx'
import { isDemo } from './is-demo.ts'

// One of the two is shown, so the other is not loaded.
const Overview = lazy(() => import('./overview.tsx').then(({ Overview: page }) => ({ default: page })))
const Walk = lazy(() => import('./walk.tsx').then(({ Walk: page }) => ({ default: page })))

export function Start() {
  const agents = useAgents()
  if (agents.data === undefined)
    return (
      <Page title="Overview">
        {agents.error ? (
          <Waiting for={agents} what="agents">
            {() => null}
          </Waiting>
        ) : (
          <TrendsLoading />
        )}
      </Page>
    )
  return <Decided agents={agents.data} />
}

function Decided({ agents }: { agents: Agent[] }) {
  // Setting up takes a provider with its key.
  const maySetUp = useMay('provider_keys', true)
  const [search, setSearch] = useSearchParams()
  const wanted = search.get('agent')
  const chosen = wanted === null ? undefined : agents.find(({ id }) => id === wanted)
  const own = agents.filter((agent) => !isDemo(agent))
  // A single agent is the one being set up, unless it has answered before. Without an agent of the operator it may be the demo.
  const started = own[0] ?? agents[0]
  const undecided = wanted === null && !search.has('overview') && own.length < 2 && started !== undefined
  const turns = useQuery({
    queryKey: ['turns', 'any', started?.id],
    queryFn: ({ signal }) => call<PageOf<Turn>>('/turns', { query: { agent_id: started?.id, limit: 1 }, signal }),
    enabled: undecided && maySetUp,
  })
  const walkWith = (agentId: string): void => setSearch({ agent: agentId }, { replace: true })
  if (!maySetUp) return <Overview agents={agents} />
  if (wanted !== null) return <Walk agent={chosen} agents={agents} onAgent={walkWith} />
  if (search.has('overview') || own.length >= 2) return <Overview agents={agents} />
  if (started === undefined) return <Walk agent={undefined} agents={agents} onAgent={walkWith} />
  if (turns.data === undefined)
    return (
      <Page title="Overview">
        <Waiting for={turns} what="setup progress">
          {() => null}
        </Waiting>
      </Page>
    )
  if (turns.data.data.length > 0) return <Overview agents={agents} />
  if (own[0]) return <Redirect to={`/?agent=${own[0].id}`} replace />
  return <Walk agent={undefined} agents={agents} onAgent={walkWith} />
}
