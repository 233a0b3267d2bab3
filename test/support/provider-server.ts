/**
 * A scripted server of the three hosted dialects over real HTTP on port 0: OpenAI Responses, Anthropic Messages, Gemini. A list of parts is
 * sent in the dialect whose path is called. It does what aimock cannot do: cuts, holds, errors within a stream, invalid events, usage in
 * every form. It never uses time.
 *
 *     const server = await startProviderServer()
 *     server.script([{ reasoning: 'hm' }, 'Hel', 'lo'])                          // then a finish and usage, each dialect's own
 *     server.script(['Hel', cut('fin')], { status: 429, headers: { 'retry-after': '7' } })
 *     server.script([{ toolCall: { id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' } }])
 *     server.script([{ reasoning: 'hm', seal: 'b64' }, …])                       // with what the provider wants back in the next round
 *     // without a script every call is answered with "You said: <last user message>", and every GET with two models, first and second
 */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Gate } from './model-server.ts'
import type { Cut } from './model-server.ts'
import { dialects, hostedKinds, usage } from './provider-dialects.ts'
import type { Dialect, HostedKind, Json, ScriptedCall, Usage } from './provider-dialects.ts'

export type ProviderPart =
  | string
  | Gate
  | Cut
  | { reasoning: string; seal?: string }
  | { toolCall: ScriptedCall }
  /** An error object within the stream, in the form of the dialect. */
  | { error: string }
  /** Any bytes. */
  | { raw: string }
  /** `null`: the stream ends regularly without a terminal event. */
  | { finish: 'stop' | 'length' | 'filtered' | null }
  | { usage: Usage | null }
  /** The body does not end after the terminal event. */
  | { linger: true }
export type ProviderReply = ProviderPart[] | { status: number; headers?: Record<string, string>; body?: string | object; stream?: string }

export type ProviderCall = { path: string; headers: IncomingHttpHeaders; body: Record<string, any>; ended: Promise<'answered' | 'aborted'> }

export type ProviderServer = {
  baseUrl(kind: HostedKind): string
  calls: ProviderCall[]
  script(...replies: ProviderReply[]): void
  nextCall(): Promise<ProviderCall>
  close(): Promise<void>
}

export async function startProviderServer(): Promise<ProviderServer> {
  const calls: ProviderCall[] = []
  const queue: ProviderReply[] = []
  const waiting: { index: number; resolve: (call: ProviderCall) => void }[] = []

  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece))
    request.on('end', () => {
      const ended = Promise.withResolvers<'answered' | 'aborted'>()
      response.on('close', () => ended.resolve(response.writableFinished ? 'answered' : 'aborted'))
      const listing = request.method === 'GET'
      const call = { path: request.url ?? '', headers: request.headers, body: listing ? {} : JSON.parse(text), ended: ended.promise }
      calls.push(call)
      for (const waiter of waiting) if (waiter.index < calls.length) waiter.resolve(calls[waiter.index]!)
      const dialect = dialects[hostedKinds.find((kind) => call.path.startsWith(`/${kind}/`)) ?? 'openai']
      if (listing) return void response.end(JSON.stringify(dialect.models))
      const reply = queue.shift() ?? [`You said: ${dialect.lastUserMessage(call.body)}`]
      answer(response, dialect, reply).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: (kind) => `http://127.0.0.1:${port}/${kind}/v1`,
    calls,
    script: (...replies) => void queue.push(...replies),
    nextCall: () => new Promise((resolve) => waiting.push({ index: calls.length, resolve })),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(response: ServerResponse, dialect: Dialect, reply: ProviderReply): Promise<void> {
  if (!Array.isArray(reply)) {
    const { status, headers, body, stream } = reply
    response.writeHead(status, { 'content-type': stream === undefined ? 'application/json' : 'text/event-stream', ...headers })
    response.end(stream ?? (typeof body === 'string' ? body : JSON.stringify(body ?? { error: { message: `scripted ${status}` } })))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  const write = (text: string): Promise<void> => new Promise((resolve) => response.write(text, () => resolve()))
  const events = (list: Json[]): Promise<void> =>
    write(list.map((data) => `${'type' in data ? `event: ${data['type']}\n` : ''}data: ${JSON.stringify(data)}\n\n`).join(''))

  const stream = dialect.stream()
  let finish: 'stop' | 'length' | 'filtered' | null = 'stop'
  let billed: Usage | null = usage
  let calls = 0
  let linger = false
  await events(stream.begin())
  for (const part of reply) {
    if (typeof part === 'string') await events(stream.text(part))
    else if (part instanceof Gate) await part.pass()
    else if ('cut' in part) {
      if (part.cut === 'end') response.end()
      else if (part.cut === 'fin') response.socket?.end()
      else response.socket?.resetAndDestroy()
      return
    } else if ('reasoning' in part) await events(stream.reasoning(part.reasoning, part.seal))
    else if ('toolCall' in part) {
      calls++
      await events(stream.toolCall(part.toolCall))
    } else if ('error' in part) await events(dialect.error(part.error))
    else if ('raw' in part) await write(part.raw)
    else if ('finish' in part) finish = part.finish
    else if ('usage' in part) billed = part.usage
    else linger = true
  }
  if (finish !== null) await events(stream.end(finish, calls, billed))
  if (!linger) response.end()
}
