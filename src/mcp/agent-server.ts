/**
 * An MCP server with one tool, an agent, made with the official SDK. Lists the tool, checks the arguments of a call, reports progress and
 * writes the result (`mcp.tool`, `mcp.progress`). How a message gets its reply is up to the caller of this file. Load it only when an MCP client
 * has connected, because the SDK is large.
 */
import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import { agentSlug } from '../agent-slug.ts'
import { describeTool, keyInMeta, readToolCall, writeFailure, writeReply } from './agent-tool.ts'
import type { ToolCall, ToolFailure, ToolOutcome } from './agent-tool.ts'

/** Receives what is known about a turn while it runs. */
export type Progress = { started(): void; text(delta: string): void; reset(): void }

/** `signal` is aborted when no one waits for the call any more. */
export type CallListener = { progress: Progress; signal: AbortSignal }

export type AgentServerOptions = {
  version: string
  agentName: string
  /** The end user of calls that name none, or null. */
  defaultExternalUserId: string | null
  /** Gets the reply to a message. A turn that has started continues even if no one waits for it. */
  call(call: ToolCall, listener: CallListener): Promise<ToolOutcome>
  /** Called with the failures that this file finds itself. */
  onInvalid?(failure: ToolFailure): void
  /** Called with an error that is not expected. The caller gets a general message. */
  onError(error: unknown): void
  /** The time between two notifications of progress. */
  progressMs: number
}

// Clients join the name of a tool with the name that the user gave the server, and model providers allow 64 characters in all.
const longestName = 40
const toolNameOf = (agentName: string): string => agentSlug(agentName).slice(0, longestName).replace(/-$/, '') || 'agent'

/** A new server for one connection, or for one request over HTTP. */
export function createAgentServer(options: AgentServerOptions): Server {
  const server = new Server({ name: 'turnkeep', version: options.version }, { capabilities: { tools: {} } })
  const toolName = toolNameOf(options.agentName)
  const hasDefaultUser = options.defaultExternalUserId !== null
  server.setRequestHandler('tools/list', () => ({ tools: [describeTool({ name: options.agentName, toolName, hasDefaultUser })] }))
  server.setRequestHandler('tools/call', ({ params }, context) => guarded(options, () => callTool(params, context, options)))
  return server
}

type CallParams = { name: string; arguments?: Record<string, unknown> | undefined }

async function callTool(params: CallParams, { mcpReq }: ServerContext, options: AgentServerOptions): Promise<CallToolResult> {
  const toolName = toolNameOf(options.agentName)
  if (params.name !== toolName)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool. This server has one tool: ${toolName}. List the tools again.`)
  const { _meta: meta } = mcpReq
  const read = readToolCall(params.arguments, options.defaultExternalUserId, meta?.[keyInMeta])
  if (read.kind === 'invalid') {
    const failure = { code: 'validation_error', message: read.message }
    options.onInvalid?.(failure)
    return writeFailure(failure)
  }
  const token = meta?.progressToken
  const reporter = token === undefined ? noReporter : reportProgress(token, mcpReq, options.progressMs)
  try {
    const outcome = await options.call(read.call, { progress: reporter, signal: mcpReq.signal })
    return outcome.kind === 'replied' ? writeReply(outcome.reply) : writeFailure(outcome)
  } finally {
    reporter.stop()
  }
}

type Reporter = Progress & { stop(): void }

const noReporter: Reporter = { started() {}, text() {}, reset() {}, stop() {} }

/**
 * `mcp.progress`: one notification when the turn has started, and then one per interval, text or not, so that a client that waits for progress
 * never gives up on a turn that runs. `progress` is the time in seconds, because it has to grow; `message` has the characters so far.
 */
function reportProgress(progressToken: string | number, mcpReq: ServerContext['mcpReq'], intervalMs: number): Reporter {
  const startedAt = performance.now()
  let characters = 0
  let timer: NodeJS.Timeout | undefined
  const stop = (): void => clearInterval(timer)
  mcpReq.signal.addEventListener('abort', stop, { once: true })

  function notify(): void {
    const message = characters === 0 ? 'Waiting for the reply' : `${characters} characters of the reply`
    const progress = Math.round(performance.now() - startedAt) / 1000
    // The client has left: there is no one to report to, and the turn continues.
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(stop)
  }

  return {
    started() {
      if (mcpReq.signal.aborted) return
      notify()
      timer ??= setInterval(notify, intervalMs)
    },
    text: (delta) => void (characters += delta.length),
    reset: () => void (characters = 0),
    stop,
  }
}

/** Turns an unexpected error into a JSON-RPC error that reveals nothing of the inside. */
async function guarded<Result>({ onError }: AgentServerOptions, handle: () => Promise<Result>): Promise<Result> {
  try {
    return await handle()
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    // mutant: mcp.tool-3
    onError(error)
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'internal_error: The request failed because of an internal error.')
  }
}
