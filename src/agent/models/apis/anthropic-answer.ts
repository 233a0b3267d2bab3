/**
 * Reads an answer of Anthropic's Messages API, streamed or whole. Events, blocks and deltas of other types are skipped. A block that was not
 * announced is read like one that was.
 */
import type { ModelStep } from '../model.ts'
import { parseExact } from '../../exact-json.ts'
import type { Dialect } from '../transport/answer-body.ts'
import type { Progress } from '../transport/exchange.ts'
import { isObject } from '../transport/fields.ts'
import type { Fields } from '../transport/fields.ts'
import type { StartedCall } from './answer-calls.ts'
import { CollectedAnswer, notUnderstood, reportsError } from './collected-answer.ts'
import type { AnswerOptions } from './collected-answer.ts'
import { PartsContinuation } from './parts-continuation.ts'

const provider = 'anthropic'
/** Events that say nothing which is needed. */
const silent = new Set(['ping', 'content_block_stop'])

export class AnthropicAnswer implements Dialect {
  readonly answer: CollectedAnswer
  readonly #continuation = new PartsContinuation(provider)
  readonly #marks = new Map<StartedCall, ReturnType<PartsContinuation['call']>>()

  constructor(options: AnswerOptions) {
    this.answer = new CollectedAnswer(options)
  }

  get progress(): Progress {
    return this.answer.progress
  }

  data(data: string, name: string): void {
    if (data === '[DONE]') return
    this.answer.usage.nextEvent()
    const event = parse(data)
    const type = event.type ?? name
    if (typeof type !== 'string' || type === '') throw notUnderstood('an event without a type')
    if (reportsError(event, name, type !== 'error' && event.type !== undefined)) throw this.answer.failed(event)
    this.answer.usage.readFrom(event)
    switch (type) {
      case 'message_start':
        if (isObject(event.message)) this.#readMessage(withoutPlaceholder(event.message))
        return
      case 'content_block_start':
        if (isObject(event.content_block)) this.#readBlock(event.index, event.content_block)
        return
      case 'content_block_delta':
        if (isObject(event.delta)) this.#readDelta(event.index, event.delta)
        return
      case 'message_delta':
        if (isObject(event.delta)) this.answer.finish(event.delta.stop_reason, event.delta)
        return
      case 'message_stop':
        // Without a reason, the message was not finished.
        if (this.answer.finished) this.answer.done()
        return
      default:
        if (!silent.has(type)) this.answer.skip(`event ${type}`)
    }
  }

  whole(body: unknown): void {
    if (!isObject(body)) throw notUnderstood('no object')
    if (reportsError(body, '', body.content !== undefined)) throw this.answer.failed(body)
    if (!Array.isArray(body.content)) throw notUnderstood('no content')
    this.#readMessage(body)
    this.answer.done()
  }

  end(): void {
    this.answer.end()
  }

  step(): ModelStep {
    return this.answer.step(() => this.#continuation.step())
  }

  #readMessage(message: Fields): void {
    this.answer.usage.readFrom(message)
    const blocks: unknown[] = Array.isArray(message.content) ? message.content : []
    for (const [index, block] of blocks.entries()) if (isObject(block)) this.#readBlock(index, block)
    this.answer.finish(message.stop_reason, message)
  }

  #readBlock(index: unknown, block: Fields): void {
    const id = String(index)
    switch (block.type) {
      case 'text':
        this.#continuation.read('text', id, textOf(block.text), undefined)
        return this.answer.text(textOf(block.text))
      case 'thinking':
        this.#reason(id, textOf(block.thinking), { signature: block.signature || null })
        return this.answer.speaking()
      case 'redacted_thinking':
        this.#reason(id, '', { redactedData: block.data })
        return this.answer.speaking()
      case 'tool_use': {
        const call = this.answer.calls.begin(index, { id: block.id, name: block.name })
        this.#marks.set(call, this.#continuation.call())
        this.answer.calls.complete(call, block.input)
        return
      }
      default:
        // Such as the tools that run at the provider, which are not used.
        this.answer.skip(`block ${String(block.type)}`)
    }
  }

  #readDelta(index: unknown, delta: Fields): void {
    const id = String(index)
    switch (delta.type) {
      case 'text_delta':
        this.#continuation.read('text', id, textOf(delta.text), undefined)
        return this.answer.text(textOf(delta.text))
      case 'thinking_delta':
        return this.#reason(id, textOf(delta.thinking), {})
      case 'signature_delta':
        return this.#reason(id, '', { signature: delta.signature })
      case 'input_json_delta': {
        const call = this.answer.calls.find(index)
        if (call) this.answer.calls.append(call, textOf(delta.partial_json))
        // Of a block that was skipped.
        return
      }
      default:
        this.answer.skip(`delta ${String(delta.type)}`)
    }
  }

  #reason(id: string, text: string, marks: Fields): void {
    this.#continuation.read('reasoning', id, text, { [provider]: jsonFields(marks) })
    this.answer.reasoning(Buffer.byteLength(text))
  }
}

// Anthropic starts with an output of a few tokens, whatever follows.
const maxPlaceholder = 8

/** Returns the first event's message without its number of generated tokens, if that is only a placeholder. */
function withoutPlaceholder(message: Fields): Fields {
  const { usage } = message
  if (!isObject(usage) || typeof usage.output_tokens !== 'number' || usage.output_tokens > maxPlaceholder) return message
  return { ...message, usage: { ...usage, output_tokens: undefined } }
}

/** Marks are texts. Anything else is not sent back. */
const jsonFields = (marks: Fields): Record<string, string> =>
  Object.fromEntries(Object.entries(marks).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as const] : [])))

function parse(data: string): Fields {
  let event: unknown
  try {
    event = parseExact(data)
  } catch {
    throw notUnderstood('broken JSON')
  }
  if (!isObject(event)) throw notUnderstood('no object')
  return event
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
