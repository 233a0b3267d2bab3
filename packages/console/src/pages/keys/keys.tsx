/** API keys: a choice of agents. The keys of an agent are a tab of its page. */
import { Redirect } from 'wouter'
import { segment } from '../../api/client.ts'
import { ChooseAgent } from '../../show/choose-agent.tsx'

export function Keys({ agentId }: { agentId: string | undefined }) {
  if (agentId !== undefined) return <Redirect to={`/agents/${segment(agentId)}/keys`} replace />
  return (
    <ChooseAgent
      title="API keys"
      lead="Your programs call an agent with an API key. Each key can access only its own conversations. Choose an agent."
      tab="keys"
      empty="An API key belongs to an agent. Create an agent first."
    />
  )
}
