/** What owners spent in the last seven UTC days, of which today is one, as on the other pages: one report for all of them, or for one. */
import { useQuery } from '@tanstack/react-query'
import { call } from './client.ts'
import type { Query } from './client.ts'
import type { Usage, UsageLine } from './types.ts'
import { readAmount } from './amounts.ts'
import { readAll } from './lists.ts'

const dayMs = 86_400_000
const staleTime = 60_000

const sevenDaysAgo = (): string => new Date((Math.floor(Date.now() / dayMs) - 6) * dayMs).toISOString()

/** The decimal text of the API. */
export function useSpent(ownerId: string) {
  const from = sevenDaysAgo()
  return useQuery({
    queryKey: ['usage', 'seven days', ownerId, from],
    queryFn: async ({ signal }) => {
      const { totals } = await call<Usage>('/usage', { query: { bucket: 'day', from, owner_id: ownerId }, signal })
      return totals.charged_usd
    },
    staleTime,
  })
}

/** By owner ID. An owner without a turn in these days is not in it. */
export function useSpentByOwner() {
  const from = sevenDaysAgo()
  return useQuery({
    queryKey: ['usage', 'seven days', 'by owner', from],
    queryFn: async ({ signal }) => {
      const lines = await readLines({ group_by: 'owner', from }, signal)
      return new Map(lines.map(({ owner_id: id, charged_usd: charged }) => [id ?? '', readAmount(charged) ?? 0n]))
    },
    staleTime,
  })
}

/** The lines of a grouped report, at most a thousand. */
export const readLines = (query: Query, signal: AbortSignal): Promise<UsageLine[]> => readAll<UsageLine>('/usage', signal, query)
