/** The dialog history of a conversation, as admission and recovery hand it to a turn. */
import type { HistoryMessage } from '../store.ts'
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
