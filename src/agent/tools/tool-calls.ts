/**
 * The tool calls of one step: made side by side, each with a key of its own, and journalled so that a recovered turn makes none twice that may
 * change something. Knows nothing of what a tool is; never logs what is asked or answered (`tools.private`). Rulings `turn.states`,
 * `retry.continues`.
 */
import type { Logger } from 'pino'
import type { Failpoints } from '../../failpoints.ts'
import type { JournalEntry } from '../../store/turn-records.ts'
import { finishedEntry, modelEntry, startedEntry } from '../journal.ts'
import type { CallResult, Step, StepCall } from '../journal.ts'
import type { Toolbox } from './tools.ts'

export type ToolCallsOptions = {
  toolbox: Toolbox
  /** `tools.caps`: of the whole turn; what the model asks for beyond is not called. */
  maxToolCalls: number
  requestId: string
  /** The user's, for failpoints. */
  message: string
  signal: AbortSignal
  writeJournal(entries: JournalEntry[], finishedSideEffects: boolean): Promise<boolean>
  failpoints: Failpoints
  log: Logger
}

export type CallsEnd =
  /** Every call of the step has a result. `entries` are those of it that are not journalled yet. */
  | { kind: 'finished'; entries: JournalEntry[] }
  /** By the journal. */
  | { kind: 'stopped' }

type OpenCall = { call: StepCall; part: number; refusal: string | undefined; sideEffects: boolean }

/**
 * Ends every call of the step that has not ended before. `tools.journal`: the step and its calls with side effects are durable before any call
 * is made, and the end of such a call is as soon as it is there. `callsBefore` counts those of earlier steps. Rejects with `signal.reason`, and
 * for a fault of ours.
 */
export async function finishCalls(step: Step, callsBefore: number, options: ToolCallsOptions): Promise<CallsEnd> {
  const { toolbox, maxToolCalls, writeJournal } = options
  const open = step.toolCalls
    .map((call, index): OpenCall => ({
      call,
      part: index + 1,
      refusal: callsBefore + index >= maxToolCalls ? tooMany(maxToolCalls) : unknown(toolbox, call.name),
      sideEffects: toolbox.sideEffects(call.name) ?? false,
    }))
    .filter(({ call }) => call.result === undefined)
  if (step.toolCalls.length === 0) return { kind: 'finished', entries: [modelEntry(step)] }
  // Another attempt has ended them all, and journalled it.
  if (open.length === 0) return { kind: 'finished', entries: [] }

  const started = open.filter(({ refusal, sideEffects }) => sideEffects && refusal === undefined)
  if (!(await writeJournal([modelEntry(step), ...started.map(({ part }) => startedEntry(step, part))], false))) return { kind: 'stopped' }

  // Each comes to its own end, so that a finish is kept whatever becomes of its neighbours.
  const ends = await Promise.allSettled(open.map((one) => finish(step, one, options)))
  const left: JournalEntry[] = []
  for (const end of ends) {
    if (end.status === 'rejected') throw end.reason
    if (end.value === undefined) return { kind: 'stopped' }
    left.push(...end.value)
  }
  return { kind: 'finished', entries: left }
}

/** Answers what is left to journal; undefined where the journal says stop. */
async function finish(step: Step, { call, part, refusal, sideEffects }: OpenCall, options: ToolCallsOptions) {
  if (refusal !== undefined) {
    call.result = { text: refusal, isError: true, ms: 0, citations: [] }
    return [finishedEntry(step, part, call.result)]
  }
  call.result = await make(step, call, part, options)
  const entry = finishedEntry(step, part, call.result)
  if (!sideEffects) return [entry]
  const go = await options.writeJournal([entry], true)
  await options.failpoints.reach('tool.after-journal', options.message)
  return go ? [] : undefined
}

async function make({ step }: Step, call: StepCall, part: number, options: ToolCallsOptions): Promise<CallResult> {
  const { toolbox, requestId, message, signal, failpoints, log } = options
  await failpoints.reach('tool.before-call', message)
  const startedAt = performance.now()
  const idempotencyKey = `${requestId}:${step}:${part}`
  const { text, isError, passages } = await toolbox.call({ name: call.name, arguments: call.arguments, idempotencyKey, signal })
  const ms = Math.round(performance.now() - startedAt)
  log.info({ request_id: requestId, tool: call.name, ms, outcome: isError ? 'error' : 'answered' }, 'tool called')
  await failpoints.reach('tool.after-call', message)
  return { text, isError, ms, citations: passages.map(({ documentId, title, section }) => ({ documentId, title, section })) }
}

function unknown(toolbox: Toolbox, name: string): string | undefined {
  if (toolbox.sideEffects(name) !== undefined) return undefined
  // A name as long as a page is not said again.
  return `Error: there is no tool named ${JSON.stringify(name.slice(0, 64))}. Answer without it.`
}

const tooMany = (most: number): string =>
  `Error: this tool was not called, since no more than ${most} calls are made for one message. Answer with what you have.`
