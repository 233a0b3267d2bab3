/**
 * Collects an answer while a dialect reads it: visible text, tool calls, usage, how it ended, and what was skipped. Bounds its size. What a
 * dialect does not know is never an error: it is noted for the trace. It knows no dialect.
 */
import { answerLimit, tooLong } from '../answer-limit.ts'
import { ModelError } from '../model.ts'
import type { FinishReason, ModelRequest, ModelStep, Skipped } from '../model.ts'
import { UsageReports } from '../reported-usage.ts'
import type { Progress } from '../transport/exchange.ts'
import { isObject, jsonOf } from '../transport/fields.ts'
import type { Fields } from '../transport/fields.ts'
import { reportsFilter } from '../transport/filtered.ts'
import { operatorText } from '../transport/operator-text.ts'
import { reportsLength } from '../transport/too-long.ts'
import { AnswerCalls } from './answer-calls.ts'
import { embeddedCall } from './embedded-call.ts'
import { readFinish } from './finish-reasons.ts'
import { VisibleText } from './visible-text.ts'

export type AnswerOptions = {
  onText: (text: string) => void
  /** See `ModelCall`. */
  onReset?: (() => void) | undefined
  onGenerated?: ((bytes: number) => void) | undefined
  /** The API key, which is redacted from errors even if the server repeats it. */
  secret: string
  request: Pick<ModelRequest, 'maxOutputTokens' | 'tools'>
  /** See `VisibleTextOptions`. */
  holds?: boolean
}

// A provider may send any number of kinds that are not known.
const maxKinds = 16
const maxKindName = 60

export class CollectedAnswer {
  readonly #options: AnswerOptions
  readonly #visible: VisibleText
  readonly #skipped = new Map<string, number>()
  readonly usage = new UsageReports()
  readonly calls: AnswerCalls
  progress: Progress = 'waiting'
  readonly #limit: number
  #size = 0
  #finish: FinishReason | undefined
  #isRefusal = false

