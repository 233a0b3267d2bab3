/**
 * What owners spent in the last seven days. The report scans the turns of those days, so it is requested only for owners that may run low.
 */
import { useQueries, useQuery } from '@tanstack/react-query'
import { call } from './client.ts'
import type { Owner, Usage } from './types.ts'
import { oneDollar, readAmount } from './amounts.ts'
import { isFewDays } from './low.ts'

const hourMs = 3_600_000
const sevenDaysMs = 7 * 24 * hourMs

/**
 * Queries the spend of one owner, or of all owners together if `ownerId` is null. The start moves once an hour, so that a result can be
 * reused.
 */
function spentBy(ownerId: string | null) {
  const from = new Date(Math.floor(Date.now() / hourMs) * hourMs - sevenDaysMs).toISOString()
  return {
    queryKey: ['usage', 'seven days', ownerId, from],
    queryFn: async ({ signal }: { signal: AbortSignal }) => {
      const { totals } = await call<Usage>('/usage', { query: { bucket: 'day', from, owner_id: ownerId }, signal })
      return totals.charged_usd
    },
    staleTime: 60_000,
  }
}

/** The decimal text of the API. */
export const useSpent = (ownerId: string) => useQuery(spentBy(ownerId))

/**
 * Returns the spend of the owners that may run low, keyed by owner ID. No report is requested for an owner whose balance exceeds a few days of
 * the spend of all owners.
 */
export function useSpentOfLow(owners: Owner[]): Map<string, bigint> {
  const all = useQuery(spentBy(null))
  const spentByAll = (all.data === undefined ? undefined : readAmount(all.data)) ?? 0n
  const near = owners.filter((owner) => {
    const available = readAmount(owner.available_usd) ?? 0n
    return spentByAll > 0n && available > 0n && (available < oneDollar || isFewDays(available, spentByAll))
  })
  return useQueries({
    queries: near.map(({ id }) => spentBy(id)),
    combine: (answers) =>
      new Map(answers.flatMap(({ data }, index) => (data === undefined ? [] : [[near[index]!.id, readAmount(data) ?? 0n]]))),
  })
}
