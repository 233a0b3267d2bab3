/**
 * Makes the tool calls of one step in parallel. Each call has its own idempotency key, and the journal entries written here keep a call
 * with side effects from being made twice by a recovered turn (`turn.states`) or by a run that continues an earlier one
 * (`retry.continues`). Arguments and results are never logged (`tools.private`).
 */
import type { Logger } from 'pino'
import type { Failpoints } from '../../failpoints.ts'
import type { JournalEntry } from '../../store/turn-records.ts'
import { finishedEntry, modelEntry, startedEntry } from '../journal.ts'
import type { CallResult, Step, StepCall } from '../journal.ts'
import type { TraceRecorder } from '../trace-recorder.ts'
import type { Toolbox } from './tools.ts'

export type ToolCallsOptions = {
  toolbox: Toolbox
  /** `tools.caps`: the limit for the whole turn. Calls beyond it are not made. */
  maxToolCalls: number
  requestId: string
  /** The user's message, which is passed to the failpoints. */
  message: string
  signal: AbortSignal
  traceparent?: string | null
  /** `rerun.harmless`: set if the loop belongs to no turn, so that it makes no call with side effects. */
  unstored?: object
  trace?: TraceRecorder | undefined
  /** See `GenerationRequest`. */
  beforeCalls(entries: JournalEntry[], price: number): Promise<boolean>
  writeJournal(entries: JournalEntry[], finishedSideEffects: boolean): Promise<boolean>
  failpoints: Failpoints
  log: Logger
}

export type CallsEnd =
  /** Every call of the step has a result. `entries` are the entries of the step that are not in the journal yet. */
  | { kind: 'finished'; entries: JournalEntry[] }
  /** `beforeCalls` or `writeJournal` resolved with false. */
  | { kind: 'stopped' }

type OpenCall = { call: StepCall; part: number; refusal: string | undefined; sideEffects: boolean; price: number }

/**
 * Makes every call of the step that has no result yet. `tools.journal`: the step and the start of its calls with side effects are durable
 * before any call is made, and the end of such a call is journaled as soon as it returns. What the calls may cost is held before any is made
 * (`billing.tool-price`). `callsBefore` is the number of calls in earlier steps. Rejects with `signal.reason`, or with an internal error.
 */
export async function finishCalls(step: Step, callsBefore: number, options: ToolCallsOptions): Promise<CallsEnd> {
  const { toolbox, maxToolCalls, unstored, beforeCalls } = options
  const open = step.toolCalls
    .map((call, index): OpenCall => {
      const sideEffects = toolbox.sideEffects(call.name) ?? false
      const refusal = callsBefore + index >= maxToolCalls ? tooMany(maxToolCalls) : unknown(toolbox, call.name)
      return {
        call,
        part: index + 1,
        refusal: refusal ?? (unstored && sideEffects ? notUnstored : undefined),
        sideEffects,
        price: toolbox.price(call.name),
      }
    })
    .filter(({ call }) => call.result === undefined)
  if (step.toolCalls.length === 0) return { kind: 'finished', entries: [modelEntry(step)] }
  // An earlier attempt finished all calls of this step and journaled them.
  if (open.length === 0) return { kind: 'finished', entries: [] }
  // `turn.cancel`: nothing is started after a cancel. From the next line on, a cancel waits for the calls with side effects.
  options.signal.throwIfAborted()

  const started = open.filter(({ refusal, sideEffects }) => sideEffects && refusal === undefined)
  const entries = [modelEntry(step), ...started.map(({ part }) => startedEntry(step, part))]
  const price = open.reduce((sum, one) => (one.refusal === undefined ? sum + one.price : sum), 0)
  if (!(await beforeCalls(entries, price))) return { kind: 'stopped' }
  options.trace?.journaled(entries)

  // Wait for every call, so that each result is journaled even if another call rejects.
  const ends = await Promise.allSettled(open.map((one) => finish(step, one, options)))
  const left: JournalEntry[] = []
  for (const end of ends) {
    if (end.status === 'rejected') throw end.reason
    if (end.value === undefined) return { kind: 'stopped' }
    left.push(...end.value)
  }
  return { kind: 'finished', entries: left }
}

/** Returns the entries that still have to be journaled, or undefined if the journal says to stop. */
async function finish(step: Step, { call, part, refusal, sideEffects, price }: OpenCall, options: ToolCallsOptions) {
  if (refusal !== undefined) {
    call.result = { text: refusal, isError: true, ms: 0, citations: [] }
    return [finishedEntry(step, part, call.result)]
  }
  call.result = await make(step, call, part, { ...options, price })
  const entry = finishedEntry(step, part, call.result)
  if (!sideEffects) return [entry]
  const go = await options.writeJournal([entry], true)
  if (go) options.trace?.journaled([entry])
  await options.failpoints.reach('tool.after-journal', options.message)
  return go ? [] : undefined
}

async function make(
  { step }: Step,
  call: StepCall,
  part: number,
  { price, ...options }: ToolCallsOptions & { price: number },
): Promise<CallResult> {
  const { toolbox, requestId, message, signal, traceparent = null, trace, failpoints, log } = options
  await failpoints.reach('tool.before-call', message)
  const startedAt = performance.now()
  const ended = trace?.callingTool(step, part)
  const idempotencyKey = `${requestId}:${step}:${part}`
  const asked = { name: call.name, arguments: call.arguments, idempotencyKey, traceparent, signal }
  const { text, isError, answered, passages } = await toolbox.call(asked)
  const ms = Math.round(performance.now() - startedAt)
  log.info({ request_id: requestId, tool: call.name, ms, outcome: isError ? 'error' : 'answered' }, 'tool called')
  await failpoints.reach('tool.after-call', message)
  const citations = passages.map(({ documentId, title, section }) => ({ documentId, title, section }))
  const result: CallResult = { text, isError, ms, citations, ...(answered && price > 0 ? { price } : {}) }
  ended?.(result)
  return result
}

function unknown(toolbox: Toolbox, name: string): string | undefined {
  if (toolbox.sideEffects(name) !== undefined) return undefined
  // The name comes from the model and may be very long; the error repeats only its first 64 characters.
  return `Error: there is no tool named ${JSON.stringify(name.slice(0, 64))}. Answer without it.`
}

// Not worded as a failure of the tool: the model should answer as it would otherwise, without claiming that something was done.
const notUnstored =
  'This call was not made: this is a test run, and the tool may have side effects. Nothing was changed. Answer with what you have, and do not claim that it was done.'

const tooMany = (most: number): string =>
  `Error: this tool was not called, since no more than ${most} calls are made for one message. Answer with what you have.`
