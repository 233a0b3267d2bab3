/**
 * A scripted server of the three hosted dialects over real HTTP on port 0: OpenAI Responses, Anthropic Messages, Gemini. One list of parts is
 * spoken in the dialect whose path is called. What aimock cannot do is done here: cuts, holds, errors inside the stream, broken events,
 * usage in every shape. Never uses time.
 *
 *     const server = await startProviderServer()
 *     server.script([{ reasoning: 'hm' }, 'Hel', 'lo'])                          // then a finish and usage, each dialect's own
 *     server.script(['Hel', cut('fin')], { status: 429, headers: { 'retry-after': '7' } })
 *     server.script([{ toolCall: { id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' } }])
 *     // without a script every call is answered with "You said: <last user message>", and every GET with two models, first and second
 */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Gate } from './model-server.ts'
import type { Cut } from './model-server.ts'

export const hostedKinds = ['openai', 'anthropic', 'google'] as const
export type HostedKind = (typeof hostedKinds)[number]

export type ProviderPart =
  | string
  | Gate
  | Cut
  | { reasoning: string }
  | { toolCall: { id: string; name: string; arguments: string } }
  /** An error object inside the stream, in the dialect's shape. */
  | { error: string }
  /** Any bytes. */
  | { raw: string }
  /** `null`: the stream ends in good order without any terminal event. */
  | { finish: 'stop' | 'length' | 'filtered' | null }
  | { usage: Usage | null }
  /** Nothing ends the body after the terminal event. */
  | { linger: true }
export type ProviderReply = ProviderPart[] | { status: number; headers?: Record<string, string>; body?: string | object; stream?: string }

/** As they are billed: `prompt` and `completion` hold `cached` and `reasoning`. */
export type Usage = { prompt: number; cached: number; completion: number; reasoning: number }
export const usage: Usage = { prompt: 1100, cached: 1000, completion: 57, reasoning: 50 }

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
    } else if ('reasoning' in part) await events(stream.reasoning(part.reasoning))
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

type Json = Record<string, unknown>
type Dialect = {
  models: Json
  lastUserMessage(body: Record<string, any>): string
  error(message: string): Json[]
  stream(): Stream
}
type Stream = {
  begin(): Json[]
  text(text: string): Json[]
  reasoning(text: string): Json[]
  toolCall(call: { id: string; name: string; arguments: string }): Json[]
  end(finish: 'stop' | 'length' | 'filtered', calls: number, billed: Usage | null): Json[]
}

const textOf = (content: any): string => (typeof content === 'string' ? content : content.map((part: any) => part.text ?? '').join(''))

