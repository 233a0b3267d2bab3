/** Below the message: what sending it costs, and what the owner has. */
import { Anchor, Text, Tooltip } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useOwners } from '../../api/lists.ts'
import type { Agent, Message } from '../../api/types.ts'
import { Money, shortMoney } from '../../show/money.tsx'
import { averageCharge, holdOf, isLess } from './estimate.ts'
import { isReal } from './settings.ts'
import type { Setting } from './settings.ts'

type CostHintProps = { agent: Agent; message: string; settings: readonly Setting[]; messages: { items: readonly Message[]; more: boolean } }

export function CostHint({ agent, message, settings, messages }: CostHintProps) {
  const owners = useOwners()
  const owner = owners.data?.find(({ id }) => id === agent.owner_id)
  if (!settings.some(isReal)) return <>Not stored and not charged. The provider bills the model calls.</>
  const hold = holdOf(agent, message, messages)
  const average = averageCharge(messages.items)
  const tooLittle = owner !== undefined && isLess(owner.available_usd, hold)
  return (
    <>
      <Tooltip label="Reserved while the agent replies, for the longest prompt and answer. Only what the reply uses is charged.">
        <Text span inherit tabIndex={0}>
          Holds about {shortMoney(hold)}
        </Text>
      </Tooltip>
      {average === undefined ? null : <> · replies cost about {shortMoney(average)}</>}
      {owner ? (
        <>
          {' · '}
          <Money amount={owner.available_usd} /> of{' '}
          <Anchor component={Link} href={`/money/${segment(owner.id)}`} inherit underline="always">
            {owner.name}
          </Anchor>{' '}
          available{tooLittle ? '. This may be too little: add credit to the owner.' : ''}
        </>
      ) : null}
    </>
  )
}
