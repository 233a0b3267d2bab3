/**
 * A real HTTP server with scripted responses, one for each request in order and the last one for all that follow: anything that a service,
 * a proxy or a broken connection can do. `await using server = await startScriptedServer(…)`.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Turnkeep } from '../src/client.ts'
import type { TurnkeepOptions } from '../src/client.ts'

export type Script = (response: ServerResponse, request: IncomingMessage) => unknown
export type Arrived = {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
  port: number
  closed: Promise<void>
}

export const secret = 'svc_live_aaaaaaaaaaaaaaaa.never-shown'

export class ScriptedServer {
  readonly requests: Arrived[] = []
  readonly url: string
  readonly #close: () => Promise<void>

  constructor(url: string, close: () => Promise<void>) {
    this.url = url
    this.#close = close
  }

  /** Method, path below the agent and Last-Event-ID of each request. */
  get asked(): string[] {
    return this.requests.map(({ method, url, headers }) =>
      [method, url.replace('/v1/agents/agt_1', ''), headers['last-event-id']].filter((part) => part !== undefined).join(' '),
    )
  }

  get keys(): (string | undefined)[] {
    return this.requests.map(({ headers }) => headers['idempotency-key']?.toString())
  }

  client(options: Partial<TurnkeepOptions> = {}): Turnkeep {
    return new Turnkeep({ baseURL: this.url, agentId: 'agt_1', apiKey: secret, ...options })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close()
  }
}

export async function startScriptedServer(...scripts: Script[]): Promise<ScriptedServer> {
  const http = createServer()
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  const server = new ScriptedServer(`http://127.0.0.1:${port}`, async () => {
    http.closeAllConnections()
    await new Promise((resolve) => http.close(resolve))
  })
  http.on('request', async (request: IncomingMessage, response: ServerResponse) => {
    const closed = new Promise<void>((resolve) => response.once('close', resolve))
    const { method = '', url = '', headers, socket } = request
    const arrived = { method, url, headers, port: socket.remotePort ?? 0, closed }
    const script = scripts[Math.min(server.requests.length, scripts.length - 1)]
    server.requests.push({ ...arrived, body: await text(request) })
    await script?.(response, request)
  })
  return server
}

export const requestId = '01a1fe73-16c6-7702-915f-b08d4a8d9af0'
const created = { request_id: requestId, conversation_id: 'conv_1' }

export const wireReply = (content = 'Hello.') => ({
  ...created,
  message: { id: 'msg_1', role: 'assistant', content, created_at: '2026-11-21T14:11:58.332Z' },
  usage: { prompt_tokens: 604, completion_tokens: 226, total_tokens: 830, charged_usd: '0.00022620' },
})

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Script =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

export const replied = (content?: string, headers?: Record<string, string>): Script => json(200, wireReply(content), headers)

export const refused = (status: number, code: string, headers?: Record<string, string>): Script =>
  json(status, { error: { code, message: 'In words.', request_id: requestId } }, headers)

/** A hundredth of a second, so that a test does not wait; the service sends whole seconds. */
export const soon = { 'retry-after': '0.01' }

/** Larger than what is buffered, so that a connection is only reused if the body is read. */
const page = '<h1>Bad gateway</h1>'.padEnd(300_000)
export const html =
  (status: number, headers: Record<string, string> = {}): Script =>
  (response) =>
    response.writeHead(status, { 'content-type': 'text/html', ...headers }).end(page)

/** No response: the connection is reset. */
export const reset: Script = (response) => response.socket?.resetAndDestroy()

/** Never responds. */
export const silence: Script = () => undefined

type EventPart = string | { error: string } | 'reset' | { completed: string } | { raw: string }
const block = (name: string, data: unknown, id?: string): string =>
  `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`

/** `at`: the length of the text before the part, for its ID. Undefined: a server that sends none. */
function write(part: EventPart, at: number | undefined): string {
  const id = at === undefined ? undefined : `at-${at}`
  if (part === 'reset') return block('response.output_text.reset', {}, id)
  if (typeof part === 'string')
    return block('response.output_text.delta', { delta: part }, at === undefined ? id : `at-${at + part.length}`)
  if ('raw' in part) return part.raw
  if ('completed' in part) return block('response.completed', wireReply(part.completed), id && 'end')
  return block('error', { code: part.error, message: 'In words.', request_id: requestId }, id && 'end')
}

type Then = 'end' | 'reset' | 'silence'
async function writeStream(response: ServerResponse, parts: EventPart[], then: Then, from?: number): Promise<void> {
  let at = from
  for (const part of parts) {
    await new Promise((resolve) => response.write(write(part, at), resolve))
    if (at === undefined) continue
    if (part === 'reset') at = 0
    else if (typeof part === 'string') at += part.length
  }
  if (then === 'end') response.end()
  if (then === 'reset') response.socket?.resetAndDestroy()
}

/**
 * A stream of a server without event IDs: `response.created`, these parts (a text is a delta, except 'reset'), and then the end, a reset of
 * the connection, or nothing.
 */
export const streamed =
  (parts: EventPart[], then: Then = 'end'): Script =>
  async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(block('response.created', created))
    await writeStream(response, parts, then)
  }

/** The same with event IDs: `at-5` after five characters of text, `end` for the last event. */
export const streamedWithIds =
  (parts: EventPart[], then: Then = 'end'): Script =>
  async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(block('response.created', created, 'at-0'))
    await writeStream(response, parts, then, 0)
  }

/** The rest of a stream, after `from` characters of its text: without `response.created`. */
export const continued =
  (from: number, parts: EventPart[], then: Then = 'end'): Script =>
  async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    await writeStream(response, parts, then, from)
  }

/** A status without a body. */
export const empty =
  (status: number): Script =>
  (response) =>
    response.writeHead(status).end()
