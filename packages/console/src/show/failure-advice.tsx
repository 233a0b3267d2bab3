/** What an operator can do about a turn that ended without a reply, by its code. docs/errors says the same to callers. */
import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import type { TurnWithSteps } from '../api/types.ts'

type Advice = { text: string; link?: { href: string; label: string } }

type Where = { agentId: string; ownerId: string }

export function FailureAdvice({ code, ...where }: Where & { code: string }) {
  const { text, link } = adviceFor(code, where)
  return (
    <Text size="sm">
      {text}{' '}
      {link ? (
        <Anchor component={Link} href={link.href} inherit underline="always">
          {link.label}
        </Anchor>
      ) : null}
    </Text>
  )
}

function adviceFor(code: string, { agentId, ownerId }: Where): Advice {
  switch (code) {
    case 'insufficient_balance':
      return {
        text: 'The available balance, which is the balance minus held and unpaid amounts, does not cover the hold for this turn, which is the most it can cost. Add credit to the owner, or lower the agent’s max output tokens or max steps.',
        link: { href: `/money/${ownerId}`, label: 'Add credit' },
      }
    case 'spend_limit_exceeded':
      return {
        text: 'The hold for this turn does not fit in a spend limit of the agent, the API key or the end user. Raise the limit, or wait until its window ends.',
        link: { href: `/agents/${agentId}/limits`, label: 'View limits' },
      }
    case 'agent_disabled':
      return { text: 'Enable the agent, then send the message again.', link: { href: `/agents/${agentId}`, label: 'Open agent' } }
    case 'agent_not_found':
    case 'not_found':
      return { text: 'The agent was deleted. Choose another agent.', link: { href: '/agents', label: 'View agents' } }
    case 'conversation_busy':
      return { text: 'The previous message in this conversation is still being answered. Wait for its reply, or start a new conversation.' }
    case 'idempotency_conflict':
      return { text: 'Another message already used this Idempotency-Key. Edit the message and send it again.' }
    case 'service_unavailable':
      return {
        text: 'The provider or the database could not be reached. Retry later: the same turn runs again and is charged only once.',
        link: providers,
      }
    case 'internal_error':
      return {
        text: 'See the cause of this turn. Often the provider rejected the request, or the agent reached its max steps without a reply.',
        link: providers,
      }
    case 'turn_cancelled':
      return { text: 'The caller or an operator cancelled the turn before it had any text. Send the message again to get a reply.' }
    case 'validation_error':
      return { text: 'Edit the message and send it again.' }
    case 'connection_lost':
    case 'no_answer':
      return { text: 'Retry to get the reply. If the turn is still running, the console waits for it. The message is charged only once.' }
    default:
      return { text: 'Retry the message. It is charged at most once.' }
  }
}

const providers = { href: '/providers', label: 'Test provider' }

export const FailureText = ({ failure: { code, cause } }: { failure: NonNullable<TurnWithSteps['failure']> }) => (
  <Text size="sm" className="as-written">
    <Text span inherit ff="monospace" fw={600}>
      {code}
    </Text>
    {cause === null ? ' · no cause recorded' : ` · ${cause}`}
  </Text>
)
