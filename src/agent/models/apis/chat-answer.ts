/**
 * Reads an answer of the OpenAI Chat Completions API, streamed or whole. Servers and gateways differ: what is missing or not known does no
 * harm as long as the answer is unambiguous. It sends nothing and does not retry.
 */
import { ModelError } from '../model.ts'
import type { ModelStep } from '../model.ts'
import { parseExact } from '../../exact-json.ts'
import type { Dialect } from '../transport/answer-body.ts'
import type { Progress } from '../transport/exchange.ts'
import { isObject } from '../transport/fields.ts'
import type { Fields } from '../transport/fields.ts'
import { ChatReasoning, reasoningBytes } from './chat-reasoning.ts'
import { CollectedAnswer, isSet, notUnderstood, reportsError } from './collected-answer.ts'
import type { AnswerOptions } from './collected-answer.ts'
import { FastChunkParser, stringOf } from './fast-chunk-parser.ts'

export class ChatAnswer implements Dialect {
  readonly answer: CollectedAnswer
  readonly #parser = new FastChunkParser(content, contentOf)
  readonly #reasoning = new ChatReasoning()
  #isWhole = false

  constructor(options: AnswerOptions) {
    this.answer = new CollectedAnswer(options)
  }

  get progress(): Progress {
    return this.answer.progress
  }

  data(data: string, name: string): void {
    if (data === '[DONE]') return this.#done()
    this.answer.usage.nextEvent()
    const text = name === '' ? this.#parser.read(data) : undefined
    if (text !== undefined) return this.answer.text(text)
    const body = parse(data)
    const choice = this.#readChoice(body, name)
    if (!choice) return
    const delta = choice.delta ?? choice.message
    if (isObject(delta)) this.#readMessage(delta)
    // The older API for completions, which some servers answer with.
    else if (typeof choice.text === 'string') this.answer.text(choice.text)
    this.answer.finish(choice.finish_reason, choice)
    if (!this.answer.finished && isObject(choice.delta) && name === '' && isObject(body) && !reportsUsage(body, choice))
      this.#learn(data, choice.delta)
  }

  whole(body: unknown): void {
    this.#isWhole = true
    const choice = this.#readChoice(body, '')
    const message = choice?.message ?? choice?.delta
    if (!choice || !isObject(message)) throw notUnderstood('no message')
    this.#readMessage(message)
    this.answer.finish(choice.finish_reason, choice)
    // Some servers give no reason in a whole answer.
    this.answer.done()
  }

  /** A proxy may end a truncated stream normally, so only a finish reason or [DONE] makes the answer complete. */
  end(): void {
    this.answer.end()
  }

  step(): ModelStep {
    return this.answer.step(() => this.#reasoning.continuation(this.answer.calls.extras()))
  }

  #done(): void {
    if (this.answer.progress === 'waiting')
      throw new ModelError('unavailable', 'provider_interrupted', 'the model stream ended without any content')
    this.answer.done()
  }

