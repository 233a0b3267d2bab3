/**
 * Tests a tool: one real call with the operator's arguments, and the result as the model would receive it. It belongs to no turn, is not
 * stored in a journal and costs the owner nothing. The audit log names who made it before the call is made (`audit.trials`).
 */
import type { Tools } from '../../agent/tools/tools.ts'
import { ApiError } from '../../errors.ts'
import type { AdminStore } from '../admin-store.ts'
import { fieldsOf } from './agent-fields.ts'

export type ToolTrial = { result: string; isError: boolean; ms: number }

export type ToolTrialsAdmin = {
  /**
   * Uses the saved version. `tool` is the name that the model sees. A failed call is a result. Throws ApiError `not_found` for an agent
   * that does not exist or was deleted, `validation_error` for a tool that it does not have, `forbidden` for a restricted caller and a tool
   * with a price, and `service_unavailable` if the server stops meanwhile.
   */
  tryTool(agentId: string, asked: { tool: string; arguments: object; requestId: string }): Promise<ToolTrial>
}

/** `closing` ends running calls. */
type Options = { store: AdminStore; tools: Pick<Tools, 'open'>; closing: AbortSignal; isRestricted: boolean }

export function createToolTrials({ store, tools, closing, isRestricted }: Options): ToolTrialsAdmin {
  return {
    async tryTool(agentId, { tool, arguments: given, requestId }) {
      const agent = await store.read.findAgent(agentId)
      if (!agent) throw new ApiError('not_found', 'This agent does not exist.')
      const { tools: configured, knowledge } = fieldsOf(agent.present)
      const toolbox = tools.open({ agentId, tools: configured, knowledge })
      if (toolbox.sideEffects(tool) === undefined) throw noSuchTool(toolbox.definitions.map(({ name }) => name))
      // A customer must not get for nothing what it pays for.
      if (isRestricted && toolbox.price(tool) > 0) throw hasPrice()
      await store.write.recordTrial({ agentId, tool })
      const startedAt = performance.now()
      const { text, isError } = await toolbox.call({
        name: tool,
        arguments: JSON.stringify(given),
        // As in the first call of the first step of a turn.
        idempotencyKey: `${requestId}:1:1`,
        signal: AbortSignal.any([closing]),
      })
      return { result: text, isError, ms: Math.round(performance.now() - startedAt) }
    },
  }
}

const hasPrice = (): ApiError =>
  new ApiError('forbidden', 'You are restricted to one owner, and may not try this tool: it has a price, and a trial charges no one.')

// Enough for one sentence. An agent may have 128 tools.
const maxNames = 20

function noSuchTool(names: string[]): ApiError {
  const more = names.length > maxNames ? ', …' : ''
  const known = names.length === 0 ? 'none' : `${names.slice(0, maxNames).join(', ')}${more}`
  return new ApiError('validation_error', `tool must be the name of a tool of this agent: ${known}.`)
}
