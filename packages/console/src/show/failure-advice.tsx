/** What an operator does about a turn that ended without a reply, by its code; docs/errors says the same to callers. */
import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'

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
        text: 'The available balance does not cover what this turn may cost at most (its hold). Credit the owner, or lower the agent’s output tokens or steps.',
        link: { href: `/money/${ownerId}`, label: 'Credit the owner' },
      }
    case 'agent_disabled':
      return { text: 'Switch the agent on, then send the message again.', link: { href: `/agents/${agentId}`, label: 'Open the agent' } }
    case 'agent_not_found':
    case 'not_found':
      return { text: 'The agent has been deleted. Choose another one.', link: { href: '/agents', label: 'See the agents' } }
    case 'conversation_busy':
      return { text: 'The message before it is still being answered. Wait for its reply, or begin a new conversation.' }
    case 'idempotency_conflict':
      return { text: 'Its Idempotency-Key belongs to another message. Take the message back and send it anew.' }
    case 'service_unavailable':
      return {
        text: 'The reason may pass: the model’s provider or the store could not be reached. Asking again runs the same turn and charges it once.',
        link: providers,
      }
    case 'internal_error':
      return {
        text: 'The cause names what failed: often the provider refused the call, or the agent found no reply within its steps.',
        link: providers,
      }
    case 'validation_error':
      return { text: 'Take the message back, change it and send it anew.' }
    case 'connection_lost':
    case 'no_answer':
      return { text: 'Ask for the same reply again: what is stored comes back, what still runs is waited for, and it is charged once.' }
    default:
      return { text: 'Ask again with the same message; it is charged once at most.' }
  }
}

const providers = { href: '/providers', label: 'Test the provider' }
