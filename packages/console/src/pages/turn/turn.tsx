/** One turn by its request ID: what it cost, how its reply came about, and a form that runs its message again. */
import { Anchor, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { Page } from '../../show/page.tsx'
import { TurnDetails } from '../../show/turn-details.tsx'
import { TraceAttempts, useTrace } from '../../show/turn-trace.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { RunAgain } from './run-again.tsx'
import { Allowed } from '../../show/allowed.tsx'

export function TurnPage({ requestId }: { requestId: string }) {
  const trace = useTrace(requestId)
  return (
    <Page title="Turn" trail={[{ href: '/turns', label: 'Traces' }]} lead="What the agent did to answer one message, and what it cost.">
      <Stack gap="xs">
        <TurnDetails requestId={requestId} withSteps={false} />
        {trace.data ? (
          <Text size="sm">
            <Anchor component={Link} href={`/conversations/${segment(trace.data.conversation_id)}`} inherit underline="always">
              Open conversation
            </Anchor>
          </Text>
        ) : null}
      </Stack>
      <Waiting for={trace} what="the trace">
        {(read) => (
          <>
            <Section name="Trace">
              <TraceAttempts trace={read} />
            </Section>
            <Allowed permission="agents">
              <Section name="Run again">
                {read.status === 'running' ? (
                  <Text size="sm">The turn is still running. It can be run again when it has ended.</Text>
                ) : (
                  <RunAgain trace={read} />
                )}
              </Section>
            </Allowed>
          </>
        )}
      </Waiting>
    </Page>
  )
}

const Section = ({ name, children }: { name: string; children: ReactNode }) => (
  <Stack component="section" gap="sm" aria-label={name}>
    <Title order={2} size="h3">
      {name}
    </Title>
    {children}
  </Stack>
)