  /**
   * Prepares for chunks that differ from this one only in their text. The chunk must contain a non-empty text and nothing else. It has then
   * also set the progress to `speaking`, which the chunks that are read without parsing do not.
   */
  #learn(data: string, delta: Fields): void {
    const { content } = delta
    if (typeof content !== 'string' || content === '') return
    if (Object.keys(delta).every((key) => key === 'content' || key === 'role' || !isFilled(delta[key]))) this.#parser.learn(data, content)
  }

  /** Reads errors and usage, and returns the first choice. Chunks without a choice contain usage, or nothing of interest. */
  #readChoice(body: unknown, name: string): Fields | undefined {
    if (!isObject(body)) throw notUnderstood('no object')
    const choices = body.choices ?? undefined
    if (reportsError(body, name, choices !== undefined)) throw this.answer.failed(body)
    this.answer.usage.readFrom(body)
    if (choices === undefined) {
      if (!reportsUsage(body, undefined)) this.answer.skip(`event ${String(body.type ?? body.object ?? name)}`)
      return undefined
    }
    if (!Array.isArray(choices)) throw notUnderstood('choices')
    const choice: unknown = choices[0]
    if (choice === undefined || choice === null) return undefined
    if (!isObject(choice)) throw notUnderstood('choice')
    if (isSet(choice.error)) throw this.answer.failed(choice)
    this.answer.usage.readFrom(choice)
    return choice
  }

  /** Passes on text and collects tool calls. Reasoning, in any field, counts as progress and is only collected to be sent back to the model. */
  #readMessage(message: Fields): void {
    this.#readContent(message.content)
    if (typeof message.refusal === 'string') this.answer.refusal(message.refusal)
    this.#reasoning.read(message)
    const reasoned = reasoningBytes(message)
    if (reasoned > 0) this.answer.reasoning(reasoned)
    this.#readCalls(message)
    if (Object.keys(message).some((key) => key !== 'role' && isFilled(message[key]))) this.answer.speaking()
  }

  #readContent(content: unknown): void {
    if (typeof content === 'string') return this.answer.text(content)
    for (const part of Array.isArray(content) ? content : isObject(content) ? [content] : []) {
      if (typeof part === 'string') this.answer.text(part)
      else if (isObject(part)) this.#readPart(part)
    }
  }

  /** Parts of other types are reasoning, or nothing that a reply can contain. */
  #readPart(part: Fields): void {
    const { type, text, refusal } = part
    if (type === 'refusal') this.answer.refusal(textOf(refusal ?? text))
    else if (type === 'text' || type === 'output_text' || type === undefined) this.answer.text(textOf(text))
    else if (type !== 'thinking' && type !== 'reasoning') this.answer.skip(`content ${String(type)}`)
  }

  #readCalls(message: Fields): void {
    const { tool_calls: given, function_call: legacy } = message
    const calls: unknown[] = Array.isArray(given) ? given : isObject(given) ? [given] : []
    for (const delta of calls) this.#keepExtra(this.answer.calls.readDelta(delta, this.#isWhole), delta)
    if (isObject(legacy) && calls.length === 0) this.answer.calls.readDelta({ function: legacy }, this.#isWhole)
  }

  #keepExtra(call: { extra: Fields | null }, delta: unknown): void {
    const extra = isObject(delta) ? extraOf(delta) : undefined
    if (extra) call.extra = { ...call.extra, ...extra }
  }
}

const signatures = ['extra_content', 'thoughtSignature', 'thought_signature', 'provider_specific_fields', 'signature']

/** Returns what a server needs back with a call: Gemini's thought signatures, beside the function or in it. */
function extraOf(delta: Fields): Fields | undefined {
  const beside = signatures.filter((name) => isSet(delta[name])).map((name) => [name, delta[name]] as const)
  const called = isObject(delta.function) ? delta.function : {}
  const inside = signatures.filter((name) => isSet(called[name])).map((name) => [name, called[name]] as const)
  if (beside.length + inside.length === 0) return undefined
  return { ...Object.fromEntries(beside), ...(inside.length === 0 ? {} : { function: Object.fromEntries(inside) }) }
}

const reportsUsage = (body: Fields, choice: Fields | undefined): boolean =>
  [body.usage, body.x_groq, body.timings, body.usageMetadata, body.usage_metadata, choice?.usage].some((value) => isObject(value))

const content = stringOf('content')

function contentOf(data: string): unknown {
  const body: unknown = JSON.parse(data)
  const choice: unknown = isObject(body) && Array.isArray(body.choices) ? body.choices[0] : undefined
  return isObject(choice) && isObject(choice.delta) ? choice.delta.content : undefined
}

function parse(data: string): unknown {
  try {
    return parseExact(data)
  } catch {
    // The parser's own message quotes the answer, which must not be logged.
    throw notUnderstood('broken JSON')
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const isFilled = (value: unknown): boolean => (typeof value === 'string' || Array.isArray(value) ? value.length > 0 : isObject(value))
