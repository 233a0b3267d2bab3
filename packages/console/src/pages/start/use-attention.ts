/** Reads what needs attention: a handful of requests, whatever the number of agents. */
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { useNewestTurns, useOwners } from '../../api/lists.ts'
import { useMay } from '../../api/session.ts'
import { useSpentByOwner } from '../../api/spend.ts'
import type { Agent, Attention, Status } from '../../api/types.ts'
import { attentionItems } from './attention.ts'
import type { AttentionItem } from './attention.ts'
import { failingProviders } from '../providers/health.ts'

const refetchInterval = 30_000

export function useAttention(agents: Agent[]): { items: AttentionItem[] | undefined; error: Error | null; retry: () => void } {
  const installation = useMay('read', true)
  const may = { billing: useMay('billing', true), installation, conversations: useMay('conversations') }
  const attention = useQuery({
    queryKey: ['attention'],
    queryFn: ({ signal }) => call<{ data: Attention[] }>('/attention', { signal }),
    refetchInterval,
  })
  const newest = useNewestTurns()
  const status = useQuery({
    enabled: installation,
    queryKey: ['status'],
    queryFn: ({ signal }) => call<Status>('/status', { signal }),
    refetchInterval,
  })
  const owners = useOwners()
  const spent = useSpentByOwner()
  const asked = [attention, newest, owners, spent]
  const error = [...asked, status].find((one) => one.error && one.data === undefined)?.error ?? null
  const retry = (): void => [...asked, status].filter((one) => one.error).forEach((one) => void one.refetch())
  if (asked.some((one) => one.isPending) && error === null) return { items: undefined, error, retry }
  const items = attentionItems({
    attention: attention.data?.data ?? [],
    providers: failingProviders(newest.data?.data ?? [], agents),
    owners: owners.data ?? [],
    spent: spent.data ?? new Map(),
    agents,
    status: status.data,
    may,
  })
  // Without all answers, an empty list would say that nothing needs attention.
  return { items: error !== null && items.length === 0 ? undefined : items, error, retry }
}
