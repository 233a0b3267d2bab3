/**
 * Reads an answer of OpenAI's Responses API, streamed or whole. Events and items of other types are skipped. A text is complete with its last
 * event: servers may send it in pieces, whole at its end, or only in the response.
 */
import type { ModelStep } from '../model.ts'
import { parseExact } from '../../exact-json.ts'
import type { Dialect } from '../transport/answer-body.ts'
import type { Progress } from '../transport/exchange.ts'
import { isObject } from '../transport/fields.ts'
import type { Fields } from '../transport/fields.ts'
import { CollectedAnswer, isSet, notUnderstood, reportsError } from './collected-answer.ts'
import type { AnswerOptions } from './collected-answer.ts'
import { maxAnswerParts } from '../answer-limit.ts'
import { PartsContinuation } from './parts-continuation.ts'

const provider = 'openai'
/** Events that say nothing which is needed. */
const silent =
  /^response\.(created|in_progress|queued|content_part\.(added|done)|output_text\.annotation\.added|reasoning_\w+(\.\w+)*|function_call_arguments\.done)$|^keepalive$/

export class ResponsesAnswer implements Dialect {
  readonly answer: CollectedAnswer
  readonly #continuation = new PartsContinuation(provider)
  /** How much of each text has been read, by item and part. */
  readonly #read = new Map<string, number>()
  readonly #wholeItems = new Set<string>()

  constructor(options: AnswerOptions) {
    this.answer = new CollectedAnswer(options)
  }

  get progress(): Progress {
    return this.answer.progress
  }

  data(data: string, name: string): void {
    if (data === '[DONE]') return
    this.answer.usage.nextEvent()
    let event: unknown
    try {
      event = parseExact(data)
    } catch {
      throw notUnderstood('broken JSON')
    }
    if (!isObject(event)) throw notUnderstood('no object')
    const type = event.type ?? name
    if (typeof type !== 'string' || type === '') throw notUnderstood('an event without a type')
    if (type === 'error' || type === 'response.failed' || reportsError(event, name, event.type !== undefined))
      throw this.answer.failed(event)
    this.#readEvent(type, event)
  }

  whole(body: unknown): void {
    if (!isObject(body)) throw notUnderstood('no object')
    if (reportsError(body, '', Array.isArray(body.output)) || body.status === 'failed') throw this.answer.failed(body)
    if (!Array.isArray(body.output)) throw notUnderstood('no output')
    this.#readResponse(body)
  }

  end(): void {
    this.answer.end()
  }

  step(): ModelStep {
    return this.answer.step(() => this.#continuation.step())
  }

  #readEvent(type: string, event: Fields): void {
    const { item, delta } = event
    this.answer.usage.readFrom(event)
    if (isObject(event.response)) this.answer.usage.readFrom(event.response)
    switch (type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return this.#readPiece(type === 'response.refusal.delta', event, textOf(delta))
      case 'response.output_text.done':
      case 'response.refusal.done':
        return this.#readRest(type === 'response.refusal.done', event, textOf(event.text ?? event.refusal))
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        this.#reason(event, textOf(delta))
        return
      case 'response.function_call_arguments.delta': {
        const call = this.answer.calls.find(keyOf(event))
        if (call) this.answer.calls.append(call, textOf(delta))
        return
      }
      case 'response.output_item.added':
        if (isObject(item)) this.#startItem(event, item)
        return
      case 'response.output_item.done':
        if (isObject(item)) this.#endItem(event, item)
        return
      case 'response.completed':
      case 'response.incomplete':
      case 'response.done':
      case 'response.cancelled':
        return this.#readResponse(isObject(event.response) ? event.response : { status: type.slice('response.'.length) })
      default:
        if (!silent.test(type)) this.answer.skip(`event ${type}`)
    }
  }

