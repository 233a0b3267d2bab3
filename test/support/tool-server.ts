/**
 * A real HTTP server that an agent's tools call, over real HTTP on port 0. It records every call. Without a rule, each path responds with
 * its name and the number of its calls.
 *
 *     const tools = await startToolServer()
 *     tools.when('/book', gate)                 // holds every answer of this path until the gate is opened
 *     tools.when('/book', { status: 500, body: 'out of order' })
 *     await tools.waitFor('/book', 1)           // resolves when that many calls of the path have arrived
 *     tools.callsOf('/book')                    // with key, headers and body
 */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Gate } from './model-server.ts'

export type ToolServerCall = {
  method: string
  /** As it was sent. */
  url: string
  /** Without the query. */
  path: string
  query: Record<string, string>
  headers: IncomingHttpHeaders
  body: string
  /** The value of the header that a call carries. */
  idempotencyKey: string
}

export type ToolServer = {
  baseUrl: string
  /** For `TURNKEEP_ALLOW_PRIVATE_HOSTS`. */
  address: string
  /** All calls until now, oldest first. */
  calls: ToolServerCall[]
  callsOf(path: string): ToolServerCall[]
  when(path: string, answer: Gate | { status?: number; body: string }): void
  waitFor(path: string, count: number): Promise<void>
  close(): Promise<void>
}

export async function startToolServer(): Promise<ToolServer> {
  const calls: ToolServerCall[] = []
  const rules = new Map<string, Gate | { status?: number; body: string }>()
  const waiting: { path: string; count: number; resolve: () => void }[] = []
  const callsOf = (path: string): ToolServerCall[] => calls.filter((call) => call.path === path)

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = await record(request)
    calls.push(call)
    const count = callsOf(call.path).length
    for (const waiter of waiting) if (waiter.path === call.path && count >= waiter.count) waiter.resolve()
    const rule = rules.get(call.path)
    if (rule && 'pass' in rule) await rule.pass()
    const { status = 200, body } = rule && 'body' in rule ? rule : { body: `${call.path} done, call ${count}` }
    response.writeHead(status, { 'content-type': 'text/plain' })
    response.end(body)
  }

  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    baseUrl: `http://${address}`,
    address,
    calls,
    callsOf,
    when: (path, rule) => void rules.set(path, rule),
    async waitFor(path, count) {
      if (callsOf(path).length < count) await new Promise<void>((resolve) => waiting.push({ path, count, resolve }))
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

async function record(request: IncomingMessage): Promise<ToolServerCall> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://tool')
  return {
    method: request.method ?? '',
    url: request.url ?? '',
    path: pathname,
    query: Object.fromEntries(searchParams),
    headers: request.headers,
    body: Buffer.concat(chunks).toString(),
    idempotencyKey: String(request.headers['idempotency-key']),
  }
}