  constructor(options: AnswerOptions) {
    const { onText, onReset, request, holds = false } = options
    this.#options = options
    this.#limit = answerLimit(request.maxOutputTokens)
    this.calls = new AnswerCalls((name, args, size) => {
      this.#grow(size)
      this.generated(Buffer.byteLength(name) + Buffer.byteLength(args))
      this.speaking()
    })
    const offered = new Set(request.tools.map(({ name }) => name))
    this.#visible = new VisibleText({
      holds,
      onText,
      onReset: onReset ?? (() => undefined),
      onCall: offered.size === 0 ? undefined : (written) => this.#readEmbedded(written, offered),
    })
  }

  get finished(): boolean {
    return this.#finish !== undefined
  }

  /** Whether the model closed a block of reasoning that nothing had opened. */
  get closedAlone(): boolean {
    return this.#visible.closedAlone
  }

  text(text: string): void {
    if (text === '') return
    this.#grow(text.length)
    this.speaking()
    this.generated(Buffer.byteLength(text))
    this.#visible.push(text)
  }

  /** The text in which the model declines to answer. It is what the caller gets. */
  refusal(text: string): void {
    if (text === '') return
    this.#isRefusal = true
    this.text(text)
  }

  /** Reasoning counts as progress, and is never text. */
  reasoning(bytes: number): void {
    if (bytes === 0) return
    this.speaking()
    this.generated(bytes)
  }

  generated(bytes: number): void {
    if (bytes <= 0) return
    this.usage.generated(bytes)
    this.#options.onGenerated?.(bytes)
  }

  speaking(): void {
    if (this.progress === 'waiting') this.progress = 'speaking'
  }

  /** `reason`: the provider's own. Throws for one that says that the answer failed. */
  finish(reason: unknown, details: Fields = {}): void {
    if (typeof reason !== 'string' || reason === '') return
    const read = readFinish(reason)
    if (read === 'broken') throw this.failed({ ...details, finish_reason: reason }, 'provider_interrupted')
    if (read === 'other') this.skip(`finish reason ${reason}`)
    this.#finish = read
    if (this.progress !== 'done') this.progress = 'finished'
  }

  /** Ends an answer that has an end mark and gave no reason. */
  done(): void {
    this.#finish ??= 'other'
    this.progress = 'done'
  }

  /** Notes something that nothing here needs. */
  skip(what: string): void {
    const name = what.slice(0, maxKindName).toWellFormed()
    const kind = this.#skipped.has(name) || this.#skipped.size < maxKinds ? name : 'other'
    this.#skipped.set(kind, (this.#skipped.get(kind) ?? 0) + 1)
  }

  /** Returns the error for what a provider reported in its answer. */
  failed(report: unknown, unavailable: 'provider_error' | 'provider_interrupted' = 'provider_error'): ModelError {
    const details = { said: operatorText(typeof report === 'string' ? report : (jsonOf(report) ?? ''), this.#options.secret) }
    if (reportsFilter(report)) return new ModelError('refused', 'filtered', 'the model server withheld the answer', details)
    if (reportsLength(report)) return new ModelError('too_long', 'prompt_too_long', 'the model server reported an error', details)
    return new ModelError('unavailable', unavailable, 'the model server reported an error', details)
  }

  /** Ends the text. Throws if the provider did not say that the answer is complete. */
  end(): void {
    if (this.#finish === undefined)
      throw new ModelError('unavailable', 'provider_interrupted', 'the model stream ended before it was complete')
  }

  /** Returns the answer. Call it once, after the body has been read. */
  step(continuation: () => unknown): ModelStep {
    this.#visible.end()
    const toolCalls = this.calls.toolCalls()
    const kept = toolCalls.length > 0 ? continuation() : undefined
    const skipped = this.#notes()
    return {
      text: this.#visible.text,
      toolCalls,
      finishReason: this.#finishReason(toolCalls.length > 0),
      ...this.usage.usage(),
      ...(skipped.length === 0 ? {} : { skipped }),
      ...(kept === undefined ? {} : { continuation: kept }),
    }
  }

  /** Servers finish tool calls with `stop` or with anything else. */
  #finishReason(hasCalls: boolean): FinishReason {
    const reason = this.#finish ?? 'other'
    if (hasCalls) return reason === 'stop' || reason === 'other' ? 'tool_calls' : reason
    if (this.#isRefusal && reason !== 'filtered') return 'refused'
    return reason
  }

  #notes(): Skipped[] {
    const reports = this.usage.totals.length > 1 ? this.usage.totals.map((totals) => ({ what: `usage ${totals}`, count: 1 })) : []
    return [...[...this.#skipped].map(([what, count]) => ({ what, count })), ...reports]
  }

  #readEmbedded(written: string, offered: Set<string>): boolean {
    const found = embeddedCall(written)
    if (!found || !offered.has(found.name)) return false
    // Its bytes were counted as text.
    this.calls.embedded(found)
    return true
  }

  #grow(size: number): void {
    this.#size += size
    if (this.#size > this.#limit) throw tooLong(this.#limit)
  }
}

/** Whether a value of an optional field says something. */
export const isSet = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== '' && value !== false && !(isObject(value) && Object.keys(value).length === 0)

/** Returns whether an event or a body reports an error, in any of the forms in use. `holdsAnswer`: it contains a part of an answer. */
export function reportsError(event: Fields, name: string, holdsAnswer: boolean): boolean {
  if (isSet(event.error) || event.type === 'error' || event.object === 'error') return true
  if (holdsAnswer) return false
  if (name === 'error' || event.status === 'error' || event.status === 'failed') return true
  const code = event.code ?? event.status_code ?? event.statusCode ?? event.errcode
  return (isSet(code) && typeof (event.message ?? event.msg) === 'string') || typeof event.detail === 'string' || isSet(event.errors)
}

/** The error for data that is not of the dialect. The data is not quoted, because it must not be logged. */
export const notUnderstood = (what: string): ModelError =>
  new ModelError('unavailable', 'invalid_answer', `the model server sent an invalid response: ${what}`)
