/**
 * Reads an answer in the OpenAI Chat Completions dialect, streamed or whole, into a `ModelStep`. Owns what the fields mean; never sends anything,
 * never retries. Providers differ and gateways err: what is missing is tolerated where the answer stays certain, everything else is `unavailable`.
 */
import { ModelError } from '../model.ts'
import type { FinishReason, ModelStep, ModelUsage, ToolCall } from '../model.ts'
import type { AnswerReader, Progress } from './exchange.ts'
import { SseReader } from './sse-reader.ts'

/** 8 MiB of text and tool calls: over ten times what any model may write at once, and what 1,000 turns of a hostile server may cost in memory. */
export const largestAnswer = 8 * 1024 * 1024
// What an otherwise empty tool call counts, so that a stream of them ends too.
const toolCallCost = 64

export class ChatAnswer implements AnswerReader {
  readonly #onText: (text: string) => void
  readonly #events = new SseReader((data) => this.#readEvent(data))
  /** The body of a server that ignores `stream: true`; undefined while the answer is a stream. */
  #whole: Buffer[] | undefined
  #progress: Progress = 'waiting'
  #size = 0
  #text = ''
  readonly #toolCalls: ToolCall[] = []
  readonly #toolCallsByIndex = new Map<number, ToolCall>()
  #finishReason: FinishReason | undefined
  #usage: ModelUsage | undefined

  constructor(onText: (text: string) => void) {
    this.#onText = onText
  }

  begin(mediaType: string): void {
    if (mediaType === 'application/json') this.#whole = []
    else if (mediaType !== 'text/event-stream') throw notUnderstood(`content type ${mediaType.slice(0, 100) || 'missing'}`)
  }

  take(bytes: Buffer): Progress {
    if (this.#whole) {
      this.#grow(bytes.length)
      this.#whole.push(bytes)
      return 'speaking'
    }
    this.#events.push(bytes)
    return this.#progress
  }

