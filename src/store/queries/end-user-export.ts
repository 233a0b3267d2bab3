/** The turns of a conversation with all that is stored of each, for the export of an end user's data (`end-users.export`). */
import type { Sql } from '../sql.ts'
import { bigInteger, integer, text, textOrNull } from './columns.ts'
import { readFeedback } from './feedback.ts'
import type { Feedback } from './feedback.ts'
import { readTurn, turnColumns } from './turns.ts'
import type { TurnRecord } from './turns.ts'
import type { Amount } from '../../ledger/ledger.ts'
import { read } from './operation.ts'
import { ofConversation } from './scope.ts'
import { readingIf } from './audit.ts'

export type ExportedTurn = {
  turn: TurnRecord
  /** What the end user wrote, if it is in no message: only a completed turn has messages. */
  message: string | null
  feedback: Feedback | null
  /** Of a completed turn. */
  charge: { id: string; amount: Amount; createdAt: number } | null
}

/** In the order of their request IDs, which is that of their admission; at most `limit` after `after`, which is empty for the first page. */
export async function listExportedTurns(
  sql: Sql,
  { conversationId, after, limit }: { conversationId: string; after: string; limit: number },
): Promise<ExportedTurn[]> {
  const rows = await sql.all(
    `select ${turnColumns}, case when t.state = 'completed' then null else t.message end as message,
       l.id as charge_id, l.amount as charge_amount, l.created_at as charge_at from turns t
       left join ledger l on l.request_id = t.request_id and l.kind = 'charge'
     where t.conversation_id = $1 and t.request_id > $2 order by t.request_id limit $3`,
    conversationId,
    after,
    limit,
  )
  if (rows.length === 0) return []
  const rated = await sql.all(
    `select request_id, rating, comment, tags, created_at, updated_at from feedback
     where request_id in (${rows.map((_, index) => `$${index + 1}`).join(', ')})`,
    ...rows.map((row) => text(row, 'request_id')),
  )
  const feedback = new Map(rated.map((row) => [text(row, 'request_id'), readFeedback(row)]))
  return rows.map((row) => ({
    turn: readTurn(row),
    message: textOrNull(row, 'message'),
    feedback: feedback.get(text(row, 'request_id')) ?? null,
    charge:
      row['charge_id'] === null
        ? null
        : { id: text(row, 'charge_id'), amount: bigInteger(row, 'charge_amount'), createdAt: integer(row, 'charge_at') },
  }))
}

export const endUserExportReads = {
  listExportedTurns: read(listExportedTurns, {
    queue: 'search',
    scope: ofConversation(({ conversationId }) => conversationId, []),
    readings: (turns, { conversationId }) => readingIf(turns.length > 0, 'conversation', conversationId),
  }),
}
