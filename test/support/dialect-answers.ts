/**
 * One answer in the four dialects of model servers, as events of a stream and as one JSON value, and the readers without HTTP: what they make
 * of any bytes.
 */
import { AnthropicAnswer } from '../../src/agent/models/apis/anthropic-answer.ts'
import { ChatAnswer } from '../../src/agent/models/apis/chat-answer.ts'
import type { AnswerOptions } from '../../src/agent/models/apis/collected-answer.ts'
import { GeminiAnswer } from '../../src/agent/models/apis/gemini-answer.ts'
import { ResponsesAnswer } from '../../src/agent/models/apis/responses-answer.ts'
import type { ModelStep } from '../../src/agent/models/model.ts'
import { namedTools } from '../../src/agent/models/named-tools.ts'
import { parseExact as parsed } from '../../src/agent/exact-json.ts'
import { AnswerBody } from '../../src/agent/models/transport/answer-body.ts'

export const answerKinds = ['openai-compatible', 'openai', 'anthropic', 'google'] as const
export type AnswerKind = (typeof answerKinds)[number]
type Json = Record<string, any>

export type Said = {
  text?: string[]
  reasoning?: string
  refusal?: string
  call?: { name: string; arguments: string }
  finish?: 'stop' | 'length' | 'filtered'
  usage?: { prompt: number; completion: number } | null
}

const weather = { name: 'get_weather', description: '', parameters: { type: 'object', properties: {} } }

const readers = {
  'openai-compatible': (options: AnswerOptions) => new ChatAnswer(options),
  openai: (options: AnswerOptions) => new ResponsesAnswer(options),
  anthropic: (options: AnswerOptions) => new AnthropicAnswer(options),
  google: (options: AnswerOptions) => new GeminiAnswer(options),
}

export type Read = ModelStep & { shown: string; resets: number }

/** What the readers make of a body that arrives in these pieces. Throws the ModelError of an invalid answer. */
export function readBody(kind: AnswerKind, pieces: (string | Buffer)[], { mediaType = 'text/event-stream', holds = false } = {}): Read {
  const read = { shown: '', resets: 0 }
  const request = { maxOutputTokens: 1000, tools: [weather] }
  const onText = (text: string): void => void (read.shown += text)
  const onReset = (): void => {
    read.shown = ''
    read.resets++
  }
  const reader = readers[kind]({ onText, onReset, secret: '', request, holds })
  const body = new AnswerBody(reader, request.maxOutputTokens)
  body.begin(mediaType)
  for (const piece of pieces) if (body.take(Buffer.from(piece)) === 'done') return { ...reader.step(), ...read, shown: read.shown }
  body.end()
  const step = reader.step()
  return { ...step, ...read }
}

/** The same with the tool calls as the loop gets them. */
export async function readCalls(kind: AnswerKind, body: string): Promise<Read> {
  const generate = async (): Promise<ModelStep> => readBody(kind, [body])
  const request = { modelId: 'm', messages: [], tools: [weather], maxOutputTokens: 1000, temperature: null, passages: [] }
  const call = { signal: new AbortController().signal, onText: () => undefined }
  return (await namedTools({ generate }).generate(request, call)) as Read
}

export const inEvents = (events: (Json | string)[]): string =>
  events
    .map((event) =>
      typeof event === 'string'
        ? event
        : `${typeof event['type'] === 'string' ? `event: ${event['type']}\n` : ''}data: ${JSON.stringify(event)}\n\n`,
    )
    .join('')

export const streamOf = (kind: AnswerKind, said: Said): Json[] => dialects[kind].events(said)
export const wholeOf = (kind: AnswerKind, said: Said): Json => dialects[kind].whole(said)
/** The stream with its end mark, as bytes. */
export const bodyOf = (kind: AnswerKind, events: Json[]): string =>
  inEvents(events) + (kind === 'openai-compatible' ? 'data: [DONE]\n\n' : '')

