/** Unmodified MCP clients of the official SDK, connected to the agent of a running service. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

export type Result = {
  content: { type: string; text: string }[]
  structuredContent?: Record<string, any>
  isError?: boolean
  _meta?: Record<string, any>
}

export type McpClient = {
  client: Client
  /** Calls the tool of the test agent. `onProgress` makes the client send a progress token. */
  call(args: Record<string, unknown>, options?: CallOptions): Promise<Result>
  [Symbol.asyncDispose](): Promise<void>
}

/** The name of the tool of the agent that the tests use. */
export const tool = 'test-agent'

export type CallOptions = {
  onProgress?: (progress: { progress: number; message?: string }) => void
  signal?: AbortSignal
  timeout?: number
  meta?: Record<string, unknown>
}

/** What a result says about its error, for programs. */
export const errorOf = ({ _meta: meta }: Result): Record<string, any> => meta!['turnkeep/error']

type Server = { url: string; caller?: { apiKey: string } }

/** `server` without a caller is a test layer, whose key is `good`. */
export async function connect(server: Server, apiKey = server.caller?.apiKey ?? 'good'): Promise<McpClient> {
  const headers = { authorization: `Bearer ${apiKey}` }
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } })
  return connectOver(transport)
}

/** One JSON-RPC request without a client. */
export function post(server: { url: string }, apiKey: string, method: string, params: object = {}, headers = {}): Promise<Response> {
  return fetch(`${server.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
}

export async function connectOver(transport: unknown): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  // The types of the transports do not fit those of the client under exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<Client['connect']>[0])
  return {
    client,
    async call(args, { onProgress, signal, timeout, meta } = {}) {
      const options = {
        ...(onProgress ? { onprogress: onProgress, resetTimeoutOnProgress: true } : {}),
        ...(signal ? { signal } : {}),
        ...(timeout === undefined ? {} : { timeout }),
      }
      const given = { name: tool, arguments: args, ...(meta ? { _meta: meta } : {}) }
      return (await client.callTool(given, undefined, options as object)) as Result
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}
