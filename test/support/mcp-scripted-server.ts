/**
 * A scripted MCP server over real HTTP on port 0, for what a correct server never does. By default it speaks the protocol with sessions; a
 * test can take over any method, down to the bytes.
 *
 *     const server = await startScriptedMcp({ tools: [tool('look')] })
 *     server.on('tools/call', (seen, response) => { response.writeHead(200, sse); response.write(event({ … })) })
 *     server.callsOf('tools/call')          // every POST with that method, with its headers, oldest first
 *     await server.until(() => …)           // until something has arrived, bounded
 *     await server.close()                  // ends every connection
 */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pass } from 'node:timers/promises'

export type Seen = { http: string; path: string; headers: IncomingHttpHeaders; rpc: string; id: unknown; params: any; message: any }
export type Handler = (seen: Seen, response: ServerResponse) => void | Promise<void>
export type ScriptedTool = { name: string; description?: string; inputSchema: object; annotations?: object }

export const sse = { 'content-type': 'text/event-stream' }
export const json = { 'content-type': 'application/json' }
export const event = (message: unknown): string => `event: message\ndata: ${JSON.stringify(message)}\n\n`
export const result = (id: unknown, value: unknown): object => ({ jsonrpc: '2.0', id, result: value })
export const said = (text: string): object => ({ content: [{ type: 'text', text }] })
export const tool = (name: string, more: Partial<ScriptedTool> = {}): ScriptedTool => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: { x: { type: 'string' } } },
  ...more,
})

export function answer(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { ...json, ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

const arrivesWithinMs = 30_000

export type ScriptedMcp = Awaited<ReturnType<typeof startScriptedMcp>>

export async function startScriptedMcp(options: { tools?: ScriptedTool[] } = {}) {
  const seen: Seen[] = []
  const handlers = new Map<string, Handler>()
  const sessions = new Set<string>()
  let tools = options.tools ?? [tool('look')]

  const defaults: Record<string, Handler> = {
    initialize(one, response) {
      const session = `session-${sessions.size + 1}-${crypto.randomUUID()}`
      sessions.add(session)
      const value = {
        protocolVersion: one.params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'scripted', version: '1' },
      }
      answer(response, 200, result(one.id, value), { 'mcp-session-id': session })
    },
    'tools/list': (one, response) => answer(response, 200, result(one.id, { tools })),
    'tools/call': (one, response) => answer(response, 200, result(one.id, said(`did ${one.params.name}`))),
  }

  const server = createServer(async (request, response) => {
    response.on('error', () => undefined)
    let text = ''
    for await (const bytes of request) text += String(bytes)
    const message = text === '' ? {} : JSON.parse(text)
    const one: Seen = {
      http: request.method!,
      path: request.url!,
      headers: request.headers,
      rpc: message.method ?? (message.error || message.result ? 'answer' : request.method!),
      id: message.id,
      params: message.params ?? {},
      message,
    }
    seen.push(one)
    const session = request.headers['mcp-session-id']
    const handler = handlers.get(one.rpc)
    if (handler) return handler(one, response)
    if (one.rpc === 'server/discover') return answer(response, 400, refused(one.id, 'Bad Request: Server not initialized'))
    if (session !== undefined && !sessions.has(String(session))) return answer(response, 404, refused(null, 'Session not found'))
    if (one.http === 'DELETE') return void response.writeHead(200).end()
    const usual = defaults[one.rpc]
    if (usual) return usual(one, response)
    response.writeHead(one.http === 'POST' ? 202 : 405).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    url: `http://127.0.0.1:${port}/mcp`,
    host: '127.0.0.1',
    port,
    seen,
    callsOf: (rpc: string): Seen[] => seen.filter((one) => one.rpc === rpc),
    /** Replaces what it does by default. */
    on: (rpc: string, handler: Handler): void => void handlers.set(rpc, handler),
    off: (rpc: string): void => void handlers.delete(rpc),
    offer: (now: ScriptedTool[]): void => void (tools = now),
    forgetSessions: (): void => sessions.clear(),
    async until(arrived: () => boolean): Promise<void> {
      const limit = Date.now() + arrivesWithinMs
      while (!arrived()) {
        if (Date.now() > limit) throw new Error(`waited in vain; seen: ${seen.map((one) => one.rpc).join(', ')}`)
        await pass(5)
      }
    },
    async close(): Promise<void> {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const refused = (id: unknown, message: string): object => ({ jsonrpc: '2.0', id, error: { code: -32000, message } })
