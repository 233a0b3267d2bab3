/**
 * What the sample agents call, on one local port: a scripted model server in the Chat Completions dialect, the HTTP tools, and an MCP server
 * (mcp.ts). The same request always gets the same answer. Stores nothing.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pass } from 'node:timers/promises'
import { answerMcp } from './mcp.ts'
import { findTopic, startOf, withNumber } from './texts.ts'
import type { Found } from './texts.ts'

export type ScriptedServer = {
  /** For example `http://127.0.0.1:43210`. The model is at `/v1`, MCP at `/mcp`. */
  url: string
  /** As `TURNKEEP_ALLOW_PRIVATE_HOSTS` takes it. */
  address: string
  port: number
  close(): Promise<void>
}

export type ScriptedServerOptions = {
  /** 0 or absent: any free port. */
  port?: number
  /** Called with the milliseconds that a model or a tool takes; resolves when they have passed. Absent: no wait. */
  think?: (milliseconds: number) => Promise<void> | undefined
}

type ChatMessage = { role: string; content: string | null }
type ChatRequest = { model?: string; messages?: ChatMessage[]; stream?: boolean }

/** Rejects with the listener's error where the port is in use. */
export async function startScriptedServer({ port = 0, think }: ScriptedServerOptions = {}): Promise<ScriptedServer> {
  const server = createServer((request, response) => {
    answer(request, response, think).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${address}`,
    address,
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(request: IncomingMessage, response: ServerResponse, think: ScriptedServerOptions['think']): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://localhost').pathname
  const body = await readJson(request)
  const [, number] = /^\/orders\/(\d+)$/.exec(path) ?? []
  if (path === '/v1/chat/completions') return answerChat(body as ChatRequest, response, think)
  if (path === '/v1/models') return sendJson(response, 200, { object: 'list', data: [{ id: 'gpt-5.4-mini', object: 'model' }] })
  if (path === '/mcp') {
    if (body['method'] === 'tools/call') await think?.(260)
    return answerMcp(request, body, response)
  }
  if (path === '/bookings' || number !== undefined) await think?.(path === '/bookings' ? 340 : 120 + (Number(number) % 7) * 35)
  if (path === '/bookings') return sendJson(response, 201, { booking: 'B-2207', room: 'net loft', from: '14:00', to: '16:00' })
  if (number !== undefined) return sendJson(response, 200, orderOf(Number(number)))
  if (path === '/hooks/orders') return void response.writeHead(204).end()
  if (path === '/hooks/crm') return sendJson(response, 500, { error: 'database is locked' })
  sendJson(response, 404, { error: { message: `no such path: ${path}` } })
}

function orderOf(number: number): object {
  const state = ['packed', 'sent', 'delivered'][number % 3]
  return { order: number, state, carrier: 'Bring', expected: 'Thursday' }
}

// Of the time that a reply takes, what passes before its first word, and how often its text pauses.
const firstShare = 0.4
const waitsInText = 12

async function answerChat(
  { model, messages = [] }: ChatRequest,
  response: ServerResponse,
  think: ScriptedServerOptions['think'],
): Promise<void> {
  const found = findTopic(messages.findLast(({ role }) => role === 'user')?.content ?? '')
  // A model that has a tool's result needs less time for the reply.
  const hasResult = messages.at(-1)?.role === 'tool' && found?.topic.trouble !== 'looping'
  const thinkMs = hasResult ? 450 : (found?.topic.thinkMs ?? 600)
  const trouble = found?.topic.trouble
  const firstMs = trouble ? thinkMs : Math.round(thinkMs * firstShare)
  await think?.(firstMs)
  if (trouble === 'silent') return waitForEnd(response)
  // A Retry-After above the longest wait of the server: the turn is released immediately, instead of after two retries.
  if (trouble === 'overloaded')
    return sendJson(response, 503, { error: { message: 'The model is overloaded. Try again in a minute.' } }, { 'retry-after': '60' })
  if (trouble === 'limited')
    return sendJson(response, 429, { error: { message: 'Rate limit reached: 60 requests per minute.' } }, { 'retry-after': '60' })
  if (trouble === 'unauthorized') return sendJson(response, 401, { error: { message: 'Incorrect API key provided.' } })
  if (trouble === 'refused') return sendJson(response, 400, { error: { message: 'This model does not support printing.' } })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (choices: object[], rest: object = {}): void =>
    void response.write(
      `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model, choices, ...rest })}\n\n`,
    )
  const call = hasResult ? undefined : toolCallOf(found)
  const isStalled = found?.topic.trouble === 'stalled'
  const text = call || trouble === 'empty' ? '' : isStalled ? startOf(found.topic.reply) : replyOf(found)
  if (call) send([{ index: 0, delta: { tool_calls: [{ index: 0, type: 'function', ...call }] }, finish_reason: null }])
  const pieces = text.match(/\S+\s*|\s+/g) ?? []
  // The rest of the time passes while the text arrives.
  const between = Math.ceil(pieces.length / waitsInText)
  for (const [index, piece] of pieces.entries()) {
    send([{ index: 0, delta: { content: piece }, finish_reason: null }])
    if (think === undefined || trouble || index % between > 0) continue
    // The reader gets the first words before the clock moves.
    if (index === 0) await pass(1)
    await think((thinkMs - firstMs) / waitsInText)
  }
  if (isStalled) return waitForEnd(response)
  send([{ index: 0, delta: {}, finish_reason: call ? 'tool_calls' : 'stop' }])
  send([], { usage: usageOf(messages, call ? JSON.stringify(call) : text) })
  response.end('data: [DONE]\n\n')
}

/** Until the caller cancels the turn, which disconnects from the model. */
const waitForEnd = async (response: ServerResponse): Promise<void> => void (await once(response, 'close'))

function toolCallOf(found: Found | undefined): object | undefined {
  const tool = found?.topic.tool
  return tool && { id: 'call_1', function: { name: tool.name, arguments: withNumber(tool.arguments, found.number) } }
}

const replyOf = (found: Found | undefined): string =>
  found
    ? withNumber(found.topic.reply, found.number)
    : 'I am a scripted model for development and know only the questions of the sample data.'

/** Four characters a token, as a rule of thumb for English has it. */
function usageOf(messages: ChatMessage[], written: string): object {
  const promptTokens = Math.ceil(messages.reduce((sum, { content }) => sum + (content?.length ?? 0), 0) / 4)
  const completionTokens = Math.max(1, Math.ceil(written.length / 4))
  return { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: promptTokens + completionTokens }
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return pieces.length === 0 ? {} : (JSON.parse(Buffer.concat(pieces).toString()) as Record<string, unknown>)
}

function sendJson(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}
