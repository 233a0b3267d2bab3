/** The limits of one agent with what is used of them, as a part of a panel. */
import { Anchor, Group, Text } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import type { Agent } from '../../api/types.ts'
import { Money } from '../money.tsx'
import { Waiting } from '../waiting.tsx'
import { labelOf, scopes, windows } from './limit-names.ts'
import { useSpending } from './spending.ts'
import { SpendingTable } from './spending-table.tsx'

export function LimitsOf({ agent }: { agent: Agent }) {
  return (
    <>
      <Group justify="space-between" gap="xs" px="md" pt="sm">
        <Anchor component={Link} href={`/agents/${segment(agent.id)}`} size="sm" fw={500} className="as-name">
          {agent.name}
        </Anchor>
        <ChangeLink agent={agent} />
      </Group>
      <LimitRows agent={agent} />
    </>
  )
}

export const ChangeLink = ({ agent: { id, name } }: { agent: Agent }) => (
  <Anchor component={Link} href={`/agents/${segment(id)}/limits`} size="sm">
    Change limits<span className="for-readers-only"> of {name}</span>
  </Anchor>
)

/** What is set, in one line, and each window. */
export function LimitRows({ agent: { id, spend_limits: limits } }: { agent: Agent }) {
  const spending = useSpending(id)
  return (
    <>
      <Text size="xs" c="dimmed" component="div" px="md" py="xs">
        {limits.map(({ scope, window, usd }, index) => (
          <span key={`${scope} ${window}`}>
            {index > 0 ? ' · ' : null}
            {labelOf(scopes, scope)}, {labelOf(windows, window)}: <Money amount={usd} />
          </span>
        ))}
      </Text>
      <Waiting for={spending} what="what is spent">
        {({ data }) =>
          data.length === 0 ? (
            <Text size="sm" c="dimmed" className="panel-body">
              Nothing is spent in the current windows.
            </Text>
          ) : (
            <SpendingTable agentId={id} rows={data} />
          )
        }
      </Waiting>
    </>
  )
}
