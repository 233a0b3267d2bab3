/** What admission and recovery hand to a run beside its message: the dialog history of its conversation, and what was journalled before it. */
import type { HistoryMessage, JournalEntry } from '../turn-records.ts'
import type { SqlValue } from '../sql.ts'
import type { Statements } from './statements.ts'

// Twelve exchanges, as many as an ordinary window holds. Rows that are read together cost less than half of what rows one by one do.
const rowsAtOnce = 24

/** The newest whole exchanges within `windowTokens`, oldest first: one range of the index, ended soon after the window is full. */
export function readHistory(sql: Statements, conversationId: string, windowTokens: number): HistoryMessage[] {
  const newestFirst: HistoryMessage[] = []
  let left = windowTokens
  let before = Number.MAX_SAFE_INTEGER
  for (;;) {
    // An even number of them, and seq has no gaps and its replies are even (`roles_alternate`): each reply is followed by its message.
    const rows = sql.walkHistory.all(conversationId, before, rowsAtOnce) as unknown as HistoryRow[]
    for (let index = 0; index + 1 < rows.length; index += 2) {
      const [, reply, replyTokens] = rows[index]!
      const [seq, message, tokens] = rows[index + 1]!
      left -= tokens + replyTokens
      if (left < 0) return newestFirst.toReversed()
      newestFirst.push({ role: 'assistant', content: reply }, { role: 'user', content: message })
      before = seq
    }
    if (rows.length < rowsAtOnce) return newestFirst.toReversed()
  }
}

type HistoryRow = [seq: number, content: string, tokens: number]

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
