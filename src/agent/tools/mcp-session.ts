/**
 * One session with one MCP server: opens it, reads the server's tools and keeps their fingerprints, and makes calls. Passes the idempotency
 * key of each call to the transport, so that parallel calls each carry their own. A call is never sent twice, and the caller decides what
 * may be called.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import { withoutSecrets } from './redact.ts'
import { fingerprints, listTools } from './mcp-definitions.ts'
import type { OfferedList } from './mcp-definitions.ts'
import { oneLine, secretsIn, SessionForgotten } from './mcp-failure.ts'
import { createTransport } from './mcp-transport.ts'
import type { OneCall } from './mcp-transport.ts'
import { ToolServerError } from './tool-config.ts'

const { version }: { version: string } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))

export type ServerAddress = { url: string; headers: Record<string, string> }
export type CallInSession = {
  tool: string
  args: Record<string, unknown>
  idempotencyKey: string
  traceparent: string | null
  signal: AbortSignal
}

/** All methods except `close` reject with ToolServerError (or its subclass SessionForgotten), or with the reason of an aborted signal. */
export interface McpSession {
  list(signal: AbortSignal): Promise<OfferedList>
  /**
   * Returns the fingerprint of each tool by name, from a list requested at `since` (a `performance.now()` time) or later. Callers that this
   * list is recent enough for share it.
   */
  known(since: number): Promise<Map<string, string>>
  /** Returns the result as the server sent it. Rejects with SessionForgotten only if the server refused the call without processing it. */
  callTool(call: CallInSession): Promise<unknown>
  /** Ends the session and notifies the server. */
  close(): Promise<void>
}

export async function openSession(options: ServerAddress & { fetch: typeof globalThis.fetch; timeoutMs: number }): Promise<McpSession> {
  const { url, headers, timeoutMs } = options
  const library = await import('@ai-sdk/mcp')
  const calls = new AsyncLocalStorage<OneCall>()
  const client = await inOurWords(AbortSignal.timeout(timeoutMs), (signal) =>
    library.createMCPClient({
      transport: createTransport({ library, url, headers, fetch: options.fetch, calls }),
      clientName: 'turnkeep',
      version,
      initializationOptions: { signal },
      // The library must not retry either.
      maxRetries: 0,
    }),
  )
  let reading: { at: number; list: Promise<Map<string, string>> } | undefined

  return {
    list,
    known(since) {
      if (reading && reading.at >= since) return reading.list
      const started = { at: performance.now(), list: list(AbortSignal.timeout(timeoutMs)).then(fingerprints) }
      reading = started
      started.list.catch(() => {
        if (reading === started) reading = undefined
      })
      return started.list
    },
    async callTool({ tool, args, idempotencyKey, traceparent, signal }) {
      try {
        const result = await calls.run({ idempotencyKey, traceparent, sent: false }, () =>
          inOurWords(signal, () => client.callTool({ name: tool, arguments: args, options: { signal } })),
        )
        return result['answer']
      } catch (error) {
        // One refusal is not proof that the call was not processed. Before the caller may send it again, a harmless request has to be refused
        // as well.
        if (error instanceof SessionForgotten) await list(signal)
        throw error instanceof SessionForgotten ? new ToolServerError(error.message) : error
      }
    },
    close: () => client.close(),
  }

  function list(signal: AbortSignal): Promise<OfferedList> {
    return inOurWords(signal, () => listTools(client, signal))
  }

  async function inOurWords<T>(signal: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await ask(signal)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (error instanceof ToolServerError) throw error
      if (library.MCPClientError.isInstance(error) && error.cause instanceof ToolServerError) throw error.cause
      if (library.MCPClientError.isInstance(error))
        throw new ToolServerError(oneLine(withoutSecrets(error.message, secretsIn(headers))), { ownMessage: kindOf(error), cause: error })
      throw new ToolServerError('the server returned an unexpected response', { cause: error })
    }
  }
}

/** A server's own message may repeat the arguments of a call (`tools.private`). */
function kindOf({ statusCode, code }: { statusCode?: number | undefined; code?: number | undefined }): string {
  if (statusCode !== undefined) return `the server returned status ${statusCode}`
  return code === undefined ? 'the server returned an error' : `the server returned the error ${code}`
}
