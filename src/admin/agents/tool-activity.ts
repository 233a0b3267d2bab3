/** What a turn did on its way to the reply, read from its journal for the operator: steps, and the calls of tools in them. Pure. */
import { readJournal } from '../../agent/journal.ts'
import type { StepCall } from '../../agent/journal.ts'
import type { ModelUsage } from '../../agent/models/model.ts'
import type { TurnStep } from '../../store/queries/turns.ts'

/** A call of a tool. What is not known of its end, since there was none or it was not told, is null. */
export type ToolCall = {
  name: string
  /** The call of the model that asked for it, from 1. */
  step: number
  arguments: string
  result: string | null
  isError: boolean | null
  ms: number | null
}

/** A line of the journal in words; `call` is null where the step it belongs to is not there. */
export type ShownStep = Pick<TurnStep, 'run' | 'step' | 'part' | 'createdAt'> &
  (
    | { kind: 'model'; text: string; calls: Pick<ToolCall, 'name' | 'arguments'>[]; usage: ModelUsage; usageEstimated: boolean }
    | { kind: 'tool_started' | 'tool_finished'; call: ToolCall | null }
  )

// As much as a person reads in a list; the whole of it stands in the turn.
const maxShown = 2000

/** In the order of the model's asking, results shortened. */
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
})

function shorten(text: string): string {
  const characters = Array.from(text.slice(0, 2 * maxShown))
  return characters.length > maxShown ? `${characters.slice(0, maxShown).join('')}…` : text
}
