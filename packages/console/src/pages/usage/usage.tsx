/** Usage over time: turns, tokens, spend, errors and times, of everything or of one owner, agent or key. */
import { SimpleGrid, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { useSearchParams } from 'wouter'
import { call } from '../../api/client.ts'
import type { Usage } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { readAsked, spanOf, writeAsked } from '../../show/usage-range.ts'
import type { Span } from '../../show/usage-range.ts'
import { Compare } from './compare.tsx'
import { Filters } from './filters.tsx'
import { Plot } from '../../show/plot/plot.tsx'
import { plotsOf } from '../../show/plot/plots.ts'
import { Totals } from './totals.tsx'
import { UsageCsv } from './usage-csv.tsx'

/** A report scans the turns of its range. A minute is recent enough for hours and days. */
const refetchMs = 60_000
const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone

export function UsagePage() {
  const [params, setParams] = useSearchParams()
  const asked = readAsked(params)
  const found = spanOf(asked, useNow())
  const wrong = 'wrong' in found ? found : null
  const span = 'wrong' in found ? null : found
  const query = { ...span, owner_id: asked.ownerId, agent_id: asked.agentId, key_id: asked.keyId, external_user_id: asked.externalUserId }
  const usage = useQuery({
    queryKey: ['usage', query],
    // The range belongs to its response: the previous one is shown until the new response is there.
    queryFn: async ({ signal }) => ({ report: await call<Usage>('/usage', { query, signal }), unit: span?.bucket ?? 'day' }),
    enabled: span !== null,
    placeholderData: keepPreviousData,
    refetchInterval: refetchMs,
  })
  return (
    <Page title="Usage" lead={`Turns are counted when they end, by UTC hour or day. Charts show hours in your time zone, ${zone}.`}>
      <Filters asked={asked} wrong={wrong} onChange={(next) => setParams(writeAsked(next), { replace: true })} />
      {span ? (
        <>
          <Text component="output" size="sm" c="dimmed">
            {usage.isPlaceholderData ? 'Loading…' : ''}
          </Text>
          {usage.data ? <FailureNote error={usage.error} title="Could not refresh usage" onRetry={() => void usage.refetch()} /> : null}
          <Waiting for={usage} what="usage">
            {({ report, unit }) => <Report report={report} unit={unit} />}
          </Waiting>
          {asked.agentId === null && asked.externalUserId === null ? <Compare asked={asked} span={span} /> : null}
          {/* Not before the report, which would move it away. */}
          {usage.data ? <UsageCsv range={{ ...query, bucket: undefined }} /> : null}
        </>
      ) : null}
    </Page>
  )
}

/** The time of the last refetch: an hour later the range ends an hour later. */
function useNow(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), refetchMs)
    return () => clearInterval(timer)
  }, [])
  return now
}

function Report({ report, unit }: { report: Usage; unit: Span['bucket'] }) {
  const plots = useMemo(() => plotsOf(report, unit), [report, unit])
  if (report.totals.turns === 0 && report.totals.errors === 0)
    return (
      <Empty title="No turns ended in this range">
        Choose a longer time range or remove filters. Running turns are listed under Status.
      </Empty>
    )
  return (
    <>
      <Totals totals={report.totals} />
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        {plots.map((plot) => (
          <Plot key={plot.title} plot={plot} />
        ))}
      </SimpleGrid>
    </>
  )
}