const chatUsage = ({ prompt, completion }: { prompt: number; completion: number }): Json => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
})
const responsesUsage = ({ prompt, completion }: { prompt: number; completion: number }): Json => ({
  input_tokens: prompt,
  output_tokens: completion,
  total_tokens: prompt + completion,
})
const geminiUsage = ({ prompt, completion }: { prompt: number; completion: number }): Json => ({
  promptTokenCount: prompt,
  candidatesTokenCount: completion,
  totalTokenCount: prompt + completion,
})
const usual = { prompt: 500, completion: 77 }
const finishes = {
  'openai-compatible': { stop: 'stop', length: 'length', filtered: 'content_filter' },
  anthropic: { stop: 'end_turn', length: 'max_tokens', filtered: 'content_filter' },
  google: { stop: 'STOP', length: 'MAX_TOKENS', filtered: 'SAFETY' },
}

type Dialect = { events(said: Said): Json[]; whole(said: Said): Json }

const chat: Dialect = {
  events({ text = [], reasoning, refusal, call, finish = 'stop', usage = usual }) {
    const chunk = (delta: Json, finish_reason: string | null = null): Json => ({ id: 'c', choices: [{ index: 0, delta, finish_reason }] })
    return [
      chunk({ role: 'assistant', content: '' }),
      ...(reasoning === undefined ? [] : [chunk({ reasoning_content: reasoning })]),
      ...text.map((content) => chunk({ content })),
      ...(refusal === undefined ? [] : [chunk({ refusal })]),
      ...(call ? [chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: call }] })] : []),
      chunk({}, call ? 'tool_calls' : finishes['openai-compatible'][finish]),
      ...(usage ? [{ id: 'c', choices: [], usage: chatUsage(usage) }] : []),
    ]
  },
  whole({ text = [], reasoning, refusal, call, finish = 'stop', usage = usual }) {
    const message = {
      role: 'assistant',
      content: text.join('') || null,
      refusal: refusal ?? null,
      ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
      ...(call ? { tool_calls: [{ id: 'call_1', type: 'function', function: call }] } : {}),
    }
    const finish_reason = call ? 'tool_calls' : finishes['openai-compatible'][finish]
    return { id: 'c', choices: [{ index: 0, message, finish_reason }], usage: usage && chatUsage(usage) }
  },
}

