/**
 * Reads an answer of the OpenAI Chat Completions API, streamed or whole, into a `ModelStep`. Servers and gateways differ: missing fields
 * are accepted as long as the answer is unambiguous; anything else is `unavailable`. It sends nothing and does not retry.
 */
import { ModelError } from '../model.ts'
import type { FinishReason, ModelStep } from '../model.ts'
import { readUsage } from './chat-usage.ts'
import { answerLimit, bodyLimit, eventLimit, tooLong } from '../answer-limit.ts'
import { ChatReasoning, reasoningBytes } from './chat-reasoning.ts'
import { FastChunkParser, stringOf } from './fast-chunk-parser.ts'
import type { AnswerReader, Progress } from '../transport/exchange.ts'
import { CollectedBytes } from '../transport/collected-bytes.ts'
import { isObject, jsonOf } from '../transport/fields.ts'
import type { Fields } from '../transport/fields.ts'
import { operatorText } from '../transport/operator-text.ts'
import { SseReader } from '../transport/sse-reader.ts'
import { reportsLength } from '../transport/too-long.ts'
import { ToolCallDeltas } from './tool-call-deltas.ts'

export type ChatAnswerOptions = {
  onText: (text: string) => void
  /** See `ModelCall`. */
  onGenerated?: ((bytes: number) => void) | undefined
  /** The API key, which is redacted from errors even if the server repeats it. */
  secret: string
  /** The requested limit. A much longer answer is rejected; see `answerLimit`. */
  maxOutputTokens: number
}

export class ChatAnswer implements AnswerReader {
  readonly #onText: (text: string) => void
  readonly #onGenerated: (bytes: number) => void
  readonly #secret: string
  readonly #maxOutputTokens: number
  readonly #events: SseReader
  /** The body, if the server ignored `stream: true`; undefined for a stream. */
  #whole: CollectedBytes | undefined
  readonly #parser = new FastChunkParser(content, contentOf)
  #progress: Progress = 'waiting'
  #size = 0
  #text = ''
  readonly #toolCalls = new ToolCallDeltas()
  readonly #reasoning = new ChatReasoning()
  #finishReason: FinishReason | undefined
  #usage: Pick<ModelStep, 'usage' | 'usageImpossible'> = { usage: undefined }

  constructor({ onText, onGenerated = () => undefined, secret, maxOutputTokens }: ChatAnswerOptions) {
    this.#onText = onText
    this.#onGenerated = onGenerated
    this.#secret = secret
    this.#maxOutputTokens = maxOutputTokens
    this.#events = new SseReader((data) => this.#readEvent(data), { maxEvents: eventLimit(maxOutputTokens) })
  }

  begin(mediaType: string): void {
    if (mediaType === 'application/json') this.#whole = new CollectedBytes()
    else if (mediaType !== 'text/event-stream')
      throw new ModelError('unavailable', 'invalid_answer', invalid, { said: `content type ${mediaType.slice(0, 100) || 'missing'}` })
  }

  take(bytes: Buffer): Progress {
    if (this.#whole) {
      this.#grow(bytes.length, bodyLimit(this.#maxOutputTokens))
      this.#whole.push(bytes)
      return 'speaking'
    }
    this.#events.push(bytes)
    return this.#progress
  }

