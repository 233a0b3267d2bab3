/** The balance of the last 30 days, and how long it lasts. */
import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { call, segment } from '../../api/client.ts'
import { maxRead, readAll } from '../../api/lists.ts'
import type { LedgerEntry, Owner, Usage } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { Plot } from '../../show/plot/plot.tsx'
import { spanOf } from '../../show/usage-range.ts'
import { burnDownPlot, knownDays } from './burn-down.ts'

export function BalanceChart({ owner, spent }: { owner: Owner; spent: bigint | undefined }) {
  const { id, balance_usd: balance, available_usd: available } = owner
  const span = spanOf({ range: '30d', from: '', to: '' }, Date.now())
  const from = 'from' in span ? span.from : ''
  const found = useQuery({
    // The days and the balance belong together.
    queryKey: ['usage', 'burn down', id, from, balance],
    queryFn: async ({ signal }) => {
      const entriesOf = (kind: LedgerEntry['kind']) => readAll<LedgerEntry>(`/owners/${segment(id)}/ledger`, signal, { kind, from })
      const [usage, credits, adjustments] = await Promise.all([
        call<Usage>('/usage', { query: { bucket: 'day', from, owner_id: id }, signal }),
        entriesOf('credit'),
        entriesOf('adjustment'),
      ])
      return { days: knownDays(usage.data, [credits, adjustments], maxRead), entries: [...credits, ...adjustments] }
    },
    placeholderData: (before) => before,
  })
  const plot = useMemo(
    () => (found.data ? burnDownPlot({ balance, available, ...found.data, spent: spent ?? 0n }) : null),
    [found.data, balance, available, spent],
  )
  if (plot) return <Plot plot={plot} />
  if (found.error) return <FailureNote error={found.error} title="Could not load the balance by day" onRetry={() => void found.refetch()} />
  return (
    <div role="status" aria-label="Loading the balance by day">
      <Skeleton h={346} />
    </div>
  )
}
