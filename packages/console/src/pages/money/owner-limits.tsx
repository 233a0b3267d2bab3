/** How much of the spend limits of an owner's agents is used. Nothing is shown if none has a limit. */
import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { useAgents } from '../../api/lists.ts'
import { Panel } from '../../show/panel.tsx'
import { LimitsOf } from '../../show/limits/limits-of.tsx'

export function OwnerLimits({ ownerId }: { ownerId: string }) {
  const agents = useAgents()
  const limited = agents.data?.filter(({ owner_id: payer, spend_limits: limits }) => payer === ownerId && limits.length > 0) ?? []
  if (limited.length === 0) return null
  return (
    <Panel
      title="Limits"
      aside={
        <Anchor component={Link} href="/limits" size="sm">
          All limits
        </Anchor>
      }
    >
      {limited.map((agent) => (
        <LimitsOf key={agent.id} agent={agent} />
      ))}
    </Panel>
  )
}