  /** The response as a whole: its usage, how it ended, and what the events before did not contain. */
  #readResponse(response: Fields): void {
    if (isSet(response.error) || response.status === 'failed' || response.status === 'cancelled') throw this.answer.failed(response)
    this.answer.usage.readFrom(response)
    const items: unknown[] = Array.isArray(response.output) ? response.output : []
    for (const [index, item] of items.entries()) if (isObject(item)) this.#endItem({ output_index: index }, item)
    const details = isObject(response.incomplete_details) ? response.incomplete_details : {}
    this.answer.finish(details.reason ?? (response.status === 'incomplete' ? 'incomplete' : 'stop'), details)
    this.answer.done()
  }

  #startItem(event: Fields, item: Fields): void {
    if (item.type === 'function_call' && !this.answer.calls.find(keyOf(event))) {
      const call = this.answer.calls.begin(keyOf(event), { id: item.call_id ?? item.id, name: item.name })
      this.answer.calls.append(call, textOf(item.arguments))
      this.#continuation.call()
    } else if (item.type === 'reasoning') this.#markReasoning(event, item)
    else if (item.type === 'message') this.#continuation.read('text', keyOf(event), '', phaseOf(item))
    else if (item.type !== 'function_call') this.answer.skip(`item ${String(item.type)}`)
    this.answer.speaking()
  }

  #endItem(event: Fields, item: Fields): void {
    const key = keyOf(event)
    if (this.#wholeItems.has(key)) return
    if (this.#wholeItems.size < maxAnswerParts) this.#wholeItems.add(key)
    if (item.type === 'message') {
      const parts: unknown[] = Array.isArray(item.content) ? item.content : []
      for (const [content_index, part] of parts.entries()) if (isObject(part)) this.#readWholePart({ ...event, content_index }, part)
      this.#continuation.read('text', key, '', phaseOf(item))
    } else if (item.type === 'function_call') {
      if (!this.answer.calls.find(key)) this.#startItem(event, { ...item, arguments: '' })
      const call = this.answer.calls.find(key)!
      if (call.name === '') call.name = textOf(item.name)
      this.answer.calls.complete(call, item.arguments)
    } else if (item.type === 'reasoning') {
      this.#markReasoning(event, item)
      this.answer.speaking()
    }
  }

  #readWholePart(event: Fields, part: Fields): void {
    if (part.type === 'output_text' || part.type === 'text') this.#readRest(false, event, textOf(part.text))
    else if (part.type === 'refusal') this.#readRest(true, event, textOf(part.refusal))
    else this.answer.skip(`content ${String(part.type)}`)
  }

  #readPiece(isRefusal: boolean, event: Fields, text: string): void {
    const part = partOf(event)
    this.#read.set(part, (this.#read.get(part) ?? 0) + text.length)
    this.#continuation.read('text', keyOf(event), text, undefined)
    if (isRefusal) this.answer.refusal(text)
    else this.answer.text(text)
  }

  /** Reads what of a whole text has not arrived in pieces. */
  #readRest(isRefusal: boolean, event: Fields, text: string): void {
    const read = this.#read.get(partOf(event)) ?? 0
    if (text.length > read) this.#readPiece(isRefusal, event, text.slice(read))
  }

  #reason(event: Fields, text: string): void {
    const id = `${keyOf(event)}:${String(event.summary_index ?? 0)}`
    this.#continuation.read('reasoning', id, text, marksOf({ id: event.item_id }))
    this.answer.reasoning(Buffer.byteLength(text))
    this.answer.speaking()
  }

  #markReasoning(event: Fields, item: Fields): void {
    this.#continuation.read('reasoning', `${keyOf(event)}:0`, '', marksOf(item))
  }
}

const keyOf = ({ output_index: index, item_id: id }: Fields): string => (index === undefined ? textOf(id) : String(index))
const partOf = (event: Fields): string => `${keyOf(event)}/${String(event.content_index ?? 0)}`

function marksOf({ id, encrypted_content: encrypted }: Fields) {
  return {
    [provider]: {
      ...(typeof id === 'string' ? { itemId: id } : {}),
      ...(typeof encrypted === 'string' ? { reasoningEncryptedContent: encrypted } : {}),
    },
  }
}

const phaseOf = ({ phase }: Fields) => (typeof phase === 'string' ? { [provider]: { phase } } : undefined)
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
