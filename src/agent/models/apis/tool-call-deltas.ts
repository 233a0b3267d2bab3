/**
 * Puts the tool calls of an answer together from their deltas, or takes them whole. Owns which delta belongs to which call; whether arguments are
 * JSON, and whether there is such a tool, is the loop's to find out.
 */
import { ModelError } from '../model.ts'
import type { ToolCall } from '../model.ts'
import { isObject } from '../transport/fields.ts'
import type { Fields } from '../transport/fields.ts'

// What a delta counts beside its own text, so that a stream of empty ones ends too.
const deltaCost = 16

type StartedCall = ToolCall & { extra: Fields | null }

export class ToolCallDeltas {
  readonly #calls: StartedCall[] = []
  readonly #byIndex = new Map<number, StartedCall>()

  /** Answers the size of what was added, in characters. Throws ModelError `unavailable` for what is no tool call. */
  read(deltas: unknown[], each: 'piece' | 'whole'): number {
    return deltas.reduce<number>((size, delta) => size + this.#readDelta(delta, each), 0)
  }

  /** In the order in which they began. A call whose server sent no id has an empty one. */
  toolCalls(): ToolCall[] {
    return this.#calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))
  }

  /** Of each call what its server wants back with it, or null. Gemini's compatible address puts its thought signatures there. */
  extras(): (Fields | null)[] {
    return this.#calls.map(({ extra }) => extra)
  }

  #readDelta(delta: unknown, each: 'piece' | 'whole'): number {
    if (!isObject(delta)) throw new ModelError('unavailable', 'the model server sent an invalid tool call')
    const called = isObject(delta.function) ? delta.function : {}
    const id = typeof delta.id === 'string' ? delta.id : ''
    const name = typeof called.name === 'string' ? called.name : ''
    const args = readArguments(called.arguments)
    const index = typeof delta.index === 'number' ? delta.index : undefined
    const call = each === 'whole' ? this.#begin(undefined) : this.#callOf(index, id, name)
    if (call.id === '') call.id = id
    if (call.name === '') call.name = name
    call.arguments += args
    if (isObject(delta.extra_content)) call.extra = delta.extra_content
    return deltaCost + id.length + name.length + args.length
  }

  /** Deltas belong together by index. Some servers send none, or 0 for every call: there another id, or another name, begins another call. */
  #callOf(index: number | undefined, id: string, name: string): StartedCall {
    const known = index === undefined ? this.#calls.at(-1) : this.#byIndex.get(index)
    if (known && !beginsAnother(known, index, id, name)) return known
    return this.#begin(index)
  }

  #begin(index: number | undefined): StartedCall {
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

/** A string in pieces; some servers send the finished value instead, which may be no object: that is the loop's to refuse. */
function readArguments(args: unknown): string {
  if (typeof args === 'string') return args
  return args === undefined || args === null ? '' : JSON.stringify(args)
}
