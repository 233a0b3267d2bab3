/** What admission and recovery hand to a run beside its message: the dialog history of its conversation, and what was journalled before it. */
import type { HistoryMessage, JournalEntry, SqlValue } from '../store.ts'
import type { Statements } from './statements.ts'

/** The newest whole exchanges within `windowTokens`, oldest first: one range of the index, ended as soon as the window is full. */
export function readHistory(sql: Statements, conversationId: string, windowTokens: number): HistoryMessage[] {
  const newestFirst: HistoryMessage[] = []
  let reply: HistoryMessage | undefined
  let replyTokens = 0
  let left = windowTokens
  for (const row of sql.walkHistory.iterate(conversationId)) {
    const tokens = Number(row.tokens)
    if (row.role === 'assistant') {
      reply = { role: 'assistant', content: row.content as string }
      replyTokens = tokens
      continue
    }
    left -= tokens + replyTokens
    if (left < 0 || !reply) break
    newestFirst.push(reply, { role: 'user', content: row.content as string })
  }
  return newestFirst.toReversed()
}

/** Of this run of the turn and those after it, in order; of one part first the model's, then started, then finished. */
export function readJournal(sql: Statements, requestId: string, firstRun: SqlValue): JournalEntry[] {
  return sql.findSteps.all(requestId, firstRun).map((row): JournalEntry => ({
    step: Number(row.step),
    part: Number(row.part),
    kind: row.kind as JournalEntry['kind'],
    payload: row.payload as string,
  }))
}

/** The highest step that runs before this one have journalled; 0 where there is none. */
export function readStepsBefore(sql: Statements, requestId: string, firstRun: SqlValue): number {
  return Number(sql.lastStepBefore.get(requestId, firstRun)!.step ?? 0)
}
