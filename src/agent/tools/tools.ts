/**
 * Gives the loop the tools of an agent as one toolbox: HTTP tools, tools of MCP servers, and built-in ones. The operator's configuration
 * decides where a call goes and with which credentials; the model only supplies arguments, which are checked against the tool's schema
 * first. All requests go through the guard. Arguments and results are never logged, and the failure of a tool is a result, not an
 * exception.
 *
 * Code that saves tools uses: `checkTools(open)`, which returns the first problem, or undefined; `sealTools(open, agentId,
 * sealer)`, which returns what a version stores; `pin`, which reads the tools of an MCP server; and `definitionsOf` and `toolTokens`, which
 * return what the tools add to every prompt (`billing.hold`).
 */
import type { Logger } from 'pino'
import { UnsealError } from '../../config/secrets.ts'
import type { Sealer } from '../../config/secrets.ts'
import type { AgentConfig } from '../agent-config.ts'
import type { Guard } from '../guard/guard.ts'
import type { Knowledge } from '../knowledge/knowledge.ts'
import type { ToolDefinition } from '../models/model.ts'
import { createArgumentsReader } from './arguments.ts'
import { callBuiltIn } from './builtin.ts'
import { callHttpTool } from './http-tool.ts'
import { createMcp } from './mcp.ts'
import { Pacing } from './pacing.ts'
import { builtInDefinitions, definitionsOf, mcpToolName, openTexts } from './tool-config.ts'
import type { HttpTool, JsonSchema, Pins, Priced, ToolConfig, ToolResult } from './tool-config.ts'

export { checkTools } from './check.ts'
export { differences } from './mcp-definitions.ts'
export { definitionsOf, mcpToolName, openTexts, originOf, sealTools, ToolServerError, toolTokens } from './tool-config.ts'
export type {
  BuiltInTool,
  HttpTool,
  JsonSchema,
  McpServer,
  OpenHttpTool,
  OpenMcpServer,
  OpenTool,
  PinnedTool,
  Pins,
  Sealed,
  SealedFor,
  SealedKind,
  ToolConfig,
  ToolResult,
  UnusableTool,
} from './tool-config.ts'

export type ToolCallRequest = {
  name: string
  /** As the model wrote them; may be any text. */
  arguments: string
  /** `<request_id>:<step>:<n>`; the same again when recovery repeats the call. */
  idempotencyKey: string
  /** `trace.context`: sent unchanged in the header of the same name. Null for none. */
  traceparent?: string | null
  signal: AbortSignal
}

/** The tools of one version of an agent. */
export interface Toolbox {
  /** The tool definitions for the model. */
  definitions: ToolDefinition[]
  /** Whether a call can change anything outside Turnkeep; undefined if no tool has this name. */
  sideEffects(name: string): boolean | undefined
  /** `billing.tool-price`: what a call costs that the tool answers, in 10⁻⁸ USD. */
  price(name: string): number
  /** Calls a tool. Every failure is a result for the model; rejects only with `signal.reason`. */
  call(request: ToolCallRequest): Promise<ToolResult>
}

export interface Tools {
  /** Returns the toolbox of a configuration without connecting anywhere. The same `tools` array gets the same toolbox again. */
  open(options: OpenOptions): Toolbox
  /** Reads the current tools of an MCP server. Throws ToolServerError, whose message is for the operator. */
  pin(server: { url: string; headers: Record<string, string>; allowed: string[] | null }): Promise<Pins>
  /** Closes the sessions with MCP servers. Calls that are still running end when the guard closes. */
  close(): Promise<void>
}

export type OpenOptions = { agentId: string; tools: ToolConfig[]; knowledge: AgentConfig['knowledge'] }
export type ToolsOptions = { guard: Guard; sealer: Sealer; knowledge: Knowledge; log: Logger; now(): Date }

type Call = Omit<ToolCallRequest, 'arguments'> & { args: Record<string, unknown> }
/** A tool under the name that the model sees. */
type Offered = Priced & { sideEffects: boolean; parameters: JsonSchema; run(call: Call): Promise<ToolResult> }

