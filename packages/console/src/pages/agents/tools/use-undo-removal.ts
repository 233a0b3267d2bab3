/**
 * Restores a removed tool with its header and secret values: a new version with the settings of the version before. Refused if the agent was
 * saved again meanwhile, because that would be lost.
 */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { ApiFailure, call, segment } from '../../../api/client.ts'
import type { Agent } from '../../../api/types.ts'
import { useToast } from '../../../show/toasts.tsx'

/** `removed`: the version that the removal has created. */
type Removal = { name: string; removed: number }

export function useUndoRemoval(agentId: string) {
  const queries = useQueryClient()
  const toast = useToast()
  const path = `/agents/${segment(agentId)}`
  return useMutation({
    mutationFn: async ({ removed }: Removal) => {
      const now = await call<Agent>(path)
      if (now.version !== removed) throw savedAgain(now.version)
      return call<Agent>(`${path}/rollback`, { method: 'POST', body: { version: removed - 1 } })
    },
    onSuccess: (restored, { name }) => {
      queries.setQueryData(['agents', agentId], restored)
      void queries.invalidateQueries({ queryKey: ['agents'] })
      toast(`Restored ${name}. Saved as version ${restored.version}.`)
    },
  })
}

const savedAgain = (version: number): ApiFailure =>
  new ApiFailure({
    status: 409,
    code: 'conflict',
    message: `The agent was saved again as version ${version}. To restore the tool, roll back to an older version under Versions.`,
  })
