/**
 * Tests a tool: one real call with the operator's arguments, and the result as the model would receive it. It belongs to no turn, is not
 * stored in a journal and costs the owner nothing. Also tests an MCP server that is not saved: lists its tools. The audit log names who made
 * the call before it is made (`audit.trials`).
 */
import type { Guard } from '../../agent/guard/guard.ts'
import { mcpToolName } from '../../agent/tools/tools.ts'
import type { Toolbox, ToolConfig, Tools } from '../../agent/tools/tools.ts'
import type { Sealer } from '../../config/secrets.ts'
import { ApiError, invalid } from '../../errors.ts'
import type { AdminStore, PerRequest } from '../admin-store.ts'
import { fieldsOf } from './agent-fields.ts'
import type { AgentFields } from './agent-fields.ts'
import { createToolsOfAgents, differencesOf, unusableOf } from './agent-tools.ts'
import type { GivenServer, GivenTool, ToolComparison } from './agent-tools.ts'

export type ToolTrial = { result: string; isError: boolean; ms: number }

export type ToolTrialsAdmin = {
  /**
   * Uses the saved version. `tool` is the name that the model sees, or `<server>__<tool>`. `definition` is used in place of the saved tool with its name, with the
   * checks of a change, and is not saved. A failed call is a result. Throws ApiError `not_found` for an agent that does not exist or was
   * deleted, `validation_error` for a tool that it does not have or an invalid definition, `forbidden` for a restricted caller and a tool
   * with a price, and `service_unavailable` if the server stops meanwhile.
   */
  tryTool(agentId: string, asked: ToolTrialWanted): Promise<ToolTrial>
  /**
   * Asks an MCP server for its tools, with the checks of a change, and saves nothing. Stored header values of the saved server of its name
   * can be kept. Returns each tool that saving it would approve as `added`, those that cannot be used, and the current version. Throws ApiError `not_found` for an
   * agent that does not exist or was deleted, and `validation_error` for an invalid definition and a server that cannot be called.
   */
  tryServer(agentId: string, definition: GivenServer): Promise<ToolComparison>
}

export type ToolTrialWanted = { tool: string; arguments: object; definition?: GivenTool | undefined; requestId: string }

/** `closing` ends running calls. */
type Options = {
  sealer: Sealer
  guard: Pick<Guard, 'refusedAddress'>
  tools: Pick<Tools, 'open' | 'pin'>
  closing: AbortSignal
}

export function createToolTrials({ sealer, guard, tools, closing }: Options): PerRequest<ToolTrialsAdmin> {
  const toolsOf = createToolsOfAgents({ sealer, tools, guard })

  /** With the stored values that the definition keeps, so that a trial shows what the saved tool would do. */
  async function openGiven(agentId: string, definition: GivenTool, { tools: saved, knowledge }: AgentFields): Promise<Toolbox> {
    const resolved = await toolsOf.resolve([definition], saved, agentId, new Map(), 'definition')
    return tools.open({ agentId, tools: resolved, knowledge })
  }

  async function savedFields(store: AdminStore, agentId: string): Promise<AgentFields & { version: number }> {
    const agent = await store.read.findAgent(agentId)
    if (!agent) throw new ApiError('not_found', 'This agent does not exist.')
    return { ...fieldsOf(agent.present), version: agent.present.version }
  }

  return {
    async tryServer({ store }, agentId, definition) {
      const { tools: saved, version } = await savedFields(store, agentId)
      const listTools = toolsOf.openServer(definition, saved, agentId)
      await store.write.recordTrial({ agentId, tool: definition.name })
      const { name } = definition
      const { pinned, unusable } = await listTools()
      return { differences: differencesOf({ name, pinned: [] }, pinned), unusable: unusableOf({ name, unusable }), version }
    },

    async tryTool({ store, scope }, agentId, { tool: named, arguments: given, definition, requestId }) {
      const fields = await savedFields(store, agentId)
      const tool = nameForModel(named, fields.tools)
      const saved = tools.open({ agentId, tools: fields.tools, knowledge: fields.knowledge })
      const toolbox = definition ? await openGiven(agentId, definition, fields) : saved
      if (toolbox.sideEffects(tool) === undefined) throw noSuchTool(toolbox.definitions.map(({ name }) => name))
      // A customer must not get for nothing what it pays for, and a definition can use the stored secrets of the saved tool.
      if (scope && Math.max(toolbox.price(tool), saved.price(tool)) > 0) throw hasPrice()
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

/** A tool of an MCP server may also be named by its server and its own name, which differ from what the model sees if it has a dot, for example. */
function nameForModel(named: string, tools: ToolConfig[]): string {
  for (const server of tools)
    for (const { name } of server.type === 'mcp' ? server.pinned : [])
      if (named === `${server.name}__${name}`) return mcpToolName(server.name, name)
  return named
}

const hasPrice = (): ApiError =>
  new ApiError('forbidden', 'You are restricted to one owner, and may not try this tool: it has a price, and a trial charges no one.')

// Enough for one sentence. An agent may have 128 tools.
const maxNames = 20

function noSuchTool(names: string[]): ApiError {
  const more = names.length > maxNames ? ', …' : ''
  const known = names.length === 0 ? 'none' : `${names.slice(0, maxNames).join(', ')}${more}`
  return invalid('tool', `tool must be the name of a tool of this agent: ${known}.`)
}
