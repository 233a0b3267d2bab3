/** Rebuilds what a model call was sent, from what is stored of its turn, for the trace (`trace.stored`). Pure. */
import type { HistoryMessage, JournalEntry } from '../store/turn-records.ts'
import type { Passage, PromptMessage } from './models/model.ts'
import { buildPrompt } from './prompt.ts'
import { Steps } from './steps.ts'

export type SentParts = {
  systemPrompt: string
  passages: Passage[]
  history: HistoryMessage[]
  message: string
  /** The journal before the call, in order: of its run and of those that the run continues. */
  journal: JournalEntry[]
}

/** The messages as the loop passed them to the model, before an adapter wrote them in the format of its API. */
export function rebuildPrompt({ journal, ...parts }: SentParts): PromptMessage[] {
  return [...buildPrompt(parts), ...new Steps(journal, 0).messages()]
}

/** The part of a reply that comes after the texts of these steps: the text of the last model call. */
export function lastTextOf(reply: string, journal: JournalEntry[]): string {
  const before = new Steps(journal, 0).text
  return reply.startsWith(before) ? reply.slice(before.length).replace(/^\n\n/, '') : reply
}
