/**
 * A tool tried out by its operator: one call for real, with arguments that he writes in the model's place, and the result as the model would be told
 * it. Belongs to no turn, is not journalled and costs its owner nothing. Surfaces: POST /agents/{id}/tools/try.
 */
import type { Tools } from '../../agent/tools/tools.ts'
import { ApiError } from '../../errors.ts'
import type { AdminStore } from '../admin-store.ts'
import { fieldsOf } from './agent-fields.ts'

export type ToolTrial = { result: string; isError: boolean; ms: number }

export type ToolTrialsAdmin = {
  /**
   * Of the saved version; `tool` by the name that the model sees. What goes wrong with the call is its result. Throws ApiError `not_found` for an
   * agent that is unknown or deleted, `validation_error` for a tool that it does not have, `service_unavailable` where the server closes meanwhile.
   */
  tryTool(agentId: string, asked: { tool: string; arguments: object; requestId: string }): Promise<ToolTrial>
}

/** `closing` ends the calls that still run. */
type Options = { store: AdminStore; tools: Pick<Tools, 'open'>; closing: AbortSignal }

export function createToolTrials({ store, tools, closing }: Options): ToolTrialsAdmin {
  return {
    async tryTool(agentId, { tool, arguments: given, requestId }) {
      const agent = await store.read.findAgent(agentId)
      if (!agent) throw new ApiError('not_found', 'This agent does not exist.')
      const { tools: configured, knowledge } = fieldsOf(agent.present)
      const toolbox = tools.open({ agentId, tools: configured, knowledge })
      if (toolbox.sideEffects(tool) === undefined) throw noSuchTool(toolbox.definitions.map(({ name }) => name))
      const startedAt = performance.now()
      const { text, isError } = await toolbox.call({
        name: tool,
        arguments: JSON.stringify(given),
        // As of the first call of a turn's first step.
        idempotencyKey: `${requestId}:1:1`,
        signal: AbortSignal.any([closing]),
      })
      return { result: text, isError, ms: Math.round(performance.now() - startedAt) }
    },
  }
}

// A sentence, where an agent may have 128 tools.
const maxNames = 20

function noSuchTool(names: string[]): ApiError {
  const more = names.length > maxNames ? ', …' : ''
  const known = names.length === 0 ? 'none' : `${names.slice(0, maxNames).join(', ')}${more}`
  return new ApiError('validation_error', `tool must be the name of a tool of this agent: ${known}.`)
}
