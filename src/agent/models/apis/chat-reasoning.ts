/**
 * Collects the reasoning that a Chat Completions server needs back with the next step, and sends it back in the field it came in. Without
 * it DeepSeek rejects the next step, and other models repeat their reasoning.
 */
import { maxAnswerParts } from '../answer-limit.ts'
import { maxContinuation } from '../model.ts'
import { isObject, jsonOf } from '../transport/fields.ts'
import type { Fields } from '../transport/fields.ts'

/** Only the first of these fields that is present is sent back; the later ones repeat it in less detail. */
const names = ['reasoning_details', 'reasoning_content', 'reasoning'] as const

export class ChatReasoning {
  readonly #texts = { reasoning_content: '', reasoning: '' }
  readonly #details: Fields[] = []
  #size = 0

  /**
   * Reads a message, or a delta of one. Above the limits of size and number nothing is sent back: servers accept missing reasoning, but reject a part of
   * it.
   */
  read(message: Fields): void {
    for (const name of ['reasoning_content', 'reasoning'] as const) {
      const text = message[name]
      if (typeof text === 'string' && this.#fits(text.length)) this.#texts[name] += text
    }
    if (!Array.isArray(message.reasoning_details)) return
    for (const detail of message.reasoning_details)
      if (isObject(detail) && this.#fits(jsonOf(detail)?.length ?? Infinity)) this.#add(detail)
  }

  /**
   * Returns the continuation of the step, or undefined if nothing needs to go back. `extras` has the fields beside each tool call, or in its
   * function.
   */
  continuation(extras: (Fields | null)[]): Fields | undefined {
    const kept: Fields = {}
    if (this.#size <= maxContinuation) {
      const said: Fields = { ...this.#texts, reasoning_details: this.#details }
      const name = names.find((one) => holds(said[one]))
      if (name !== undefined) kept[name] = said[name]
    }
    if (extras.some((extra) => extra !== null)) kept.call_fields = extras
    if (Object.keys(kept).length === 0) return undefined
    const continuation = { of: 'chat', ...kept }
    return (jsonOf(continuation)?.length ?? Infinity) > maxContinuation ? undefined : continuation
  }

  #fits(size: number): boolean {
    this.#size += size
    return this.#size <= maxContinuation
  }

  /** Joins streamed pieces of a detail that have the same index and type. Encrypted details arrive whole. */
  #add(detail: Fields): void {
    const last = this.#details.at(-1)
    const field = detail.type === 'reasoning.text' ? 'text' : detail.type === 'reasoning.summary' ? 'summary' : undefined
    if (field === undefined || last === undefined || last.type !== detail.type || last.index !== detail.index) {
      if (this.#details.length < maxAnswerParts) this.#details.push({ ...detail })
      else this.#size = Infinity
      return
    }
    const said = Object.entries(detail).filter(([, value]) => value !== null && value !== undefined)
    Object.assign(last, Object.fromEntries(said), { [field]: `${textOf(last[field])}${textOf(detail[field])}` })
  }
}

/**
 * Returns the UTF-8 bytes of the reasoning in a message or a delta. Servers repeat the same text in several fields, so the largest one counts.
 * Encrypted reasoning counts nothing: its length is not that of the text.
 */
export function reasoningBytes({ reasoning_content: content, reasoning, reasoning_details: details, content: parts }: Fields): number {
  // Some servers send reasoning as parts of the content that are not text.
  const hidden = Array.isArray(parts) ? parts.filter((part: unknown) => !isObject(part) || part.type !== 'text') : undefined
  return Math.max(...[content, reasoning, details, hidden].map((value) => textBytes(value)))
}

const textFields = ['text', 'summary', 'thinking', 'reasoning'] as const

/** `levels`: how far texts are looked for within lists and objects. */
function textBytes(value: unknown, levels = 4): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (levels === 0) return 0
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + textBytes(one, levels - 1), 0)
  return isObject(value) ? textFields.reduce((sum, field) => sum + textBytes(value[field], levels - 1), 0) : 0
}

/** Returns the fields to add to the assistant message and to each of its tool calls. Empty if another API wrote the continuation. */
export function readChatContinuation(continuation: unknown): { message: Fields; calls: Fields[] } {
  if (!isObject(continuation) || continuation.of !== 'chat') return { message: {}, calls: [] }
  // Earlier releases kept only `extra_content`.
  const extras = Array.isArray(continuation.extra_contents) ? continuation.extra_contents : []
  const fields: unknown[] = Array.isArray(continuation.call_fields)
    ? continuation.call_fields
    : extras.map((extra: unknown) => (isObject(extra) ? { extra_content: extra } : null))
  const name = names.find((one) => holds(continuation[one]))
  return {
    message: name === undefined ? {} : { [name]: continuation[name] },
    calls: fields.map((one) => (isObject(one) ? one : {})),
  }
}

const holds = (value: unknown): boolean => (typeof value === 'string' || Array.isArray(value)) && value.length > 0
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
