/** The journal's payload: finished steps as JSON, written and read here alone. */
import type { JournalEntry } from '../store/store.ts'
import type { ModelUsage, ToolCall } from './model.ts'

export type FinishedStep = {
  /** 1 for a run's first model call. */
  step: number
  text: string
  toolCalls: (ToolCall & { result: string })[]
  usage: ModelUsage
  usageEstimated: boolean
}

export function writeStep(finished: FinishedStep): JournalEntry[] {
  const { step, ...payload } = finished
  return [{ step, part: 0, kind: 'model', payload: JSON.stringify(payload) }]
}

/** Entries in order of their steps, as the store answers them. */
export function readJournal(entries: JournalEntry[]): FinishedStep[] {
  return entries
    .filter(({ kind }) => kind === 'model')
    .map(({ step, payload }) => ({ step, ...(JSON.parse(payload) as Omit<FinishedStep, 'step'>) }))
}