  /** A proxy may end a truncated stream normally, so only a finish reason or [DONE] makes the answer complete. */
  end(): void {
    if (this.#whole) this.#readWhole(this.#whole.text())
    else if (this.#finishReason === undefined)
      throw new ModelError('unavailable', 'provider_interrupted', 'the model stream ended before it was complete')
  }

  /** Returns the answer. Call it only after `take` returned `finished` or `done`, or after `end` returned. */
  step(): ModelStep {
    const toolCalls = this.#toolCalls.toolCalls()
    const finishReason = this.#finishReason ?? 'other'
    const continuation = toolCalls.length > 0 ? this.#reasoning.continuation(this.#toolCalls.extras()) : undefined
    // Some servers finish a tool call with `stop`.
    return {
      text: this.#text,
      toolCalls,
      finishReason: finishReason === 'stop' && toolCalls.length > 0 ? 'tool_calls' : finishReason,
      ...this.#usage,
      ...(continuation === undefined ? {} : { continuation }),
    }
  }

  #readEvent(data: string): void {
    if (data === '' || this.#progress === 'done') return
    if (data === '[DONE]') {
      if (this.#progress === 'waiting')
        throw new ModelError('unavailable', 'provider_interrupted', 'the model stream ended without any content')
      this.#progress = 'done'
      return
    }
    const text = this.#parser.read(data)
    if (text !== undefined) return this.#say(text)
    const body = parse(data)
    const choice = this.#readChoice(body)
    if (!choice) return
    if (isObject(choice.delta)) this.#readMessage(choice.delta)
    if (this.#readFinish(choice)) this.#progress = 'finished'
    else if (isObject(body) && !isSet(body.usage) && isObject(choice.delta)) this.#learn(data, choice.delta)
  }

  /**
   * Prepares for chunks that differ from this one only in their text. The chunk must contain a non-empty text and nothing else. It has then
   * also set the progress to `speaking`, which the chunks that are read without parsing do not.
   */
  #learn(data: string, delta: Fields): void {
    const { content } = delta
    if (typeof content !== 'string' || content === '') return
    if (Object.keys(delta).every((key) => key === 'content' || key === 'role' || !holdsSomething(delta[key])))
      this.#parser.learn(data, content)
  }

  #readWhole(body: string): void {
    this.#size = 0
    const choice = this.#readChoice(parse(body))
    if (!choice || !isObject(choice.message)) throw notUnderstood('no message')
    this.#readMessage(choice.message)
    this.#readFinish(choice)
  }

  /** Reads errors and usage, and returns the first choice. Chunks without a choice contain usage, or nothing of interest. */
  #readChoice(body: unknown): Fields | undefined {
    if (!isObject(body)) throw notUnderstood('no object')
    if (isSet(body.error) || body.object === 'error') throw this.#failed(body)
    if (isSet(body.usage)) this.#usage = readUsage(body.usage)
    if (!isSet(body.choices)) return undefined
    if (!Array.isArray(body.choices)) throw notUnderstood('choices')
    const choice: unknown = body.choices[0]
    if (choice === undefined) return undefined
    if (!isObject(choice)) throw notUnderstood('choice')
    return choice
  }

  /**
   * Passes on text and collects tool calls. Reasoning, in any field, counts as progress and is only collected to be sent back to the model.
   */
  #readMessage(message: Fields): void {
    this.#say(readText(message.content))
    this.#reasoning.read(message)
    const reasoned = reasoningBytes(message)
    if (reasoned > 0) this.#onGenerated(reasoned)
    if (Array.isArray(message.tool_calls)) {
      const before = this.#toolCalls.bytes
      this.#grow(this.#toolCalls.read(message.tool_calls, this.#whole ? 'whole' : 'piece'))
      this.#onGenerated(this.#toolCalls.bytes - before)
    }
    if (this.#progress === 'waiting' && Object.keys(message).some((key) => key !== 'role' && holdsSomething(message[key])))
      this.#progress = 'speaking'
  }

  #say(text: string): void {
    if (text.length === 0) return
    this.#grow(text.length)
    this.#text += text
    this.#onGenerated(Buffer.byteLength(text))
    this.#onText(text)
  }

  #readFinish(choice: Fields): boolean {
    const reason = choice.finish_reason
    if (typeof reason !== 'string' || reason === '') return false
    if (reason === 'error') throw this.#failed(choice)
    this.#finishReason = finishReasons.get(reason) ?? 'other'
    return true
  }

  #failed(report: Fields): ModelError {
    const [kind, causeKind] = reportsLength(report)
      ? (['too_long', 'prompt_too_long'] as const)
      : (['unavailable', 'provider_error'] as const)
    return new ModelError(kind, causeKind, 'the model server reported an error', { said: operatorText(jsonOf(report) ?? '', this.#secret) })
  }

  #grow(size: number, limit = answerLimit(this.#maxOutputTokens)): void {
    this.#size += size
    if (this.#size > limit) throw tooLong(limit)
  }
}

const finishReasons = new Map<string, FinishReason>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['content_filter', 'filtered'],
])

/** Reads a string, or a list of parts. Only parts of type `text` are the answer; others are reasoning. */
function readText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: unknown) => (isObject(part) && part.type === 'text' && typeof part.text === 'string' ? part.text : '')).join('')
}

const content = stringOf('content')

function contentOf(data: string): unknown {
  const body: unknown = JSON.parse(data)
  const choice: unknown = isObject(body) && Array.isArray(body.choices) ? body.choices[0] : undefined
  return isObject(choice) && isObject(choice.delta) ? choice.delta.content : undefined
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    // The parser's own message quotes the answer, which must not be logged.
    throw notUnderstood('broken JSON')
  }
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null
const holdsSomething = (value: unknown): boolean => (typeof value === 'string' || Array.isArray(value) ? value.length > 0 : isObject(value))
const invalid = 'the model server sent an invalid response'
const notUnderstood = (what: string): ModelError => new ModelError('unavailable', 'invalid_answer', `${invalid}: ${what}`)
