/**
 * What the scripted server of hosted providers sends in each dialect, as data of events: OpenAI Responses, Anthropic Messages, Gemini.
 * Pure.
 */

export const hostedKinds = ['openai', 'anthropic', 'google'] as const
export type HostedKind = (typeof hostedKinds)[number]

/** As they are billed: `prompt` includes `cached`, and `completion` includes `reasoning`. */
export type Usage = { prompt: number; cached: number; completion: number; reasoning: number }
export const usage: Usage = { prompt: 1100, cached: 1000, completion: 57, reasoning: 50 }

/** `seal` is Gemini's thought signature, which is part of the call. An empty ID is omitted if the dialect allows it. */
export type ScriptedCall = { id: string; name: string; arguments: string; seal?: string }

export type Json = Record<string, unknown>
export type Dialect = {
  models: Json
  lastUserMessage(body: Record<string, any>): string
  error(message: string): Json[]
  stream(): Stream
}
type Stream = {
  begin(): Json[]
  text(text: string): Json[]
  /** `seal` must be sent back to the provider: encrypted reasoning or a signature. */
  reasoning(text: string, seal: string | undefined): Json[]
  toolCall(call: ScriptedCall): Json[]
  end(finish: 'stop' | 'length' | 'filtered', calls: number, billed: Usage | null): Json[]
}

const textOf = (content: any): string => (typeof content === 'string' ? content : content.map((part: any) => part.text ?? '').join(''))

export const dialects: Record<HostedKind, Dialect> = {
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
        reasoning(text, seal) {
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
              item: { ...added, encrypted_content: seal ?? null, summary: [{ type: 'summary_text', text }] },
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
        reasoning(text, seal = 'c2ln') {
          speaking = false
          return [
            ...block({ type: 'thinking', thinking: '', signature: '' }),
            { type: 'content_block_delta', index, delta: { type: 'thinking_delta', thinking: text } },
            { type: 'content_block_delta', index, delta: { type: 'signature_delta', signature: seal } },
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
              output_tokens_details: { thinking_tokens: billed?.reasoning ?? 0 },
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
        reasoning: (text, seal) => chunk([{ text, thought: true, thoughtSignature: seal }]),
        toolCall: ({ id, name, arguments: args, seal }) =>
          chunk([{ functionCall: { ...(id === '' ? {} : { id }), name, args: JSON.parse(args) }, thoughtSignature: seal }]),
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
