/** Knowledge: a choice of agents. The knowledge base of an agent is a tab of its page. */
import { Redirect } from 'wouter'
import { segment } from '../../api/client.ts'
import { ChooseAgent } from '../../show/choose-agent.tsx'

export function Knowledge({ agentId }: { agentId: string | undefined }) {
  if (agentId !== undefined) return <Redirect to={`/agents/${segment(agentId)}/knowledge`} replace />
  return (
    <ChooseAgent
      title="Knowledge"
      lead="The documents that an agent answers from. The best-matching passages are added to the prompt of each message. Choose an agent."
      tab="knowledge"
      empty="A knowledge base belongs to an agent. Create an agent first."
    />
  )
}
