/**
 * What an agent can do: its tools as one box for the loop, over HTTP, on MCP servers and built in. The operator's configuration decides where a call
 * goes and what it proves itself with; a model fills arguments in, which are checked against the tool's schema first. Everything leaves through the
 * guard. Never logs what is asked or answered, and never throws what a tool does.
 *
 * For who saves tools: `checkTools(open)` answers the first problem as a sentence or undefined; `sealTools(open, agentId, sealer)` makes of them what
 * a version stores; `pin` asks an MCP server for its tools; `definitionsOf` and `toolTokens` say what they cost in every prompt (`billing.hold`).
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
import { builtInDefinitions, definitionsOf, mcpToolName, openTexts } from './tool-config.ts'
import type { HttpTool, JsonSchema, PinnedTool, Sealed, ToolConfig, ToolResult } from './tool-config.ts'

export { checkTools } from './check.ts'
export { differences } from './mcp-definitions.ts'
export { definitionsOf, mcpToolName, openTexts, sealTools, ToolServerError, toolTokens } from './tool-config.ts'
export type {
  BuiltInTool,
  HttpTool,
  JsonSchema,
  McpServer,
  OpenHttpTool,
  OpenMcpServer,
  OpenTool,
  PinnedTool,
  Sealed,
  ToolConfig,
  ToolResult,
} from './tool-config.ts'

export type ToolCallRequest = {
  name: string
  /** As the model wrote them: any text. */
  arguments: string
  /** `<request_id>:<step>:<n>`, the same again after recovery. */
  idempotencyKey: string
  signal: AbortSignal
}

/** The tools of one version of an agent. */
export interface Toolbox {
  /** What the model is told. */
  definitions: ToolDefinition[]
  /** Whether a call may change anything outside; undefined: no such tool. */
  sideEffects(name: string): boolean | undefined
  /** Whatever goes wrong is an answer for the model. Rejects with `signal.reason` alone. */
  call(request: ToolCallRequest): Promise<ToolResult>
}

export interface Tools {
  /** Connects nowhere. The same configuration, the same array, is opened once. */
  open(options: OpenOptions): Toolbox
  /** Asks an MCP server for its tools now. Throws ToolServerError, whose message is for the operator. */
  pin(server: { url: string; headers: Record<string, string>; allowed: string[] | null }): Promise<PinnedTool[]>
  /** Says farewell to MCP servers. Calls that still run end with the guard. */
  close(): Promise<void>
}

export type OpenOptions = { agentId: string; tools: ToolConfig[]; knowledge: AgentConfig['knowledge'] }
export type ToolsOptions = { guard: Guard; sealer: Sealer; knowledge: Knowledge; log: Logger; now(): Date }

type Call = Omit<ToolCallRequest, 'arguments'> & { args: Record<string, unknown> }
/** A tool under the name it is offered by. */
type Offered = { sideEffects: boolean; parameters: JsonSchema; run(call: Call): Promise<ToolResult> }

export function createTools({ guard, sealer, knowledge, log, now }: ToolsOptions): Tools {
  const mcp = createMcp({ guard, log })
  const reader = createArgumentsReader()
  /** A version's configuration is read once, so its array of tools stands for it. */
  const boxes = new WeakMap<ToolConfig[], { options: OpenOptions; box: Toolbox }>()

  function openBox(options: OpenOptions): Toolbox {
    const offered = new Map(options.tools.flatMap((tool) => offer(tool, options)))

    return {
      definitions: definitionsOf(options.tools),
      sideEffects: (name) => offered.get(name)?.sideEffects,

      async call({ arguments: text, ...request }) {
        const { name, signal } = request
        signal.throwIfAborted()
        const tool = offered.get(name)
        if (!tool) return refusal(`there is no tool named ${JSON.stringify(name.slice(0, 64).toWellFormed())}`)
        const read = reader.read(text, tool.parameters)
        if (read.kind === 'refused') return refusal(read.text)
        try {
          return await tool.run({ ...request, args: read.args })
        } catch (error) {
          if (signal.aborted) throw signal.reason
          log.error({ agent_id: options.agentId, tool: name, err: error }, 'tool call failed: internal error')
          return refusal(
            error instanceof UnsealError ? 'the tool is not set up; its operator has to mend it' : 'the tool could not be called',
          )
        }
      },
    }
  }

  function offer(tool: ToolConfig, { agentId, knowledge: limits }: OpenOptions): [string, Offered][] {
    const open = (texts: Record<string, Sealed>): Record<string, string> => openTexts(texts, agentId, sealer)
    switch (tool.type) {
      case 'http':
        return [[tool.name, { ...tool, run: (call) => runHttp(tool, agentId, call) }]]
      case 'mcp':
        return tool.pinned.map(({ name, parameters, sideEffects }) => [
          mcpToolName(tool.name, name),
          { parameters, sideEffects, run: (call) => mcp.call({ ...call, server: tool, headers: open(tool.headers), tool: name }) },
        ])
      case 'builtin': {
        const run = (call: Call): Promise<ToolResult> => callBuiltIn(tool.name, { ...call, agentId, knowledge: limits }, { knowledge, now })
        return [[tool.name, { parameters: builtInDefinitions[tool.name].parameters, sideEffects: false, run }]]
      }
    }
  }

  async function runHttp(tool: HttpTool, agentId: string, call: Call): Promise<ToolResult> {
    const open = { ...tool, headers: openTexts(tool.headers, agentId, sealer), secrets: openTexts(tool.secrets, agentId, sealer) }
    const { text, isError, failure } = await callHttpTool({ ...call, tool: open }, guard)
    if (failure !== undefined) log.warn({ agent_id: agentId, tool: tool.name, reason: failure }, 'tool call failed')
    return { text, isError, passages: [] }
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

function refusal(text: string): ToolResult {
  return { text: `Error: ${text}${text.endsWith('.') ? '' : '.'}`, isError: true, passages: [] }
}
