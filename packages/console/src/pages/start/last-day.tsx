/** The figures of the last 24 hours, and what is running now. */
import { Anchor, Box, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { call } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import type { Status, Usage } from '../../api/types.ts'
import { ErrorFigure } from '../../show/error-figure.tsx'
import { Figure, Figures } from '../../show/figure.tsx'
import { writeCount, writeMs } from '../../show/measures.ts'
import { Money } from '../../show/money.tsx'
import { Waiting } from '../../show/waiting.tsx'

const hourMs = 3_600_000
// A response has a few hundred bytes, and the page should be current.
const refreshMs = 10_000

export function LastDay() {
  const from = dayBefore()
  const usage = useQuery({
    queryKey: ['usage', 'last day', from],
    queryFn: ({ signal }) => call<Usage>('/usage', { query: { bucket: 'hour', from }, signal }),
    refetchInterval: 6 * refreshMs,
  })
  const maySeeStatus = useMay('read', true)
  const status = useQuery({
    enabled: maySeeStatus,
    queryKey: ['status'],
    queryFn: ({ signal }) => call<Status>('/status', { signal }),
    refetchInterval: refreshMs,
  })
  return (
    <Box component="section" aria-labelledby="last-day">
      <Title order={2} size="h4" mb="sm" id="last-day">
        Last 24 hours
      </Title>
      <Waiting for={usage} what="usage">
        {({ totals }) => (
          <Figures>
            <Figure label="Turns" note={`${writeCount(totals.completed)} completed`}>
              {writeCount(totals.turns)}
            </Figure>
            <ErrorFigure totals={totals} />
            <Figure label="Spend" note={`${writeCount(totals.prompt_tokens + totals.completion_tokens)} tokens`}>
              <Money amount={totals.charged_usd} />
            </Figure>
            <Figure label="Latency p50" note={totals.p95_ms === null ? undefined : `p95 ${writeMs(totals.p95_ms)}`}>
              {totals.p50_ms === null ? '–' : writeMs(totals.p50_ms)}
            </Figure>
            {maySeeStatus ? (
              <Figure
                label="Running now"
                note={
                  <Anchor component={Link} href="/operations" inherit underline="always">
                    {status.data && status.data.workers > 1 ? 'on one of several workers' : 'View status'}
                  </Anchor>
                }
              >
                {status.data ? writeCount(status.data.turns.running) : '–'}
              </Figure>
            ) : null}
          </Figures>
        )}
      </Waiting>
    </Box>
  )
}

/** Whole hours, as the buckets: the current one and the 24 before it. */
const dayBefore = (): string => new Date(Math.floor(Date.now() / hourMs) * hourMs - 24 * hourMs).toISOString()
