/** Groups the entries of a turn's journal by step: each with the model's answer and the calls it requested, in the model's order. Pure. */
import type { TurnWithSteps } from '../api/types.ts'

type Line = TurnWithSteps['steps'][number]
type Payload = NonNullable<Line['payload']>
type ModelAnswer = Extract<Payload, { usage: unknown }>

export type StepCall = {
  part: number
  name: string
  arguments: string
  result: string | null
  ms: number | null
  /** unknown: a call with side effects that was started and whose outcome is unknown. */
  outcome: 'done' | 'error' | 'unknown' | 'asked'
}

export type Step = { run: number; step: number; model: ModelAnswer | null; calls: StepCall[] }

export function gatherSteps(lines: readonly Line[]): Step[] {
  // Step numbers continue over runs, but a run that starts over has a first step again.
  const steps = Map.groupBy(lines, ({ run, step }) => `${run}-${step}`)
  return [...steps.values()].map((own) => {
    const { run, step } = own[0]!
    const answer = own.find(({ kind }) => kind === 'model')?.payload
    const model = answer && 'usage' in answer ? answer : null
    const parts = new Set([
      ...(model?.tool_calls ?? []).map((_, index) => index + 1),
      ...own.filter(({ part }) => part > 0).map(({ part }) => part),
    ])
    return { run, step, model, calls: [...parts].map((part) => gatherCall(part, model?.tool_calls[part - 1], own)) }
  })
}

function gatherCall(part: number, asked: { name: string; arguments: string } | undefined, own: Line[]): StepCall {
  const find = (kind: Line['kind']): Line | undefined => own.find((line) => line.part === part && line.kind === kind)
  const finished = find('tool_finished')
  const started = find('tool_started')
  const reported = (finished ?? started)?.payload
  const call = reported && 'result' in reported ? reported : null
  return {
    part,
    name: call?.name ?? asked?.name ?? 'unknown',
    arguments: call?.arguments ?? asked?.arguments ?? '',
    result: finished ? (call?.result ?? null) : null,
    ms: finished ? (call?.ms ?? null) : null,
    outcome: finished ? (call?.is_error ? 'error' : 'done') : started ? 'unknown' : 'asked',
  }
}
