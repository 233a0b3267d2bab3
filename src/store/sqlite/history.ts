/** What a run receives besides its message: the history of its conversation, and the journal before it. */
import type { HistoryMessage, JournalEntry } from '../turn-records.ts'
import type { SqlValue } from '../sql.ts'
import type { Statements } from './statements.ts'

// Twelve exchanges, as many as a typical window holds. Reading rows together costs less than half of reading them one by one.
const rowsAtOnce = 24

/**
 * The newest whole exchanges within `windowTokens`, oldest first. Reads one range of the index, and stops soon after the window is full.
 */
export function readHistory(sql: Statements, conversationId: string, windowTokens: number): HistoryMessage[] {
  const newestFirst: HistoryMessage[] = []
  let left = windowTokens
  let before = Number.MAX_SAFE_INTEGER
  for (;;) {
    // An even number of messages. `seq` has no gaps and replies have even numbers (`roles_alternate`), so each reply is followed by its
    // message.
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

/** The entries of `firstRun` and of later runs of the turn, in order; for one part by model, started, finished. */
export function readJournal(sql: Statements, requestId: string, firstRun: SqlValue): JournalEntry[] {
  return sql.findSteps.all(requestId, firstRun).map((row): JournalEntry => ({
    step: Number(row.step),
    part: Number(row.part),
    kind: row.kind as JournalEntry['kind'],
    payload: row.payload as string,
  }))
}

/** The highest step in the journal of the runs before `firstRun`, or 0. */
export function readStepsBefore(sql: Statements, requestId: string, firstRun: SqlValue): number {
  return Number(sql.lastStepBefore.get(requestId, firstRun)!.step ?? 0)
}
