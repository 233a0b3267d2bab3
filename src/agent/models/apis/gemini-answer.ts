/**
 * Reads an answer of Google's Gemini API: a stream of partial responses, a list of them, or one. Parts of other types are skipped. A prompt that
 * was blocked is an answer that was filtered.
 */
import type { ModelStep } from '../model.ts'
import { parseExact } from '../../exact-json.ts'
import type { Dialect } from '../transport/answer-body.ts'
import type { Progress } from '../transport/exchange.ts'
import { isObject } from '../transport/fields.ts'
import type { Fields } from '../transport/fields.ts'
import { CollectedAnswer, notUnderstood, reportsError } from './collected-answer.ts'
import type { AnswerOptions } from './collected-answer.ts'
import { PartsContinuation } from './parts-continuation.ts'

const provider = 'google'

export class GeminiAnswer implements Dialect {
  readonly answer: CollectedAnswer
  readonly #continuation = new PartsContinuation(provider)
  /** The block that the last part belongs to. */
  #block = { kind: 'none' as 'none' | 'text' | 'reasoning', number: 0 }

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
    this.#read(event, name)
  }

  whole(body: unknown): void {
    this.#read(body, '')
  }

  end(): void {
    this.answer.end()
  }

  step(): ModelStep {
    return this.answer.step(() => this.#continuation.step())
  }

  #read(given: unknown, name: string): void {
    if (!isObject(given)) throw notUnderstood('no object')
    // Gateways to Vertex wrap what they pass on.
    const event = isObject(given.response) ? given.response : given
    if (reportsError(event, name, event.candidates !== undefined)) throw this.answer.failed(event)
    this.answer.usage.readFrom(event)
    const candidates = event.candidates ?? []
    if (!Array.isArray(candidates)) throw notUnderstood('candidates')
    const candidate: unknown = candidates[0]
    if (isObject(candidate)) this.#readCandidate(candidate)
    const feedback = event.promptFeedback
    if (isObject(feedback) && typeof feedback.blockReason === 'string' && !this.answer.finished) this.answer.finish('SAFETY')
    if (candidate === undefined && !feedback && !event.usageMetadata) this.answer.skip(`event ${Object.keys(event).slice(0, 3).join(', ')}`)
  }

  #readCandidate(candidate: Fields): void {
    const content = isObject(candidate.content) ? candidate.content : {}
    for (const part of Array.isArray(content.parts) ? content.parts : []) if (isObject(part)) this.#readPart(part)
    this.answer.finish(candidate.finishReason ?? candidate.finish_reason, { finishMessage: candidate.finishMessage })
  }

  #readPart(part: Fields): void {
    const signature = part.thoughtSignature ?? part.thought_signature
    const metadata = typeof signature === 'string' ? { [provider]: { thoughtSignature: signature } } : undefined
    const called = part.functionCall ?? part.function_call
    if (isObject(called)) {
      const call = this.answer.calls.begin(undefined, { id: called.id, name: called.name })
      this.#continuation.call()(metadata)
      this.answer.calls.complete(call, called.args ?? called.arguments)
      this.#block = { kind: 'none', number: this.#block.number + 1 }
      return
    }
    if (typeof part.text === 'string') return this.#readText(part.text, part.thought === true ? 'reasoning' : 'text', metadata)
    const names = Object.keys(part).filter((name) => !name.startsWith('thought'))
    if (names.length > 0) this.answer.skip(`part ${names[0]}`)
  }

  #readText(text: string, kind: 'text' | 'reasoning', metadata: { [provider]: { thoughtSignature: string } } | undefined): void {
    if (text === '' && metadata === undefined) return
    // A signature without text belongs to the text before it.
    if (this.#block.kind === 'none' || (text !== '' && this.#block.kind !== kind)) this.#block = { kind, number: this.#block.number + 1 }
    const read = this.#block.kind === 'none' ? kind : this.#block.kind
    this.#continuation.read(read, String(this.#block.number), text, metadata)
    if (kind === 'text') this.answer.text(text)
    else this.answer.reasoning(Buffer.byteLength(text))
  }
}
