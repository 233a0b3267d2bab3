/**
 * The setup of a first agent: provider, agent, API key, first chat, the call to paste. Any possible step can be opened. The secret of the
 * key is only in memory and is lost when the page is left.
 */
import { Anchor, Box } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import { useKeys, useProviders } from '../../api/lists.ts'
import type { Agent, ShownKey } from '../../api/types.ts'
import { Page } from '../../show/page.tsx'
import { providerOf } from '../providers/kinds.ts'
import { AgentStep } from './agent-step.tsx'
import { CallStep } from './call-step.tsx'
import { ChatStep } from './chat-step.tsx'
import { isDemo } from './is-demo.ts'
import { KeyStep } from './key-step.tsx'
import { ProviderStep } from './provider-step.tsx'
import type { Chosen } from './provider-step.tsx'
import { WalkStep } from './walk-step.tsx'

type Step = 'provider' | 'agent' | 'key' | 'chat' | 'call'
type WalkProps = { agent: Agent | undefined; agents: Agent[]; onAgent: (agentId: string) => void }

export function Walk({ agent, agents, onAgent }: WalkProps) {
  const providers = useProviders()
  const [{ step: open, moved }, setAt] = useState<{ step: Step; moved: boolean }>({ step: agent ? 'key' : 'provider', moved: false })
  const [chosen, setChosen] = useState<Chosen | null>(null)
  const [shown, setShown] = useState<ShownKey | null>(null)
  const [answered, setAnswered] = useState<string | null>(null)
  const provider = chosen ?? (agent ? { provider: providerOf(agent.model) } : null)
  const secret = agent && shown?.agent_id === agent.id ? shown.api_key : null
  const isFirst = agents.every((one) => one.id === agent?.id || isDemo(one))
  const setOpen = (step: Step): void => setAt({ step, moved: true })
  const stepOf = (step: Step) => ({ opened: open === step, focused: open === step && moved, onOpen: () => setOpen(step) })
  return (
    <Page
      title={isFirst ? 'Set up your first agent' : 'Set up another agent'}
      lead="Five steps from a provider’s API key to your first API call. You can leave at any time and continue later."
      actions={
        <Anchor component={Link} href="/?overview" size="sm" underline="always">
          Skip to overview
        </Anchor>
      }
    >
      <Box
        component="ol"
        aria-label="Steps"
        m={0}
        p={0}
        maw={760}
        style={{ listStyle: 'none', display: 'grid', gap: 12, gridTemplateColumns: 'minmax(0, 1fr)' }}
      >
        <WalkStep
          number={1}
          title="Provider"
          summary={provider && (provider.provider === 'demo' ? 'built-in demo model' : provider.provider)}
          {...stepOf('provider')}
        >
          <ProviderStep
            providers={providers}
            onChosen={(next) => {
              setChosen(next)
              setOpen('agent')
            }}
          />
        </WalkStep>
        <WalkStep
          number={2}
          title="Agent"
          summary={agent && `${agent.name} on ${agent.model}`}
          reachable={provider !== null}
          keep
          {...stepOf('agent')}
        >
          {provider ? (
            <AgentStep
              key={`${provider.provider}/${provider.model ?? ''}`}
              chosen={provider}
              kind={providers.data?.find(({ name }) => name === provider.provider)?.kind}
              agent={agent}
              agents={agents}
              onAgent={(id) => {
                onAgent(id)
                setOpen(id === 'new' ? 'agent' : 'key')
              }}
            />
          ) : null}
        </WalkStep>
        {agent ? (
          <OfAgent
            agent={agent}
            secret={secret}
            answered={answered === agent.id}
            stepOf={stepOf}
            onKey={setShown}
            onOpen={setOpen}
            onAnswered={() => setAnswered(agent.id)}
          />
        ) : (
          (['API key', 'First message', 'API call'] as const).map((title, index) => (
            <WalkStep key={title} number={index + 3} title={title} reachable={false} opened={false} onOpen={() => undefined} />
          ))
        )}
      </Box>
    </Page>
  )
}

type OfAgentProps = {
  agent: Agent
  secret: string | null
  answered: boolean
  stepOf: (step: Step) => { opened: boolean; focused: boolean; onOpen: () => void }
  onKey: (key: ShownKey) => void
  onOpen: (step: Step) => void
  onAnswered: () => void
}

/** The steps that need an agent. */
function OfAgent({ agent, secret, answered, stepOf, onKey, onOpen, onAnswered }: OfAgentProps) {
  const keys = useKeys(agent.id)
  const live = keys.data?.filter(({ revoked_at: revokedAt }) => revokedAt === null).length ?? 0
  return (
    <>
      <WalkStep number={3} title="API key" summary={live > 0 && (live === 1 ? '1 key' : `${live} keys`)} {...stepOf('key')}>
        <KeyStep agent={agent} live={live} secret={secret} onKey={onKey} onDone={() => onOpen('chat')} />
      </WalkStep>
      <WalkStep number={4} title="First message" summary={answered && 'reply received'} keep {...stepOf('chat')}>
        <ChatStep key={agent.id} agent={agent} onAnswered={onAnswered} onDone={() => onOpen('call')} />
      </WalkStep>
      <WalkStep number={5} title="API call" {...stepOf('call')}>
        <CallStep agent={agent} secret={secret} />
      </WalkStep>
    </>
  )
}
