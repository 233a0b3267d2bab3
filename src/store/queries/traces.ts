/** Traces (`trace.stored`): what a reader needs to explain a turn, and their deletion by age. Only the turn path writes them. */
import type { CauseKind } from '../../cause-kinds.ts'
import type { Row, Sql } from '../sql.ts'
import { bytes, integer, integerOrNull, text, textOrNull } from './columns.ts'
import { findTurn } from './turns.ts'
import type { TurnRecord, TurnStep } from './turns.ts'
import { read, serviceWrite } from './operation.ts'
import { ofConversation, ofTurn } from './scope.ts'
import { readingIf } from './audit.ts'

export type TracedTurn = TurnRecord & {
  message: string
  /** The reply of a completed turn. */
  reply: string | null
  /** `retry.continues`: the first run whose journal the later runs continue, or null. */
  continuesFrom: number | null
  /** The journal of all runs, in order. */
  steps: TurnStep[]
  traces: { run: number; content: Uint8Array }[]
  /** The runs that ended without a reply and were not cancelled. */
  errors: { run: number; causeKind: CauseKind; endedAt: number }[]
  /** The store's clock. */
  readAt: number
}

/** Undefined if there is no such turn, or it was erased. */
async function findTracedTurn(sql: Sql, requestId: string): Promise<TracedTurn | undefined> {
  const turn = await findTurn(sql, requestId)
  if (!turn || turn.erasedAt !== null) return undefined
  const [stored] = await sql.all(
    `select t.message, t.continues_from, m.content as reply
      from turns t left join messages m on m.request_id = t.request_id and m.role = 'assistant' where t.request_id = $1`,
    requestId,
  )
  const traces = await sql.all('select run, content from traces where request_id = $1 order by run', requestId)
  const errors = await sql.all('select run, cause_kind, ended_at from turn_errors where request_id = $1 order by run', requestId)
  return {
    ...turn,
    message: text(stored!, 'message'),
    reply: textOrNull(stored!, 'reply'),
    continuesFrom: integerOrNull(stored!, 'continues_from'),
    traces: traces.map((row) => ({ run: integer(row, 'run'), content: bytes(row, 'content') })),
    errors: errors.map(readError),
    readAt: await sql.now(),
  }
}

const readError = (row: Row) => ({
  run: integer(row, 'run'),
  causeKind: text(row, 'cause_kind') as CauseKind,
  endedAt: integer(row, 'ended_at'),
})

export type HistoryBefore = {
  requestId: string
  conversationId: string
  /** Whether the messages of the turn, if it has any, are of this run. */
  isLastRun: boolean
  /** The end of the run, by the store's clock: the turns of a conversation run one after the other, so later messages came later. */
  endedAt: number
  limit: number
}

export type SentBefore = { content: string; tokens: number }

/** The newest messages that a run of a turn could see, at most `limit`, oldest first. */
async function listHistoryBefore(sql: Sql, { requestId, conversationId, isLastRun, endedAt, limit }: HistoryBefore): Promise<SentBefore[]> {
  if (limit === 0) return []
  const [own] = isLastRun ? await sql.all(`select seq from messages where request_id = $1 and role = 'user'`, requestId) : []
  const [newest] = own
    ? [{ seq: integer(own, 'seq') - 1 }]
    : await sql.all(
        `select seq from messages where conversation_id = $1 and seq % 2 = 0 and created_at <= $2 and request_id <> $3
           order by seq desc limit 1`,
        conversationId,
        endedAt,
        // A turn that was running a moment ago may have its reply now.
        requestId,
      )
  return newest ? listUpTo(sql, { conversationId, limit, seq: integer(newest, 'seq') }) : []
}

/** The newest messages of a conversation, at most `limit`, oldest first. */
function listNewestMessages(sql: Sql, { conversationId, limit }: { conversationId: string; limit: number }): Promise<SentBefore[]> {
  return listUpTo(sql, { conversationId, limit, seq: Number.MAX_SAFE_INTEGER })
}

async function listUpTo(
  sql: Sql,
  { conversationId, limit, seq }: { conversationId: string; limit: number; seq: number },
): Promise<SentBefore[]> {
  const rows = await sql.all(
    'select content, tokens from messages where conversation_id = $1 and seq <= $2 order by seq desc limit $3',
    conversationId,
    seq,
    limit,
  )
  return rows.map((row) => ({ content: text(row, 'content'), tokens: integer(row, 'tokens') })).toReversed()
}

/**
 * Deletes traces of turns that were admitted longer ago, of at most `limit` turns. Request IDs start with the time of the admission, so this
 * is a range of the key. Returns how many rows were found.
 */
async function clearTraces(sql: Sql, { olderThanMs, limit }: { olderThanMs: number; limit: number }): Promise<number> {
  const before = firstIdAt((await sql.now()) - olderThanMs)
  return sql.run(
    'delete from traces where request_id in (select request_id from traces where request_id < $1 order by request_id limit $2)',
    before,
    limit,
  )
}

/** A text that is greater than the request IDs from before this time, and smaller than those from then on. */
function firstIdAt(epochMs: number): string {
  const hex = Math.max(0, Math.floor(epochMs)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}

export const traceReads = {
  findTracedTurn: read(findTracedTurn, {
    queue: 'search',
    scope: ofTurn((requestId) => requestId, undefined),
    readings: (found, requestId) => readingIf(found, 'turn', requestId),
  }),
  listHistoryBefore: read(listHistoryBefore, {
    queue: 'search',
    scope: ofConversation(({ conversationId }) => conversationId, []),
    readings: (messages, { requestId }) => readingIf(messages.length > 0, 'turn', requestId),
  }),
  listNewestMessages: read(listNewestMessages, {
    queue: 'search',
    scope: ofConversation(({ conversationId }) => conversationId, []),
    readings: (messages, { conversationId }) => readingIf(messages.length > 0, 'conversation', conversationId),
  }),
}

export const traceWrites = {
  clearTraces: serviceWrite(clearTraces, { audit: null, changesCaches: false }),
}
