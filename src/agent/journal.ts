/**
 * The journal's payloads: steps and their tool calls as JSON, written and read here alone. What one release wrote the next one reads.
 * Decides nothing about what is done again; rulings `turn.states`, `retry.continues`.
 */
import type { Citation, JournalEntry } from '../store/turn-records.ts'
import type { ModelUsage, ToolCall } from './models/model.ts'

export type Step = {
  /** 1 for a turn's first model call; later runs go on counting, so that no two tool calls of a request have one name. */
  step: number
  text: string
  /** In the model's order: the first one is part 1 of the step. */
  toolCalls: StepCall[]
  usage: ModelUsage
  usageEstimated: boolean
  /** What it was allowed to use: a bound of its prompt, and the cap of its answer. */
  bound: ModelUsage
  /** What the provider wants back; see `ModelStep`. */
  continuation?: unknown
}

export type StepCall = ToolCall & {
  /** What the model is told; absent until the call has ended. */
  result?: CallResult
}

export type CallResult = {
  text: string
  /** The tool failed, or was not called at all. */
  isError: boolean
  /** How long the call took; 0 where none was made. */
  ms: number
  /** What it found in the knowledge base. */
  citations: Citation[]
}

export function modelEntry({ step, text, toolCalls, usage, usageEstimated, bound, continuation }: Step): JournalEntry {
  const calls = toolCalls.map(({ id, name, arguments: given }): ToolCall => ({ id, name, arguments: given }))
  return {
    step,
    part: 0,
    kind: 'model',
    payload: JSON.stringify({ text, toolCalls: calls, usage, usageEstimated, bound, continuation } satisfies ModelPayload),
  }
}

/** A call with side effects that is about to be made. */
export function startedEntry({ step }: Step, part: number): JournalEntry {
  return { step, part, kind: 'tool_started', payload: '{}' }
}

export function finishedEntry({ step }: Step, part: number, result: CallResult): JournalEntry {
  return { step, part, kind: 'tool_finished', payload: JSON.stringify(result satisfies CallResult) }
}

/** The steps of a journal as the store hands it over: in order, each step's model first. */
export function readJournal(entries: JournalEntry[]): Step[] {
  const steps = new Map<number, Step>()
  for (const { step, part, kind, payload } of entries) {
    if (kind === 'model') steps.set(step, readModel(step, payload))
    if (kind === 'tool_finished') steps.get(step)!.toolCalls[part - 1]!.result = JSON.parse(payload) as CallResult
  }
  return [...steps.values()]
}

type ModelPayload = Omit<Step, 'step' | 'toolCalls'> & { toolCalls: ToolCall[] }
/** Before there were tools no bound was written, and every call was told at once that there is no such tool, which stood with the call. */
type OldPayload = Omit<ModelPayload, 'toolCalls' | 'bound'> & { toolCalls: (ToolCall & { result?: string })[]; bound?: ModelUsage }

function readModel(step: number, payload: string): Step {
  const { toolCalls, bound = { promptTokens: 0, completionTokens: 0 }, ...rest } = JSON.parse(payload) as OldPayload
  return {
    step,
    ...rest,
    bound,
    toolCalls: toolCalls.map(({ result, ...call }) =>
      result === undefined ? call : { ...call, result: { text: result, isError: true, ms: 0, citations: [] } },
    ),
  }
}
