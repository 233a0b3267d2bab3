/**
 * A scripted model server for tests: the OpenAI Chat Completions dialect over real HTTP on port 0. A test controls everything: pieces,
 * holds, cuts, faults, usage. It never uses time: a hold ends when the test opens its gate.
 *
 *     const server = await startModelServer()
 *     // without a script every call is answered with "You said: <last user message>" and usage
 *
 *     server.script('Hello there.', { status: 503, headers: { 'retry-after': '1' } })   // the next two calls, in order
 *     server.when('weather', ['It ', 'rains.'])                                         // every call whose last user message holds the word
 *     server.when((call) => call.messages.length > 4, (call) => `message ${call.messages.length}`)
 *
 *     const held = gate()                                          // a reply is a list of parts, each one piece of the stream:
 *     server.script(['Hel', held, 'lo'])                           //   text, hold until held.open(), text, then finish, usage, [DONE]
 *     server.script(['Hel', held, cut('rst')])                     //   text, hold, connection reset
 *     server.script([{ reasoning: 'hm' }, 'Hi', { usage: null }])  //   reasoning, text, no usage
 *     server.script([{ toolCall: { id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' } }])
 *     server.script([{ event: { error: { message: 'overloaded' } } }], [{ raw: 'data: {"garb' }, cut('end')])
 *     server.script({ parts: ['Grüße'], bytesEach: 1 }, { json: { choices: [] } })
 *
 *     const call = await server.nextCall()     // resolves when the next call has arrived, with its body, headers and messages
 *     await held.reached                       // resolves when a reply has come to the gate and everything before it was written
 *     await call.ended                         // 'answered', 'cut' by the script, or 'aborted' by the caller
 *     await server.waitForCalls(3)             // resolves when three calls have arrived in all; server.calls has them
 *     await server.close()                     // ends every connection, held replies too
 *
 * Rules of `when` come before the queue of `script`, the newest rule first; the queue before the echo.
 */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ModelServer = {
  /** The base URL of a provider; ends in `/v1`. */
  baseUrl: string
  /** All calls until now, oldest first. */
  calls: RecordedCall[]
  /** Responds to the next calls, one reply each, in order. */
  script(...replies: Script[]): void
  /** Responds to every call whose last user message contains the text or matches the expression, or for which the function returns true. */
  when(match: string | RegExp | ((call: RecordedCall) => boolean), reply: Script): void
  /** Resolves with all calls when at least `count` have arrived since the start. */
  waitForCalls(count: number): Promise<RecordedCall[]>
  /** Resolves with the next call from now on. */
  nextCall(): Promise<RecordedCall>
  close(): Promise<void>
}

export type RecordedCall = {
  path: string
  /** Identifies the caller's connection. */
  callerPort: number
  headers: IncomingHttpHeaders
  /** The complete request body, parsed. */
  body: Record<string, unknown>
  /** From the body. */
  messages: RecordedMessage[]
  /** The content of the last message with the role `user`; empty if there is none. */
  lastUserMessage: string
  ended: Promise<'answered' | 'cut' | 'aborted'>
}
export type RecordedMessage = { role: string; content: string | null; tool_calls?: unknown; tool_call_id?: string }

/** A reply, or a function that makes one from the call. */
export type Script = Reply | ((call: RecordedCall) => Reply)

export type Reply =
  /** One piece of text. */
  | string
  | Part[]
  /** `bytesEach` sends the stream in pieces of this many bytes, each as a separate HTTP chunk. */
  | { parts: Part[]; bytesEach?: number; headers?: Record<string, string> }
  /** A status; a body that is an object is sent as JSON. */
  | { status: number; headers?: Record<string, string>; body?: string | object }
  /** A server that ignores `stream: true`: `completion()` makes the usual object. */
  | { json: unknown; headers?: Record<string, string> }

/**
 * One piece of a stream. After the last part a finish (`stop`, or `tool_calls` after a tool call), usage and `[DONE]` follow, unless a part
 * was one of them: `{ finish }`, `{ usage }`, `{ done: true }`; nothing follows a cut. `null` leaves it out.
 */
export type Part =
  | string
  | Gate
  | Cut
  | { reasoning: string }
  /** A delta of a tool call; if an ID is given, `index` is counted automatically. */
  | { toolCall: { index?: number; id?: string; name?: string; arguments?: string } }
  /** Any JSON as the data of one event. */
  | { event: unknown }
  /** Any bytes. */
  | { raw: string | Buffer }
  | { finish: string | null }
  | { usage: unknown }
  | { done: boolean }

/** Holds a reply until the test opens it; may hold several replies at once. */
export class Gate {
  readonly #opened = Promise.withResolvers<void>()
  readonly #reached = Promise.withResolvers<void>()

  /** Resolves when the first reply has reached it. */
  get reached(): Promise<void> {
    return this.#reached.promise
  }

  open(): void {
    this.#opened.resolve()
  }

  async pass(): Promise<void> {
    this.#reached.resolve()
    await this.#opened.promise
  }
}
export const gate = (): Gate => new Gate()

/** `end`: the body ends regularly, but too early · `fin`: the connection is closed within the body · `rst`: it is reset. */
export type Cut = { cut: 'end' | 'fin' | 'rst' }
export const cut = (how: Cut['cut']): Cut => ({ cut: how })

