/** What is spent in the current windows of an agent's limits. */
import { useQuery } from '@tanstack/react-query'
import { call, segment } from '../../api/client.ts'
import type { Spending } from '../../api/types.ts'

export const useSpending = (agentId: string) =>
  useQuery({
    queryKey: ['spending', agentId],
    queryFn: ({ signal }) => call<{ data: Spending[] }>(`/agents/${segment(agentId)}/spending`, { signal }),
  })
