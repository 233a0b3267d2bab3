/**
 * What a Chat Completions server wants back of its model's reasoning between two rounds of tools, and how it goes back: under the name it came by.
 * Never reads it. Servers differ: without it DeepSeek refuses the next round, and others think everything again.
 */
import { maxContinuation } from '../model.ts'
import { isObject } from '../transport/fields.ts'
import type { Fields } from '../transport/fields.ts'

/** One is sent back, the first of these that came: the later ones repeat it in less detail. */
const names = ['reasoning_details', 'reasoning_content', 'reasoning'] as const

export class ChatReasoning {
  readonly #texts = { reasoning_content: '', reasoning: '' }
  readonly #details: Fields[] = []
  #size = 0

  /** Takes a message, or a delta of one. Beyond the bound nothing is kept: half a thought is refused where a missing one is not. */
  read(message: Fields): void {
    for (const name of ['reasoning_content', 'reasoning'] as const) {
      const text = message[name]
      if (typeof text === 'string' && this.#fits(text.length)) this.#texts[name] += text
    }
    if (!Array.isArray(message.reasoning_details)) return
    for (const detail of message.reasoning_details) if (isObject(detail) && this.#fits(JSON.stringify(detail).length)) this.#add(detail)
  }

  /** `extras` is what came with each tool call. Undefined where nothing is to go back. */
  continuation(extras: (Fields | null)[]): Fields | undefined {
    const kept: Fields = {}
    if (this.#size <= maxContinuation) {
      const said: Fields = { ...this.#texts, reasoning_details: this.#details }
      const name = names.find((one) => holds(said[one]))
      if (name !== undefined) kept[name] = said[name]
    }
    if (extras.some((extra) => extra !== null)) kept.extra_contents = extras
    if (Object.keys(kept).length === 0) return undefined
    const continuation = { of: 'chat', ...kept }
    return JSON.stringify(continuation).length > maxContinuation ? undefined : continuation
  }

  #fits(size: number): boolean {
    this.#size += size
    return this.#size <= maxContinuation
  }

  /** A streamed detail comes in pieces of the same index and type; one that is sealed comes whole. */
  #add(detail: Fields): void {
    const last = this.#details.at(-1)
    const field = detail.type === 'reasoning.text' ? 'text' : detail.type === 'reasoning.summary' ? 'summary' : undefined
    if (field === undefined || last === undefined || last.type !== detail.type || last.index !== detail.index) {
      this.#details.push({ ...detail })
      return
    }
    const said = Object.entries(detail).filter(([, value]) => value !== null && value !== undefined)
    Object.assign(last, Object.fromEntries(said), { [field]: `${textOf(last[field])}${textOf(detail[field])}` })
  }
}

/** The fields of an assistant's message, and of each of its tool calls, as they go back; none for what another dialect wrote. */
export function readChatContinuation(continuation: unknown): { message: Fields; calls: Fields[] } {
  if (!isObject(continuation) || continuation.of !== 'chat') return { message: {}, calls: [] }
  const extras = Array.isArray(continuation.extra_contents) ? continuation.extra_contents : []
  const name = names.find((one) => holds(continuation[one]))
  return {
    message: name === undefined ? {} : { [name]: continuation[name] },
    calls: extras.map((extra: unknown) => (isObject(extra) ? { extra_content: extra } : {})),
  }
}

const holds = (value: unknown): boolean => (typeof value === 'string' || Array.isArray(value)) && value.length > 0
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
