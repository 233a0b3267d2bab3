/**
 * Assembles the tool calls of an answer from deltas, or reads whole ones. It decides which delta belongs to which call. The loop checks
 * later whether the arguments are valid and the tool exists.
 */
import { maxAnswerCalls, tooManyCalls } from '../answer-limit.ts'
import { ModelError } from '../model.ts'
import { maxContinuation } from '../model.ts'
import type { ToolCall } from '../model.ts'
import { isObject, jsonOf } from '../transport/fields.ts'
import type { Fields } from '../transport/fields.ts'

// Added to the size of each delta, so that an endless stream of empty deltas reaches the limit too.
const deltaCost = 16

type StartedCall = ToolCall & { extra: Fields | null }

export class ToolCallDeltas {
  readonly #calls: StartedCall[] = []
  readonly #byIndex = new Map<number, StartedCall>()
  #extraSize = 0
  /** UTF-8 bytes of the names and arguments so far. */
  bytes = 0

  /**
   * Returns the size of the deltas in characters. Throws ModelError `unavailable` for anything that is not a tool call, and for too many
   * calls.
   */
  read(deltas: unknown[], each: 'piece' | 'whole'): number {
    return deltas.reduce<number>((size, delta) => size + this.#readDelta(delta, each), 0)
  }

  /** Returns the calls in the order in which they started. The id is empty if the server sent none. */
  toolCalls(): ToolCall[] {
    return this.#calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))
  }

  /**
   * Returns the extra content that the server needs back with each call, or null. Gemini's OpenAI-compatible API puts thought signatures
   * there. Returns undefined if it is too large to be sent back.
   */
  extras(): (Fields | null)[] | undefined {
    return this.#extraSize > maxContinuation ? undefined : this.#calls.map(({ extra }) => extra)
  }

  #readDelta(delta: unknown, each: 'piece' | 'whole'): number {
    if (!isObject(delta)) throw new ModelError('unavailable', 'invalid_answer', 'the model server sent an invalid tool call')
    const called = isObject(delta.function) ? delta.function : {}
    const id = typeof delta.id === 'string' ? delta.id : ''
    const name = typeof called.name === 'string' ? called.name : ''
    const args = readArguments(called.arguments)
    const index = typeof delta.index === 'number' ? delta.index : undefined
    const call = each === 'whole' ? this.#begin(undefined) : this.#callOf(index, id, name)
    if (call.id === '') call.id = id
    if (call.name === '') call.name = name
    call.arguments += args
    if (isObject(delta.extra_content)) this.#addExtra(call, delta.extra_content)
    this.bytes += Buffer.byteLength(name) + Buffer.byteLength(args)
    return deltaCost + id.length + name.length + args.length
  }

  #addExtra(call: StartedCall, extra: Fields): void {
    this.#extraSize += jsonOf(extra)?.length ?? Infinity
    if (this.#extraSize <= maxContinuation) call.extra = extra
  }

  /**
   * Deltas belong together by index. Some servers send no index, or 0 for every call; there a different id or another name starts a new
   * call.
   */
  #callOf(index: number | undefined, id: string, name: string): StartedCall {
    const known = index === undefined ? this.#calls.at(-1) : this.#byIndex.get(index)
    if (known && !beginsAnother(known, index, id, name)) return known
    return this.#begin(index)
  }

  #begin(index: number | undefined): StartedCall {
    if (this.#calls.length === maxAnswerCalls) throw tooManyCalls()
    const call = { id: '', name: '', arguments: '', extra: null }
    this.#calls.push(call)
    if (index !== undefined) this.#byIndex.set(index, call)
    return call
  }
}

function beginsAnother(known: ToolCall, index: number | undefined, id: string, name: string): boolean {
  if (id !== '' && known.id !== '') return id !== known.id
  return index === undefined && name !== '' && known.name !== ''
}

/**
 * Arguments arrive as pieces of a string. Some servers send the parsed value instead, which need not be an object; the loop rejects that.
 */
function readArguments(args: unknown): string {
  if (typeof args === 'string') return args
  if (args === undefined || args === null) return ''
  const text = jsonOf(args)
  if (text === undefined) throw new ModelError('unavailable', 'invalid_answer', 'the model server sent an invalid tool call')
  return text
}