export function createTools({ guard, sealer, knowledge, log, now }: ToolsOptions): Tools {
  const mcp = createMcp({ guard, log })
  const reader = createArgumentsReader()
  const pacing = new Pacing()
  /** Keyed by the array of tools: the configuration of a version is loaded once, so the array identifies it. */
  const boxes = new WeakMap<ToolConfig[], { options: OpenOptions; box: Toolbox }>()

  function openBox(options: OpenOptions): Toolbox {
    const offered = new Map(options.tools.flatMap((tool) => offer(tool, options)))

    return {
      definitions: definitionsOf(options.tools),
      sideEffects: (name) => offered.get(name)?.sideEffects,
      price: (name) => offered.get(name)?.price ?? 0,

      async call({ arguments: text, ...request }) {
        const { name, signal } = request
        signal.throwIfAborted()
        const tool = offered.get(name)
        if (!tool) return refusal(`there is no tool named ${JSON.stringify(name.slice(0, 64).toWellFormed())}`)
        for (let pause = pacing.pause(); pause; pause = pacing.pause()) await pause
        signal.throwIfAborted()
        const read = reader.read(text, tool.parameters)
        pacing.count(read.operations)
        if (read.kind === 'refused') return refusal(read.text)
        try {
          return await tool.run({ ...request, args: read.args })
        } catch (error) {
          if (signal.aborted) throw signal.reason
          log.error({ agent_id: options.agentId, tool: name, err: error }, 'tool call failed: internal error')
          return refusal(
            error instanceof UnsealError ? 'the tool is not set up; its operator has to fix it' : 'the tool could not be called',
          )
        }
      },
    }
  }

  function offer(tool: ToolConfig, { agentId, knowledge: limits }: OpenOptions): [string, Offered][] {
    switch (tool.type) {
      case 'http':
        return [[tool.name, { ...tool, run: (call) => runHttp(tool, agentId, call) }]]
      case 'mcp':
        return tool.pinned.map(({ name, parameters, sideEffects }) => [
          mcpToolName(tool.name, name),
          {
            ...priceOf(tool),
            parameters,
            sideEffects,
            run: (call) =>
              mcp.call({ ...call, server: tool, headers: openTexts(tool.headers, 'headers', { agentId, ...tool }, sealer), tool: name }),
          },
        ])
      case 'builtin': {
        const run = (call: Call): Promise<ToolResult> => callBuiltIn(tool.name, { ...call, agentId, knowledge: limits }, { knowledge, now })
        return [[tool.name, { ...priceOf(tool), parameters: builtInDefinitions[tool.name].parameters, sideEffects: false, run }]]
      }
    }
  }

  async function runHttp(tool: HttpTool, agentId: string, call: Call): Promise<ToolResult> {
    const place = { agentId, ...tool }
    const headers = openTexts(tool.headers, 'headers', place, sealer)
    const open = { ...tool, headers, secrets: openTexts(tool.secrets, 'secrets', place, sealer) }
    const { text, isError, answered, failure } = await callHttpTool({ ...call, tool: open }, guard)
    if (failure !== undefined) log.warn({ agent_id: agentId, tool: tool.name, reason: failure }, 'tool call failed')
    return { text, isError, answered, passages: [] }
  }

  return {
    open(options) {
      const known = boxes.get(options.tools)
      if (known && known.options.agentId === options.agentId && known.options.knowledge === options.knowledge) return known.box
      const box = openBox(options)
      boxes.set(options.tools, { options, box })
      return box
    },
    pin: (server) => mcp.pin(server),
    close: () => mcp.close(),
  }
}

const priceOf = ({ price }: ToolConfig): Priced => (price === undefined ? {} : { price })

function refusal(text: string): ToolResult {
  return { text: `Error: ${text}${text.endsWith('.') ? '' : '.'}`, isError: true, answered: false, passages: [] }
}
