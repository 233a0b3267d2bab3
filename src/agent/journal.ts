/**
 * Reads and writes the JSON payloads of the journal: steps and their tool calls. Payloads written by older releases must stay readable. The
 * callers decide what is run again after a crash or a release (`turn.states`, `retry.continues`).
 */
import type { Citation, JournalEntry } from '../store/turn-records.ts'
import type { ModelUsage, ToolCall } from './models/model.ts'

/** Tokens that a model call may use at most. */
export type UsageBound = { promptTokens: number; completionTokens: number }

export type Step = {
  /**
   * 1 for the first model call of a turn. Later runs continue the count, so that no two tool calls of a request share an idempotency key.
   */
  step: number
  text: string
  /** In the order of the model's answer; the first call is part 1 of the step. */
  toolCalls: StepCall[]
  usage: ModelUsage
  usageEstimated: boolean
  /** What the step was allowed to use: an upper bound for its prompt, and the output limit. */
  bound: UsageBound
  /** Provider data that must be sent back with the next prompt; see `ModelStep`. */
  continuation?: unknown
}

export type StepCall = ToolCall & {
  /** What the model gets as the result of the call; absent until the call has ended. */
  result?: CallResult
}

export type CallResult = {
  text: string
  /** The tool failed or was not called at all. */
  isError: boolean
  /** Duration of the call in milliseconds; 0 if no call was made. */
  ms: number
  /** Documents and sections that the call found in the knowledge base. */
  citations: Citation[]
  /** `billing.tool-price`: what the call costs, in 10⁻⁸ USD. Absent if it costs nothing. */
  price?: number
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

/** Entry for a call with side effects, written before the call is made. */
export function startedEntry({ step }: Step, part: number): JournalEntry {
  return { step, part, kind: 'tool_started', payload: '{}' }
}

export function finishedEntry({ step }: Step, part: number, result: CallResult): JournalEntry {
  return { step, part, kind: 'tool_finished', payload: JSON.stringify(result satisfies CallResult) }
}

/** Reads the steps from a journal whose entries are ordered by step, with the model entry of each step first. */
export function readJournal(entries: JournalEntry[]): Step[] {
  const steps = new Map<number, Step>()
  for (const { step, part, kind, payload } of entries) {
    if (kind === 'model') steps.set(step, readModel(step, payload))
    if (kind === 'tool_finished') steps.get(step)!.toolCalls[part - 1]!.result = JSON.parse(payload) as CallResult
  }
  return [...steps.values()]
}

type ModelPayload = Omit<Step, 'step' | 'toolCalls'> & { toolCalls: ToolCall[] }
/**
 * The payload as releases without tools wrote it: without `bound`, and with the result of each call, always "no such tool", next to the
 * call itself. Releases without token kinds wrote totals only.
 */
type OldPayload = Omit<ModelPayload, 'toolCalls' | 'bound' | 'usage'> & {
  toolCalls: (ToolCall & { result?: string })[]
  bound?: UsageBound
  usage: UsageBound & Partial<ModelUsage>
}

function readModel(step: number, payload: string): Step {
  const { toolCalls, bound = { promptTokens: 0, completionTokens: 0 }, usage, ...rest } = JSON.parse(payload) as OldPayload
  return {
    step,
    ...rest,
    usage: { cachedPromptTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, ...usage },
    bound,
    toolCalls: toolCalls.map(({ result, ...call }) =>
      result === undefined ? call : { ...call, result: { text: result, isError: true, ms: 0, citations: [] } },
    ),
  }
}
