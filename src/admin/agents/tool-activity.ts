/** The steps of a turn and their tool calls, read from its journal for the operator. Pure. */
import { readJournal } from '../../agent/journal.ts'
import type { StepCall } from '../../agent/journal.ts'
import type { ModelUsage } from '../../agent/models/model.ts'
import type { Amount } from '../../ledger/ledger.ts'
import type { TurnStep } from '../../store/queries/turns.ts'

/** A tool call. What is not known of its end is null. */
export type ToolCall = {
  name: string
  /** The number of the model call that requested it, from 1. */
  step: number
  arguments: string
  result: string | null
  isError: boolean | null
  ms: number | null
  price: Amount | null
}

/** A readable line of the journal. `call` is null if its step is missing. */
export type ShownStep = Pick<TurnStep, 'run' | 'step' | 'part' | 'createdAt'> &
  (
    | { kind: 'model'; text: string; calls: Pick<ToolCall, 'name' | 'arguments'>[]; usage: ModelUsage; usageEstimated: boolean }
    | { kind: 'tool_started' | 'tool_finished'; call: ToolCall | null }
  )

// As much as fits in a list. The turn shows the complete text.
const maxShown = 2000

/** Returns the calls in the order in which the model requested them, with shortened results. */
export function toolCallsOf(steps: TurnStep[]): ToolCall[] {
  return readJournal(steps).flatMap(({ step, toolCalls }) =>
    toolCalls.map((call) => {
      const shown = showCall(step, call)
      return { ...shown, result: shown.result && shorten(shown.result) }
    }),
  )
}

export function showSteps(steps: TurnStep[]): ShownStep[] {
  const models = new Map<number, TurnStep>()
  return steps.map((entry): ShownStep => {
    const { run, step, part, createdAt } = entry
    if (entry.kind === 'model') models.set(step, entry)
    const model = models.get(step)
    const read = model && readJournal(model === entry ? [entry] : [model, entry])[0]
    if (entry.kind === 'model') {
      const { text, toolCalls, usage, usageEstimated } = read!
      const calls = toolCalls.map(({ name, arguments: given }) => ({ name, arguments: given }))
      return { run, step, part, createdAt, kind: entry.kind, text, calls, usage, usageEstimated }
    }
    const call = read?.toolCalls[part - 1]
    return { run, step, part, createdAt, kind: entry.kind, call: call ? showCall(step, call) : null }
  })
}

const showCall = (step: number, { name, arguments: given, result }: StepCall): ToolCall => ({
  name,
  step,
  arguments: given,
  result: result?.text ?? null,
  isError: result?.isError ?? null,
  ms: result?.ms ?? null,
  price: result ? BigInt(result.price ?? 0) : null,
})

function shorten(text: string): string {
  const characters = Array.from(text.slice(0, 2 * maxShown))
  return characters.length > maxShown ? `${characters.slice(0, maxShown).join('')}…` : text
}
