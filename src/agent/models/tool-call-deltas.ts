/**
 * Puts the tool calls of an answer together from their deltas, or takes them whole. Owns which delta belongs to which call; whether arguments are
 * JSON, and whether there is such a tool, is the loop's to find out.
 */
import { ModelError } from '../model.ts'
import type { ToolCall } from '../model.ts'
import { isObject } from './fields.ts'

// What a delta counts beside its own text, so that a stream of empty ones ends too.
const deltaCost = 16

export class ToolCallDeltas {
  readonly #calls: ToolCall[] = []
  readonly #byIndex = new Map<number, ToolCall>()

  /** Answers the size of what was added, in characters. Throws ModelError `unavailable` for what is no tool call. */
  read(deltas: unknown[]): number {
    return deltas.reduce<number>((size, delta) => size + this.#readDelta(delta), 0)
  }

  /** In the order in which they began. */
  toolCalls(): ToolCall[] {
    // some servers send no id, yet the tool's result must name one
    return this.#calls.map((call, n) => (call.id === '' ? { ...call, id: `call_${n}` } : call))
  }

  #readDelta(delta: unknown): number {
    if (!isObject(delta)) throw new ModelError('unavailable', "the model's server sent a tool call that is not understood")
    const called = isObject(delta.function) ? delta.function : {}
    const id = typeof delta.id === 'string' ? delta.id : ''
    const name = typeof called.name === 'string' ? called.name : ''
    const args = readArguments(called.arguments)
    const call = this.#callOf(typeof delta.index === 'number' ? delta.index : undefined, id, name)
    if (call.id === '') call.id = id
    if (call.name === '') call.name = name
    call.arguments += args
    return deltaCost + id.length + name.length + args.length
  }

  /** Deltas belong together by index. Some servers send none, or 0 for every call: there another id, or another name, begins another call. */
  #callOf(index: number | undefined, id: string, name: string): ToolCall {
    const known = index === undefined ? this.#calls.at(-1) : this.#byIndex.get(index)
    if (known && !beginsAnother(known, index, id, name)) return known
    const call = { id: '', name: '', arguments: '' }
    this.#calls.push(call)
    if (index !== undefined) this.#byIndex.set(index, call)
    return call
  }
}

function beginsAnother(known: ToolCall, index: number | undefined, id: string, name: string): boolean {
  if (id !== '' && known.id !== '') return id !== known.id
  return index === undefined && name !== '' && known.name !== ''
}

/** A string in pieces; some servers send the finished object instead. */
function readArguments(args: unknown): string {
  if (typeof args === 'string') return args
  return isObject(args) ? JSON.stringify(args) : ''
}
