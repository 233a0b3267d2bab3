/**
 * The state of the installation in one time range: figures with the previous period, what needs attention, why turns failed, which agents
 * work most, and what runs now.
 */
import { Button, Stack } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Link, useSearchParams } from 'wouter'
import { call } from '../../api/client.ts'
import type { Agent, Usage } from '../../api/types.ts'
import { Allowed } from '../../show/allowed.tsx'
import { useNow } from '../../show/now.tsx'
import { Page } from '../../show/page.tsx'
import { RangeControl } from '../../show/range-control.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { comparedRanges, comparedSpans, rangeLabels, readCompared } from '../../show/usage-range.ts'
import type { ComparedRange } from '../../show/usage-range.ts'
import { AgentsPanel } from './agents-panel.tsx'
import { AttentionPanel } from './attention-panel.tsx'
import { FailuresPanel } from './failures-panel.tsx'
import { RunningPanel } from './running-panel.tsx'
import { TrendPanel } from './trend-panel.tsx'
import { TrendsLoading } from './trends-loading.tsx'
import type { Periods } from './trends.ts'
import { useAttention } from './use-attention.ts'

const refetchInterval = 60_000
const choices = comparedRanges.map((value) => ({ value, label: rangeLabels[value] }))

export function Overview({ agents }: { agents: Agent[] }) {
  const [params, setParams] = useSearchParams()
  const range = readCompared(params)
  const periods = usePeriods(range)
  const needed = useAttention(agents)
  const choose = (next: ComparedRange): void =>
    setParams(
      (before) => {
        const changed = new URLSearchParams(before)
        changed.set('range', next)
        return changed
      },
      { replace: true },
    )
  return (
    <Page
      title="Overview"
      actions={
        <>
          <RangeControl value={range} choices={choices} onChange={choose} />
          <Allowed permission="provider_keys" installation>
            <Button component={Link} href="/?agent=new">
              Set up another agent
            </Button>
          </Allowed>
        </>
      }
    >
      {periods.query.isPending ? (
        <TrendsLoading />
      ) : (
        <Waiting for={periods.query} what="usage">
          {(found) => <TrendPanel periods={found} />}
        </Waiting>
      )}
      <div className="two-columns">
        <Stack gap="lg">
          <AttentionPanel items={needed.items} error={needed.error} onRetry={needed.retry} />
          <FailuresPanel usage={periods.query.data?.usage} agents={agents} />
        </Stack>
        <Stack gap="lg">
          <AgentsPanel agents={agents} range={range} span={periods.span} />
          <RunningPanel agents={agents} />
        </Stack>
      </div>
    </Page>
  )
}

/** Both periods as one answer, so that a chart never shows one of another range. The start moves with the hour. */
function usePeriods(range: ComparedRange) {
  const minute = Math.floor(useNow() / 60_000) * 60_000
  const { name, current, previous } = useMemo(() => comparedSpans(range, minute), [range, minute])
  const query = useQuery({
    queryKey: ['usage', 'compared', range, current.from],
    queryFn: async ({ signal }): Promise<Periods> => {
      const read = (span: object) => call<Usage>('/usage', { query: { ...span }, signal })
      const [usage, before] = await Promise.all([read(current), read(previous)])
      return { usage, previous: before, unit: current.bucket, period: name }
    },
    refetchInterval,
    placeholderData: keepPreviousData,
  })
  return { query, span: current }
}
