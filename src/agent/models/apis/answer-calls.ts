/**
 * Assembles the tool calls of an answer from pieces, or reads whole ones, in any dialect. It decides which piece belongs to which call. The
 * loop checks later whether the arguments are valid and the tool exists.
 */
import { maxAnswerCalls, tooManyCalls } from '../answer-limit.ts'
import { ModelError } from '../model.ts'
import type { ToolCall } from '../model.ts'
import { isObject, jsonOf } from '../transport/fields.ts'
import type { Fields } from '../transport/fields.ts'
import type { EmbeddedCall } from './embedded-call.ts'

// Added to the size of each piece, so that an endless stream of empty pieces reaches the limit too.
const pieceCost = 16

export type StartedCall = ToolCall & {
  /** What goes back with the call, in the dialect's own form. */
  extra: Fields | null
}

export class AnswerCalls {
  readonly #calls: StartedCall[] = []
  readonly #byKey = new Map<unknown, StartedCall>()
  readonly #onPiece: (name: string, args: string, size: number) => void

  /** `onPiece` gets the name and the arguments that a piece adds, and its size in characters. */
  constructor(onPiece: (name: string, args: string, size: number) => void) {
    this.#onPiece = onPiece
  }

  /** Returns the calls in the order in which they started. The id is empty if the server sent none. */
  toolCalls(): ToolCall[] {
    return this.#calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))
  }

  extras(): (Fields | null)[] {
    return this.#calls.map(({ extra }) => extra)
  }

  get count(): number {
    return this.#calls.length
  }

  /** Starts a call. Throws ModelError `unavailable` for too many calls. `key`: what later pieces name it by. */
  begin(key: unknown, { id, name }: { id: unknown; name: unknown }): StartedCall {
    if (this.#calls.length === maxAnswerCalls) throw tooManyCalls()
    const call = { id: textOf(id), name: textOf(name), arguments: '', extra: null }
    this.#calls.push(call)
    if (key !== undefined) this.#byKey.set(key, call)
    this.#onPiece(call.name, '', pieceCost + call.id.length + call.name.length)
    return call
  }

  find(key: unknown): StartedCall | undefined {
    return this.#byKey.get(key)
  }

  append(call: StartedCall, piece: string): void {
    // Some servers send an empty object before the arguments.
    if (piece.trimStart() !== '' && isPlaceholder(call.arguments)) call.arguments = ''
    call.arguments += piece
    this.#onPiece('', piece, pieceCost + piece.length)
  }

  /** Sets the whole arguments, which usually repeat the pieces before. Does nothing for arguments that say nothing. */
  complete(call: StartedCall, given: unknown): void {
    const args = argumentsOf(given)
    if (args === '' || (isPlaceholder(args) && call.arguments !== '')) return
    const counted = call.arguments.length
    call.arguments = args
    // What a call starts with, until its arguments arrive.
    if (isPlaceholder(args)) return
    this.#onPiece('', args.slice(counted), pieceCost + Math.max(0, args.length - counted))
  }

  embedded({ name, arguments: args }: EmbeddedCall): void {
    if (this.#calls.length === maxAnswerCalls) throw tooManyCalls()
    this.#calls.push({ id: '', name, arguments: args, extra: null })
  }

  /** Reads a tool call of the Chat Completions API, or a piece of one. `isWhole`: it is not streamed. */
  readDelta(delta: unknown, isWhole: boolean): StartedCall {
    if (!isObject(delta)) throw new ModelError('unavailable', 'invalid_answer', 'the model server sent an invalid tool call')
    const called = isObject(delta.function) ? delta.function : delta
    const { index } = delta
    const key = typeof index === 'number' ? index : undefined
    const [id, name] = [textOf(delta.id), textOf(called.name)]
    const args = argumentsOf(called.arguments ?? called.input)
    const known = isWhole ? undefined : key === undefined ? this.#calls.at(-1) : this.#byKey.get(key)
    const call = known && !beginsAnother(known, { key, id, name, args }) ? known : this.begin(key, { id, name })
    if (call === known) {
      if (call.id === '') call.id = id
      this.#extendName(call, name)
    }
    // The whole arguments again, after their pieces.
    const repeats = args.length > 2 && call.arguments === args && isComplete(args)
    if (args !== '' && !repeats) this.append(call, args)
    else this.#onPiece('', '', pieceCost)
    return call
  }

  /** Some servers repeat the name in each piece, or split it. */
  #extendName(call: StartedCall, name: string): void {
    if (name === '' || call.arguments !== '' || call.name.endsWith(name)) return
    const added = name.startsWith(call.name) ? name.slice(call.name.length) : name
    call.name += added
    this.#onPiece(added, '', added.length)
  }
}

type Piece = { key: number | undefined; id: string; name: string; args: string }

/**
 * Pieces belong together by index. Some servers send no index, or 0 for every call; there another id or another name starts a new call. Some
 * send another id with each piece of one call, whose arguments are not complete then.
 */
function beginsAnother(known: ToolCall, { key, id, name, args }: Piece): boolean {
  const isOtherId = id !== '' && known.id !== '' && id !== known.id
  if (id !== '' && known.id !== '' && !isOtherId) return false
  if (key === undefined)
    return name !== '' && known.name !== '' ? isOtherId || startsNew(known, name) : isOtherId && isComplete(known.arguments)
  if (!isOtherId || name === '') return false
  // The same call goes on if its arguments are not complete and the piece does not start new ones.
  return name !== known.name || isComplete(known.arguments) || (known.arguments === '' && isComplete(args) === false && args === '')
}

/** Without ids and indexes: the name of the call again, while its arguments are incomplete, is a repetition. */
const startsNew = (known: ToolCall, name: string): boolean => name !== known.name || known.arguments === '' || isComplete(known.arguments)

/** Arguments that say nothing, which servers send before the real ones. */
const isPlaceholder = (args: string): boolean => /^\s*(?:\{\s*\}|""|null)\s*$/.test(args)

// A longer text is parsed once, at the end.
const maxChecked = 65_536

function isComplete(args: string): boolean {
  if (args.length > maxChecked || !/\}\s*$/.test(args)) return false
  try {
    return isObject(JSON.parse(args))
  } catch {
    return false
  }
}

/** Arguments arrive as pieces of a string. Some servers send the parsed value instead, which need not be an object; the loop rejects that. */
function argumentsOf(args: unknown): string {
  if (typeof args === 'string') return args
  if (args === undefined || args === null) return ''
  const text = jsonOf(args)
  if (text === undefined) throw new ModelError('unavailable', 'invalid_answer', 'the model server sent an invalid tool call')
  return text
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '')
