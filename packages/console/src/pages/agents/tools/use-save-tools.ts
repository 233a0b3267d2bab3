/**
 * Replaces, adds or removes one tool. The list is loaded again before it is sent, so that other operators' changes to other tools are kept
 * and their changes to this tool are not overwritten.
 */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { ApiFailure, call, segment } from '../../../api/client.ts'
import { useMaySetPrices } from '../../../api/session.ts'
import type { Agent, Tool } from '../../../api/types.ts'
import { relocated, within } from '../../../show/refusal.ts'
import { isSameTool, keep, withoutPrice } from './tool-data.ts'
import type { GivenTool } from './tool-data.ts'

/** `before` as it was shown, null for a new one. `after` null removes it. */
export type ToolChange = { before: Tool | null; after: GivenTool | null }

export function useSaveTools(agent: Agent, onSaved: (agent: Agent, change: ToolChange) => void) {
  const queries = useQueryClient()
  const maySetPrices = useMaySetPrices()
  const path = `/agents/${segment(agent.id)}`
  return useMutation({
    mutationFn: async ({ before, after }: ToolChange) => {
      const now = await call<Agent>(path)
      const at = before === null ? now.tools.length : now.tools.findIndex((tool) => isSameTool(tool, before))
      if (before !== null && JSON.stringify(now.tools[at]) !== JSON.stringify(before)) throw overtaken(before, now.version)
      const tools = now.tools.map(keep)
      tools.splice(at, 1, ...(after === null ? [] : [after]))
      const body = { tools: maySetPrices ? tools : tools.map(withoutPrice) }
      return call<Agent>(path, { method: 'PATCH', body }).catch((error: unknown) => {
        throw relocated(error, (param) => within(`tools.${at}`)(param) ?? takenName(param))
      })
    },
    onSuccess: (changed, change) => {
      queries.setQueryData(['agents', agent.id], changed)
      void queries.invalidateQueries({ queryKey: ['agents'] })
      onSaved(changed, change)
    },
  })
}

/** Another tool has the name of this one, which is the only one that was changed. */
const takenName = (param: string): 'name' | undefined => (/^tools\.\d+\.name$/.test(param) ? 'name' : undefined)

const overtaken = ({ name }: Tool, version: number): ApiFailure =>
  new ApiFailure({
    status: 409,
    code: 'conflict',
    message: `${name} was changed in version ${version} while you were editing. Close this dialog and repeat your change on the current version.`,
  })
