/** What an agent did in the last seven days: figures, a chart, recent turns, errors by cause, feedback, and changes of its configuration. */
import { Anchor, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { call, segment } from '../../../api/client.ts'
import type { Agent, Usage } from '../../../api/types.ts'
import { Allowed } from '../../../show/allowed.tsx'
import { Empty } from '../../../show/empty.tsx'
import { Figure, Figures } from '../../../show/figure.tsx'
import { writeCount, writeMs } from '../../../show/measures.ts'
import { Money } from '../../../show/money.tsx'
import { Waiting } from '../../../show/waiting.tsx'
import { Plot } from '../../../show/plot/plot.tsx'
import { plotsOf } from '../../../show/plot/plots.ts'
import { spanOf } from '../../../show/usage-range.ts'
import { Changes } from './changes.tsx'
import { ErrorCauses } from './error-causes.tsx'
import { FeedbackCounts } from './feedback-counts.tsx'
import { RecentTurns } from './recent-turns.tsx'

const refetchMs = 60_000
const share = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 })

export function ActivityTab({ agent }: { agent: Agent }) {
  const [span] = useState(() => spanOf({ range: '7d', from: '', to: '' }, Date.now()))
  const query = { ...span, agent_id: agent.id }
  const usage = useQuery({
    queryKey: ['usage', query],
    queryFn: ({ signal }) => call<Usage>('/usage', { query, signal }),
    refetchInterval: refetchMs,
  })
  const id = segment(agent.id)
  return (
    <Stack gap="xl">
      <Part title="Last 7 days" more={{ href: `/usage?agent_id=${id}`, label: 'View usage' }}>
        <Waiting for={usage} what="the usage">
          {(report) => <Week report={report} id={id} />}
        </Waiting>
      </Part>
      <Part title="Recent turns" more={{ href: `/turns?agent_id=${id}`, label: 'View all traces' }}>
        <RecentTurns agentId={agent.id} />
      </Part>
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="xl">
        <Allowed permission="conversations">
          <Part title="Feedback" more={{ href: `/feedback?agent_id=${id}`, label: 'View feedback' }}>
            <FeedbackCounts agentId={agent.id} />
          </Part>
        </Allowed>
        <Allowed permission="audit" installation>
          <Part title="Changes" more={{ href: `/audit?subject_id=${id}`, label: 'View audit log' }}>
            <Changes agentId={agent.id} />
          </Part>
        </Allowed>
      </SimpleGrid>
    </Stack>
  )
}

function Part({ title, more, children }: { title: string; more: { href: string; label: string }; children: ReactNode }) {
  return (
    <Stack component="section" aria-label={title} gap="xs" miw={0}>
      <Group justify="space-between" align="baseline">
        <Title order={2} size="h4">
          {title}
        </Title>
        <Anchor component={Link} href={more.href} size="sm">
          {more.label}
        </Anchor>
      </Group>
      {children}
    </Stack>
  )
}

function Week({ report, id }: { report: Usage; id: string }) {
  const { totals } = report
  if (totals.turns === 0 && totals.errors === 0)
    return (
      <Empty
        title="No turns in the last 7 days"
        action={
          <Anchor component={Link} href={`/playground/${id}`} size="sm">
            Send a message in the playground
          </Anchor>
        }
      >
        A turn starts with a message to this agent, from your program or from the playground.
      </Empty>
    )
  const runs = totals.completed + totals.errors
  // Completed turns and errors, which is the first one.
  const [plot] = plotsOf(report, 'day')
  return (
    <Stack gap="sm">
      <Figures>
        <Figure label="Turns" note={`${writeCount(totals.completed)} completed`}>
          {writeCount(totals.turns)}
        </Figure>
        <Figure label="Errors" note={runs === 0 ? 'no runs' : `${share.format(totals.errors / runs)} of runs`} alarming={totals.errors > 0}>
          {writeCount(totals.errors)}
        </Figure>
        <Figure label="Charged">
          <Money amount={totals.charged_usd} />
        </Figure>
        <Figure label="Latency p50" note={totals.p95_ms === null ? '' : `p95 ${writeMs(totals.p95_ms)}`}>
          {totals.p50_ms === null ? '–' : writeMs(totals.p50_ms)}
        </Figure>
      </Figures>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        {plot ? <Plot plot={plot} /> : null}
        <ErrorCauses byCause={totals.errors_by_cause} id={id} />
      </SimpleGrid>
      <Text size="xs" c="dimmed">
        By UTC day. Turns are counted when they end.
      </Text>
    </Stack>
  )
}