  /** A stream that was cut between two chunks ends in good order too, by a proxy's hand: only a finish makes it an answer. */
  end(): void {
    if (this.#whole) this.#readWhole(Buffer.concat(this.#whole).toString())
    else if (this.#finishReason === undefined) throw new ModelError('unavailable', "the model's stream ended before its finish")
  }

  /** The answer, once `take` said `finished` or `done`, or `end` returned. */
  step(): ModelStep {
    // some servers send no id, yet the tool's result must name one
    const toolCalls = this.#toolCalls.map((call, n) => (call.id === '' ? { ...call, id: `call_${n}` } : call))
    const finishReason = this.#finishReason ?? 'other'
    // some servers end a tool call with a plain stop
    return { text: this.#text, toolCalls, finishReason: finishReason === 'stop' && toolCalls.length > 0 ? 'tool_calls' : finishReason, usage: this.#usage }
  }

  #readEvent(data: string): void {
    if (data === '' || this.#progress === 'done') return
    if (data === '[DONE]') {
      this.#progress = 'done'
      if (this.#finishReason === undefined) throw new ModelError('unavailable', "the model's stream said [DONE] before its finish")
      return
    }
    const choice = this.#readChoice(parse(data))
    if (!choice) return
    if (isObject(choice.delta)) this.#readMessage(choice.delta)
    if (this.#readFinish(choice)) this.#progress = 'finished'
  }

  #readWhole(body: string): void {
    const choice = this.#readChoice(parse(body))
    if (!choice || !isObject(choice.message)) throw notUnderstood('no message')
    this.#readMessage(choice.message)
    this.#readFinish(choice)
  }

  /** Reads what stands beside the choices, and answers the first choice; chunks without one carry usage, or nothing for us. */
  #readChoice(body: unknown): Fields | undefined {
    if (!isObject(body)) throw notUnderstood('no object')
    if (isSet(body.error) || body.object === 'error') throw new ModelError('unavailable', `the model's server failed: ${excerpt(body)}`)
    if (isSet(body.usage)) this.#usage = readUsage(body.usage)
    if (!isSet(body.choices)) return undefined
    if (!Array.isArray(body.choices)) throw notUnderstood('choices')
    const choice: unknown = body.choices[0]
    if (choice === undefined) return undefined
    if (!isObject(choice)) throw notUnderstood('choice')
    return choice
  }

  /** Text and tool calls leave or are kept; reasoning, under whatever name, only shows that the model is at work. */
  #readMessage(message: Fields): void {
    const text = readText(message.content)
    if (text.length > 0) {
      this.#grow(text.length)
      this.#text += text
      this.#onText(text)
    }
    if (Array.isArray(message.tool_calls)) for (const call of message.tool_calls) this.#readToolCall(call)
    if (this.#progress === 'waiting' && Object.keys(message).some((key) => key !== 'role' && holdsSomething(message[key]))) this.#progress = 'speaking'
  }

  #readToolCall(delta: unknown): void {
    if (!isObject(delta)) throw notUnderstood('tool call')
    const called = isObject(delta.function) ? delta.function : {}
    const id = typeof delta.id === 'string' ? delta.id : ''
    const name = typeof called.name === 'string' ? called.name : ''
    // a string in pieces; some servers send the finished object instead
    const args = typeof called.arguments === 'string' ? called.arguments : isObject(called.arguments) ? JSON.stringify(called.arguments) : ''
    this.#grow(id.length + name.length + args.length)
    const call = this.#toolCallOf(typeof delta.index === 'number' ? delta.index : undefined, id, name)
    if (call.id === '') call.id = id
    if (call.name === '') call.name = name
    call.arguments += args
  }

  /** Deltas belong together by index. Some servers send none, or 0 for every call: there another id, or another name, begins another call. */
  #toolCallOf(index: number | undefined, id: string, name: string): ToolCall {
    const known = index === undefined ? this.#toolCalls.at(-1) : this.#toolCallsByIndex.get(index)
    const another = known !== undefined && (id !== '' && known.id !== '' ? id !== known.id : index === undefined && name !== '' && known.name !== '')
    if (known && !another) return known
    this.#grow(toolCallCost)
    const call = { id: '', name: '', arguments: '' }
    this.#toolCalls.push(call)
    if (index !== undefined) this.#toolCallsByIndex.set(index, call)
    return call
  }

  #readFinish(choice: Fields): boolean {
    const reason = choice.finish_reason
    if (typeof reason !== 'string' || reason === '') return false
    if (reason === 'error') throw new ModelError('unavailable', `the model's server failed: ${excerpt(choice)}`)
    this.#finishReason = finishReasons.get(reason) ?? 'other'
    return true
  }

  #grow(size: number): void {
    this.#size += size
    if (this.#size > largestAnswer) throw new ModelError('unavailable', `the model's answer is larger than ${largestAnswer} characters`)
  }
}

type Fields = Record<string, unknown>

const finishReasons = new Map<string, FinishReason>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
])

/** Undefined unless both are safe non-negative integers; two zeros are the placeholder of servers that do not count (`billing.usage-missing`). */
export function readUsage(usage: unknown): ModelUsage | undefined {
  if (!isObject(usage)) return undefined
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = usage
  if (!isCount(promptTokens) || !isCount(completionTokens) || promptTokens + completionTokens === 0) return undefined
  return { promptTokens, completionTokens }
}

/** A string, or parts of which those of type `text` are the answer (others are the model's thinking). */
function readText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: unknown) => (isObject(part) && part.type === 'text' && typeof part.text === 'string' ? part.text : '')).join('')
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch (cause) {
    throw new ModelError('unavailable', "the model's server sent broken JSON", { cause })
  }
}

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)
const isSet = (value: unknown): boolean => value !== undefined && value !== null
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
const holdsSomething = (value: unknown): boolean => (typeof value === 'string' || Array.isArray(value) ? value.length > 0 : isObject(value))
const excerpt = (value: unknown): string => JSON.stringify(value).slice(0, 500)
const notUnderstood = (what: string): ModelError => new ModelError('unavailable', `the model's server sent an answer that is not understood: ${what}`)