const responses: Dialect = {
  events(said) {
    const { text = [], reasoning, refusal, call } = said
    const response = responses.whole(said)
    const message = { type: 'message', id: 'msg', role: 'assistant', content: [] }
    const at = { item_id: 'msg', output_index: 1, content_index: 0 }
    return [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
      ...(reasoning === undefined
        ? []
        : [
            { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning', id: 'rs', summary: [] } },
            { type: 'response.reasoning_summary_text.delta', item_id: 'rs', output_index: 0, summary_index: 0, delta: reasoning },
          ]),
      ...(text.length + (refusal?.length ?? 0) === 0 ? [] : [{ type: 'response.output_item.added', output_index: 1, item: message }]),
      ...text.map((delta) => ({ type: 'response.output_text.delta', ...at, delta })),
      ...(refusal === undefined ? [] : [{ type: 'response.refusal.delta', ...at, delta: refusal }]),
      ...(call
        ? [{ type: 'response.output_item.done', output_index: 2, item: { type: 'function_call', id: 'fc', call_id: 'call_1', ...call } }]
        : []),
      { type: response['status'] === 'completed' ? 'response.completed' : 'response.incomplete', response: { ...response, output: [] } },
    ]
  },
  whole({ text = [], reasoning, refusal, call, finish = 'stop', usage = usual }) {
    const content = [
      ...(text.length > 0 ? [{ type: 'output_text', text: text.join(''), annotations: [] }] : []),
      ...(refusal === undefined ? [] : [{ type: 'refusal', refusal }]),
    ]
    return {
      id: 'resp',
      object: 'response',
      error: null,
      status: finish === 'stop' ? 'completed' : 'incomplete',
      incomplete_details: finish === 'stop' ? null : { reason: finish === 'length' ? 'max_output_tokens' : 'content_filter' },
      output: [
        ...(reasoning === undefined ? [] : [{ type: 'reasoning', id: 'rs', summary: [{ type: 'summary_text', text: reasoning }] }]),
        ...(content.length > 0 ? [{ type: 'message', id: 'msg', role: 'assistant', content }] : []),
        ...(call ? [{ type: 'function_call', id: 'fc', call_id: 'call_1', ...call }] : []),
      ],
      usage: usage && responsesUsage(usage),
    }
  },
}

const anthropic: Dialect = {
  events(said) {
    const { content, stop_reason, usage } = anthropic.whole(said)
    const start = { id: 'm', type: 'message', role: 'assistant', content: [], stop_reason: null }
    const input = usage && { input_tokens: usage.input_tokens, output_tokens: 1 }
    return [
      { type: 'message_start', message: { ...start, usage: input } },
      ...content.flatMap((block: Json, index: number): Json[] => {
        const delta = (fields: Json): Json => ({ type: 'content_block_delta', index, delta: fields })
        const empty = block['type'] === 'tool_use' ? { ...block, input: {} } : { ...block, [block['type']]: '' }
        const pieces =
          block['type'] === 'tool_use'
            ? [delta({ type: 'input_json_delta', partial_json: said.call!.arguments })]
            : block['type'] === 'thinking'
              ? [delta({ type: 'thinking_delta', thinking: block['thinking'] })]
              : (said.text ?? [said.refusal!]).map((text) => delta({ type: 'text_delta', text }))
        return [{ type: 'content_block_start', index, content_block: empty }, ...pieces, { type: 'content_block_stop', index }]
      }),
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, ...(usage ? { usage } : {}) },
      { type: 'message_stop' },
    ]
  },
  whole({ text, reasoning, refusal, call, finish = 'stop', usage = usual }) {
    const said = text ?? (refusal === undefined ? undefined : [refusal])
    return {
      id: 'm',
      type: 'message',
      role: 'assistant',
      content: [
        ...(reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning, signature: '' }]),
        ...(said ? [{ type: 'text', text: said.join('') }] : []),
        ...(call ? [{ type: 'tool_use', id: 'call_1', name: call.name, input: parsed(call.arguments) }] : []),
      ],
      stop_reason: refusal === undefined ? (call ? 'tool_use' : finishes.anthropic[finish]) : 'refusal',
      usage: usage && { input_tokens: usage.prompt, output_tokens: usage.completion },
    }
  },
}

const gemini: Dialect = {
  events(said) {
    const { candidates, usageMetadata } = gemini.whole({ ...said, text: [] })
    const part = (given: Json): Json => ({ candidates: [{ content: { role: 'model', parts: [given] } }] })
    const { parts } = candidates[0].content
    const texts = (said.text ?? []).map((text) => part({ text }))
    const thoughts = parts.filter((one: Json) => one['thought']).map(part)
    const others = parts.filter((one: Json) => !one['thought']).map(part)
    const end = { candidates: [{ content: { role: 'model', parts: [] }, finishReason: candidates[0].finishReason }], usageMetadata }
    return [...thoughts, ...texts, ...others, end]
  },
  whole({ text = [], reasoning, refusal, call, finish = 'stop', usage = usual }) {
    const parts = [
      ...(reasoning === undefined ? [] : [{ text: reasoning, thought: true }]),
      ...(text.length > 0 ? [{ text: text.join('') }] : []),
      ...(refusal === undefined ? [] : [{ text: refusal }]),
      ...(call ? [{ functionCall: { name: call.name, args: parsed(call.arguments) } }] : []),
    ]
    const finishReason = finishes.google[finish]
    return { candidates: [{ content: { role: 'model', parts }, finishReason }], ...(usage ? { usageMetadata: geminiUsage(usage) } : {}) }
  },
}

const dialects: Record<AnswerKind, Dialect> = { 'openai-compatible': chat, openai: responses, anthropic, google: gemini }