const dialects: Record<HostedKind, Dialect> = {
  openai: {
    models: { object: 'list', data: [{ id: 'first' }, { id: 'second' }] },
    lastUserMessage: (body) => textOf(body['input'].findLast((item: any) => item.role === 'user').content),
    error: (message) => [
      { type: 'error', sequence_number: 9, error: { type: 'server_error', code: 'server_error', message, param: null } },
    ],
    stream() {
      let index = -1
      let open: string | undefined
      const response = { id: 'resp_1', object: 'response', created_at: 1_700_000_000, model: 'scripted', output: [], service_tier: null }
      const item = (id: string): Json => ({ item_id: id, output_index: index })
      const close = (): Json[] => {
        if (open === undefined) return []
        const done = { type: 'message', id: open, role: 'assistant', status: 'completed', content: [] }
        open = undefined
        return [{ type: 'response.output_item.done', output_index: index, item: done }]
      }
      return {
        begin: () => [
          { type: 'response.created', sequence_number: 0, response: { ...response, status: 'in_progress' } },
          { type: 'response.in_progress', sequence_number: 1, response: { ...response, status: 'in_progress' } },
        ],
        text(text) {
          const first = open === undefined
          if (first) open = `msg_${++index}`
          return [
            ...(first
              ? [
                  {
                    type: 'response.output_item.added',
                    output_index: index,
                    item: { type: 'message', id: open, role: 'assistant', status: 'in_progress', content: [] },
                  },
                ]
              : []),
            { type: 'response.output_text.delta', ...item(open!), content_index: 0, delta: text, logprobs: [] },
          ]
        },
        reasoning(text) {
          const before = close()
          const id = `rs_${++index}`
          const added = { type: 'reasoning', id, summary: [], encrypted_content: null }
          return [
            ...before,
            { type: 'response.output_item.added', output_index: index, item: added },
            { type: 'response.reasoning_summary_part.added', ...item(id), summary_index: 0, part: { type: 'summary_text', text: '' } },
            { type: 'response.reasoning_summary_text.delta', ...item(id), summary_index: 0, delta: text },
            { type: 'response.reasoning_summary_part.done', ...item(id), summary_index: 0, part: { type: 'summary_text', text } },
            {
              type: 'response.output_item.done',
              output_index: index,
              item: { ...added, summary: [{ type: 'summary_text', text }] },
            },
          ]
        },
        toolCall({ id, name, arguments: args }) {
          const before = close()
          const call = { type: 'function_call', id: `fc_${++index}`, call_id: id, name, status: 'in_progress' }
          const half = Math.ceil(args.length / 2)
          return [
            ...before,
            { type: 'response.output_item.added', output_index: index, item: { ...call, arguments: '' } },
            { type: 'response.function_call_arguments.delta', ...item(call.id), delta: args.slice(0, half) },
            { type: 'response.function_call_arguments.delta', ...item(call.id), delta: args.slice(half) },
            { type: 'response.function_call_arguments.done', ...item(call.id), arguments: args },
            { type: 'response.output_item.done', output_index: index, item: { ...call, status: 'completed', arguments: args } },
          ]
        },
        end: (finish, _calls, billed) => [
          ...close(),
          {
            type: finish === 'stop' ? 'response.completed' : 'response.incomplete',
            sequence_number: 99,
            response: {
              ...response,
              status: finish === 'stop' ? 'completed' : 'incomplete',
              incomplete_details: finish === 'stop' ? null : { reason: finish === 'length' ? 'max_output_tokens' : 'content_filter' },
              usage: billed && {
                input_tokens: billed.prompt,
                input_tokens_details: { cached_tokens: billed.cached },
                output_tokens: billed.completion,
                output_tokens_details: { reasoning_tokens: billed.reasoning },
                total_tokens: billed.prompt + billed.completion,
              },
            },
          },
        ],
      }
    },
  },

  anthropic: {
    models: {
      data: [
        { type: 'model', id: 'first' },
        { type: 'model', id: 'second' },
      ],
      has_more: false,
    },
    lastUserMessage: (body) => textOf(body['messages'].at(-1).content),
    error: (message) => [{ type: 'error', error: { type: 'overloaded_error', message } }],
    stream() {
      let index = -1
      let open = false
      const close = (): Json[] => {
        if (!open) return []
        open = false
        return [{ type: 'content_block_stop', index }]
      }
      const block = (content_block: Json): Json[] => {
        const before = close()
        open = true
        return [...before, { type: 'content_block_start', index: ++index, content_block }]
      }
      let speaking = false
      return {
        begin: () => [
          {
            type: 'message_start',
            message: {
              id: 'msg_1',
              type: 'message',
              role: 'assistant',
              model: 'scripted',
              content: [],
              stop_reason: null,
              stop_sequence: null,
              usage: { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 1 },
            },
          },
          { type: 'ping' },
        ],
        text(text) {
          const start = speaking ? [] : block({ type: 'text', text: '' })
          speaking = true
          return [...start, { type: 'content_block_delta', index, delta: { type: 'text_delta', text } }]
        },
        reasoning(text) {
          speaking = false
          return [
            ...block({ type: 'thinking', thinking: '', signature: '' }),
            { type: 'content_block_delta', index, delta: { type: 'thinking_delta', thinking: text } },
            { type: 'content_block_delta', index, delta: { type: 'signature_delta', signature: 'c2ln' } },
          ]
        },
        toolCall({ id, name, arguments: args }) {
          speaking = false
          const half = Math.ceil(args.length / 2)
          return [
            ...block({ type: 'tool_use', id, name, input: {} }),
            { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: args.slice(0, half) } },
            { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: args.slice(half) } },
          ]
        },
        end: (finish, calls, billed) => [
          ...close(),
          {
            type: 'message_delta',
            delta: {
              stop_reason: finish === 'length' ? 'max_tokens' : finish === 'filtered' ? 'refusal' : calls > 0 ? 'tool_use' : 'end_turn',
              stop_sequence: null,
            },
            usage: {
              input_tokens: billed ? billed.prompt - billed.cached : 0,
              cache_read_input_tokens: billed?.cached ?? 0,
              output_tokens: billed?.completion ?? 0,
            },
          },
          { type: 'message_stop' },
        ],
      }
    },
  },

  google: {
    models: { models: [{ name: 'models/first' }, { name: 'models/second' }] },
    lastUserMessage: (body) => textOf(body['contents'].at(-1).parts),
    error: (message) => [{ error: { code: 503, message, status: 'UNAVAILABLE' } }],
    stream() {
      const chunk = (parts: Json[], rest: Json = {}): Json[] => [{ candidates: [{ content: { role: 'model', parts }, index: 0, ...rest }] }]
      return {
        begin: () => [],
        text: (text) => chunk([{ text }]),
        reasoning: (text) => chunk([{ text, thought: true }]),
        toolCall: ({ id, name, arguments: args }) => chunk([{ functionCall: { id, name, args: JSON.parse(args) } }]),
        end: (finish, _calls, billed) => [
          {
            candidates: [
              {
                content: { role: 'model', parts: [] },
                finishReason: finish === 'length' ? 'MAX_TOKENS' : finish === 'filtered' ? 'SAFETY' : 'STOP',
                index: 0,
              },
            ],
          },
          ...(billed
            ? [
                {
                  usageMetadata: {
                    promptTokenCount: billed.prompt,
                    cachedContentTokenCount: billed.cached,
                    candidatesTokenCount: billed.completion - billed.reasoning,
                    thoughtsTokenCount: billed.reasoning,
                    totalTokenCount: billed.prompt + billed.completion,
                  },
                },
              ]
            : []),
        ],
      }
    },
  },
}
