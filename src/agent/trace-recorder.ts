/**
 * Records in memory what one attempt of a run does, for its trace (`trace.stored`): a few numbers for each call and references to what the
 * loop holds anyway. Does nothing for a delta except to note the first one. Whether and where the trace is stored is not its business.
 */
import type { EncodedTrace, JournalEntry } from '../store/turn-records.ts'
import type { CallResult, Step } from './journal.ts'
import { ModelError } from './models/model.ts'
import type { ModelStep, Passage } from './models/model.ts'
import { encodeTrace } from './trace.ts'
import type { Trace, TracedError, TracedModelCall, TracedPassage, TracedToolCall } from './trace.ts'

/** `step`: what the call answered. */
type ModelCallMade = { call: TracedModelCall; step: Step | undefined }
type ToolCallMade = Omit<TracedToolCall, 'result'> & { result: CallResult | undefined }

export class TraceRecorder {
  readonly #attempt: number
  readonly #waitMs: number
  readonly #firstHold: bigint
  readonly #startedAt = performance.now()
  readonly #modelCalls: ModelCallMade[] = []
  readonly #toolCalls: ToolCallMade[] = []
  #retrieval: Trace['retrieval'] = null
  #journaled: Set<string> | undefined
  /** The model call that is in progress. */
  #open: ModelCallMade | undefined

  /** At the admission or claim of the turn. `waitMs`: how long its message waited for the admission, in milliseconds. */
  constructor({ attempt, hold }: { attempt: number; hold: bigint }, waitMs: number) {
    this.#attempt = attempt
    this.#waitMs = Math.round(waitMs)
    this.#firstHold = hold
  }

  /** Milliseconds since the start of the attempt. */
  get ageMs(): number {
    return Math.round(performance.now() - this.#startedAt)
  }

  /** A search for passages has started. Returns what to call at its end, with the passages in the prompt and those that did not fit. */
  searching(): (found: Passage[], left: Passage[]) => void {
    const startMs = this.ageMs
    return (found, left) => {
      const passages = found.map((passage): TracedPassage => ({ ...passage, used: true }))
      for (const passage of left) passages.push({ ...passage, used: false })
      this.#retrieval = { startMs, ms: this.ageMs - startMs, passages }
    }
  }

  /** A model call of a step starts in `inMs` milliseconds. */
  callingModel(step: number, historyMessages: number, inMs = 0): void {
    const before = this.#modelCalls.at(-1)?.call
    const number = before?.step === step ? before.number + 1 : 1
    const times = { startMs: this.ageMs + inMs, firstTextMs: null, ms: null }
    this.#open = {
      call: { step, number, ...times, historyMessages, answer: null, error: null, text: null, asked: null, skipped: [] },
      step: undefined,
    }
    this.#modelCalls.push(this.#open)
  }

  /** Text of the model call has arrived. Called for each piece of it. */
  textArrived(): void {
    const call = this.#open?.call
    if (call?.firstTextMs === null) call.firstTextMs = this.ageMs - call.startMs
  }

  modelAnswered(step: Step, { finishReason, skipped = [] }: Pick<ModelStep, 'finishReason' | 'skipped'>): void {
    if (!this.#open) return
    const { call } = this.#open
    call.ms = this.ageMs - call.startMs
    call.answer = { usage: step.usage, usageEstimated: step.usageEstimated, finishReason }
    call.skipped = skipped
    this.#open.step = step
    this.#open = undefined
  }

  /** `text`: what of the answer had arrived. `stopped`: the run was stopped from outside. */
  modelFailed(error: unknown, { text = '', stopped = false }: { text?: string; stopped?: boolean } = {}): void {
    const call = this.#open?.call
    if (!call) return
    this.#open = undefined
    // Stopped while it waited for the next try.
    if (call.startMs > this.ageMs) return void this.#modelCalls.pop()
    call.ms = this.ageMs - call.startMs
    call.error = readError(error, stopped)
    if (text !== '') call.text = text
  }

  /** A tool is called. Returns what to call with its result. */
  callingTool(step: number, part: number): (result: CallResult) => void {
    const call: ToolCallMade = { step, part, startMs: this.ageMs, ms: null, result: undefined }
    this.#toolCalls.push(call)
    return (result) => {
      call.ms = this.ageMs - call.startMs
      call.result = result
    }
  }

  /** These entries are in the journal, so the trace leaves out what they contain. */
  journaled(entries: JournalEntry[]): void {
    this.#journaled ??= new Set()
    for (const { step, part, kind } of entries) this.#journaled.add(`${kind} ${step} ${part}`)
  }

  /** The trace so far. `hasReply`: the text of the last step is stored as the end of the reply. */
  trace(hold: bigint, hasReply: boolean): Trace {
    const last = this.#modelCalls.at(-1)
    return {
      attempt: this.#attempt,
      waitMs: this.#waitMs,
      endMs: this.ageMs,
      firstHold: this.#firstHold,
      lastHold: hold,
      retrieval: this.#retrieval,
      modelCalls: this.#modelCalls.map((made) => this.#withUnstored(made, hasReply && made === last)),
      toolCalls: this.#toolCalls.map(({ step, part, startMs, ms, result }) => ({
        step,
        part,
        startMs,
        ms,
        result: result && !this.#isJournaled('tool_finished', step, part) ? { text: result.text, isError: result.isError } : null,
      })),
      cut: false,
    }
  }

  /** Called once, at the end of the run. */
  encode(hold: bigint, hasReply: boolean): EncodedTrace {
    return encodeTrace(this.trace(hold, hasReply))
  }

  /** With what is stored nowhere else. Most calls have nothing of the kind. */
  #withUnstored({ call, step }: ModelCallMade, isEndOfReply: boolean): TracedModelCall {
    if (!step) return isEndOfReply && call.text !== null ? { ...call, text: null } : call
    const { text, toolCalls } = step
    const unstored = isEndOfReply ? '' : text
    if ((unstored === '' && toolCalls.length === 0) || this.#isJournaled('model', call.step, 0)) return call
    const asked = toolCalls.length > 0 ? toolCalls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given })) : null
    return { ...call, text: unstored === '' ? null : unstored, asked }
  }

  #isJournaled(kind: JournalEntry['kind'], step: number, part: number): boolean {
    return this.#journaled?.has(`${kind} ${step} ${part}`) ?? false
  }
}

function readError(error: unknown, stopped: boolean): TracedError {
  if (error instanceof ModelError) return { kind: error.kind, causeKind: error.causeKind, message: error.message }
  const message = error instanceof Error ? error.message : String(error)
  return { kind: stopped ? 'stopped' : 'internal', causeKind: null, message }
}