/** The default usage of a reply: a quarter of the prompt's characters, and one token per piece. */
function usageOf(call: RecordedCall, pieces: number): { prompt_tokens: number; completion_tokens: number; total_tokens: number } {
  const characters = call.messages.reduce((total, { content }) => total + (content?.length ?? 0), 0)
  const promptTokens = Math.max(1, Math.ceil(characters / 4))
  return { prompt_tokens: promptTokens, completion_tokens: pieces, total_tokens: promptTokens + pieces }
}

/** A complete response, as sent by servers that do not stream. */
export function completion(message: object, rest: { finish_reason?: string | null; usage?: unknown } = {}): object {
  const { finish_reason = 'stop', usage } = rest
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
    usage,
  }
}

export async function startModelServer(): Promise<ModelServer> {
  const calls: RecordedCall[] = []
  const queue: Script[] = []
  const rules: { matches: (call: RecordedCall) => boolean; reply: Script }[] = []
  const waiting: { count: number; resolve: () => void }[] = []

  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const ended = Promise.withResolvers<'answered' | 'cut' | 'aborted'>()
    const call = await record(request, ended.promise)
    let wasCut = false
    response.on('close', () => ended.resolve(wasCut ? 'cut' : response.writableFinished ? 'answered' : 'aborted'))
    calls.push(call)
    for (const waiter of waiting) if (calls.length >= waiter.count) waiter.resolve()
    const script = rules.find(({ matches }) => matches(call))?.reply ?? queue.shift() ?? `You said: ${call.lastUserMessage}`
    const reply = typeof script === 'function' ? script(call) : script
    await send(response, call, reply, () => (wasCut = true))
  }

  async function waitForCalls(count: number): Promise<RecordedCall[]> {
    if (calls.length < count) await new Promise<void>((resolve) => waiting.push({ count, resolve }))
    return calls
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    calls,
    script: (...replies) => void queue.push(...replies),
    when: (match, reply) => void rules.unshift({ matches: matcher(match), reply }),
    waitForCalls,
    async nextCall() {
      const index = calls.length
      return (await waitForCalls(index + 1))[index]!
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

function matcher(match: string | RegExp | ((call: RecordedCall) => boolean)): (call: RecordedCall) => boolean {
  if (typeof match === 'function') return match
  return ({ lastUserMessage }) => (typeof match === 'string' ? lastUserMessage.includes(match) : match.test(lastUserMessage))
}

async function record(request: IncomingMessage, ended: RecordedCall['ended']): Promise<RecordedCall> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>
  const messages = (body.messages ?? []) as RecordedMessage[]
  const lastUserMessage = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  return {
    path: request.url ?? '',
    callerPort: request.socket.remotePort ?? 0,
    headers: request.headers,
    body,
    messages,
    lastUserMessage,
    ended,
  }
}

async function send(response: ServerResponse, call: RecordedCall, reply: Reply, onCut: () => void): Promise<void> {
  if (typeof reply === 'string') return send(response, call, [reply], onCut)
  if (Array.isArray(reply)) return stream(response, call, { parts: reply }, onCut)
  if ('parts' in reply) return stream(response, call, reply, onCut)
  const { headers, status, body } = 'json' in reply ? { ...reply, status: 200, body: reply.json } : reply
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? { error: { message: `scripted ${status}` } })
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(text)
}

type StreamReply = { parts: Part[]; bytesEach?: number; headers?: Record<string, string> }

async function stream(
  response: ServerResponse,
  call: RecordedCall,
  { parts, bytesEach, headers }: StreamReply,
  onCut: () => void,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...headers })
  response.flushHeaders()
  const write = async (bytes: string | Buffer): Promise<void> => {
    const buffer = Buffer.from(bytes as string)
    const each = bytesEach ?? Math.max(buffer.length, 1)
    for (let at = 0; at < buffer.length; at += each) {
      if (response.destroyed) return
      await new Promise<void>((resolve) => response.write(buffer.subarray(at, at + each), () => resolve()))
    }
  }
  const event = (data: unknown): Promise<void> => write(`data: ${JSON.stringify(data)}\n\n`)
  const chunk = (choices: object[], rest: object = {}): Promise<void> =>
    event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: call.body.model, choices, ...rest })
  const delta = (fields: object, finish: string | null = null): Promise<void> => chunk([{ index: 0, delta: fields, finish_reason: finish }])

  let pieces = 0
  let nextToolCall = 0
  let finish: string | null = 'stop'
  let usage: unknown
  let done = true
  for (const part of parts) {
    if (typeof part === 'string') {
      pieces++
      await delta({ content: part })
    } else if (part instanceof Gate) {
      await part.pass()
    } else if ('cut' in part) {
      onCut()
      if (part.cut === 'end') response.end()
      else if (part.cut === 'fin') response.socket?.end()
      else response.socket?.resetAndDestroy()
      return
    } else if ('reasoning' in part) await delta({ reasoning: part.reasoning, reasoning_content: part.reasoning })
    else if ('toolCall' in part) {
      const { index, id, name, arguments: args } = part.toolCall
      if (id !== undefined) nextToolCall++
      finish = 'tool_calls'
      await delta({ tool_calls: [{ index: index ?? nextToolCall - 1, id, type: 'function', function: { name, arguments: args } }] })
    } else if ('event' in part) await event(part.event)
    else if ('raw' in part) await write(part.raw)
    else if ('finish' in part) finish = part.finish
    else if ('usage' in part) usage = part.usage
    else done = part.done
  }
  if (finish !== null) await delta({}, finish)
  if (usage !== null) await chunk([], { usage: usage ?? usageOf(call, pieces) })
  if (done) await write('data: [DONE]\n\n')
  response.end()
}
