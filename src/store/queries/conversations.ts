/**
 * Conversations for the API key that they belong to, and messages for the key and for the operator (`paging`). Read-only: conversations are created
 * by admission and settlement, and emptied by erasure. any-conversations.ts lists those of all keys.
 */
import { isCutOff } from '../../finish-reason.ts'
import type { ReplyEnd, ReplyFinishReason } from '../../finish-reason.ts'
import type { Amount } from '../../ledger/ledger.ts'
import type { Citation, Role } from '../turn-records.ts'
import type { Row, Sql } from '../sql.ts'
import { maxBytes } from '../budget.ts'
import { bigInteger, integer, integerOrNull, readFinishReason, text, textOrNull } from './columns.ts'
import type { BoundedItems, PageRequest } from './paging.ts'
import { readRating } from './feedback.ts'
import type { Rating } from './feedback.ts'
import { listStepsOfTurns, readState } from './turns.ts'
import type { TurnState, TurnStep } from './turns.ts'
import { read, serviceRead } from './operation.ts'
import { ofConversation } from './scope.ts'
import { readingIf } from './audit.ts'

export type Conversation = {
  id: string
  externalUserId: string
  createdAt: number
  lastMessageAt: number
  messageCount: number
}

/** `cutOff`: a reply that ends before its end (`turn.finish-reason`). */
export type Message = { id: string; role: Role; content: string; createdAt: number; requestId: string; cutOff: boolean }

/** A message and the figures of its turn. A reply has its citations and the steps that led to it; a user's message has neither. */
export type MessageOfTurn = Message & { citations: Citation[]; steps: TurnStep[]; turn: TurnFigures }

export type TurnFigures = {
  state: TurnState
  agentVersion: number
  /** The reply is the text that had been generated when the turn was cancelled. */
  incomplete: boolean
  /** `turn.finish-reason` */
  finishReason: ReplyFinishReason | null
  /** Of the feedback on the turn. */
  rating: Rating | null
  promptTokens: number | null
  completionTokens: number | null
  usageEstimated: boolean | null
  charged: Amount | null
  failureCode: string | null
  failureCause: string | null
}

/** The conversations of this key with at least one message, newest first; with `externalUserId`, only those of this end user. */
async function listConversations(
  sql: Sql,
  request: PageRequest & { apiKeyId: string; externalUserId: string | undefined },
): Promise<Conversation[]> {
  const { apiKeyId, externalUserId, limit, before } = request
  const rows =
    externalUserId === undefined
      ? await sql.all(
          `select id, external_user_id, created_at, last_message_at, message_count from conversations
           where api_key_id = $1 and external_user_id is not null and message_count > 0 and (created_at, id) < ($2, $3)
           order by created_at desc, id desc limit $4`,
          apiKeyId,
          before.createdAt,
          before.id,
          limit,
        )
      : await sql.all(
          `select id, external_user_id, created_at, last_message_at, message_count from conversations
           where api_key_id = $1 and external_user_id = $2 and message_count > 0 and (created_at, id) < ($3, $4)
           order by created_at desc, id desc limit $5`,
          apiKeyId,
          externalUserId,
          before.createdAt,
          before.id,
          limit,
        )
  return rows.map((row) => ({
    id: text(row, 'id'),
    externalUserId: text(row, 'external_user_id'),
    createdAt: integer(row, 'created_at'),
    lastMessageAt: integer(row, 'last_message_at'),
    messageCount: integer(row, 'message_count'),
  }))
}

/**
 * Newest first, at most `limit` and at most `maxBytes` of JSON, but at least one. Undefined for a conversation that does not exist, was erased
 * or belongs to another key; the caller cannot tell which.
 */
async function listMessages(
  sql: Sql,
  { apiKeyId, conversationId, ...page }: PageRequest & { apiKeyId: string; conversationId: string },
): Promise<BoundedItems<Message> | undefined> {
  const [own] = await sql.all(
    'select id from conversations where id = $1 and api_key_id = $2 and external_user_id is not null',
    conversationId,
    apiKeyId,
  )
  if (!own) return undefined
  const found = await findPage(sql, conversationId, page, '0')
  if (!found) return { items: [], more: false }
  const rows = await sql.all(
    `select m.id, m.role, m.content, m.created_at, m.request_id, t.incomplete, t.finish_reason
     from messages m join turns t on t.request_id = m.request_id
     where m.conversation_id = $1 and m.seq between $2 and $3 order by m.seq desc`,
    conversationId,
    found.first,
    found.last,
  )
  return bounded(rows.map(readMessage), found)
}

// Of the other fields of a message, with their names.
const messageBytes = 512

/** A range of `seq`. `more`: older messages follow. `besides`: for each message, the bytes of JSON that are listed with its text. */
type FoundPage = { first: number; last: number; more: boolean; besides: number[] }

/**
 * `overload.unread`: finds the messages of a page by their sizes, so that nothing is read that does not fit. `besides` is SQL: the bytes of
 * JSON that are listed with the text of a message `m`. Returns undefined for a page without messages.
 */
async function findPage(sql: Sql, conversationId: string, { limit, before }: PageRequest, besides: string): Promise<FoundPage | undefined> {
  const rows = await sql.all(
    `select m.seq, octet_length(m.content) as bytes, ${besides} as besides from messages m
     where m.conversation_id = $1 and ($2 = '' or m.seq < (select seq from messages where conversation_id = $1 and id = $2))
     order by m.seq desc limit $3`,
    conversationId,
    before.id,
    limit + 1,
  )
  const sizes = rows.map((row) => integer(row, 'bytes') + integer(row, 'besides'))
  const count = Math.min(limit, fittingIn(sizes))
  if (count === 0) return undefined
  return {
    first: integer(rows[count - 1]!, 'seq'),
    last: integer(rows[0]!, 'seq'),
    more: rows.length > count,
    besides: rows.map((row) => integer(row, 'besides')),
  }
}

/** The messages whose texts fit as JSON, which may need six bytes for one. */
function bounded<One extends Message>(messages: One[], { more, besides }: FoundPage): BoundedItems<One> {
  const count = fittingIn(messages.map(({ content }, index) => Buffer.byteLength(JSON.stringify(content)) + besides[index]!))
  return { items: messages.slice(0, count), more: more || count < messages.length }
}

/** How many of these fit in a page. The first one always does, however large it is. */
function fittingIn(sizes: number[]): number {
  let bytes = 0
  const tooMany = sizes.findIndex((size, index) => (bytes += size + messageBytes) > maxBytes && index > 0)
  return tooMany === -1 ? sizes.length : tooMany
}

// Both are stored as JSON. The steps are those of `listStepsOfTurns`, and only a reply has them.
const citationsAndSteps = `coalesce(octet_length(m.citations), 0) + case when m.role = 'assistant' then coalesce((
       select sum(octet_length(j.payload)) from turns t join journal j on j.request_id = t.request_id and j.run >= coalesce(t.continues_from, t.run)
       where t.request_id = m.request_id), 0) else 0 end`

/** Newest first, for any key, bounded like `listMessages`. Undefined if the conversation does not exist. An erased one has no messages. */
async function listAllMessages(
  sql: Sql,
  { conversationId, ...page }: PageRequest & { conversationId: string },
): Promise<BoundedItems<MessageOfTurn> | undefined> {
  const [known] = await sql.all('select id from conversations where id = $1', conversationId)
  if (!known) return undefined
  const found = await findPage(sql, conversationId, page, citationsAndSteps)
  if (!found) return { items: [], more: false }
  const rows = await sql.all(
    `select m.id, m.role, m.content, m.citations, m.created_at, m.request_id, t.state, t.agent_version, t.prompt_tokens, t.completion_tokens,
       t.usage_estimated, t.charged, t.incomplete, t.finish_reason, t.failure_code, t.failure_cause, f.rating
     from messages m join turns t on t.request_id = m.request_id left join feedback f on f.request_id = m.request_id
     where m.conversation_id = $1 and m.seq between $2 and $3 order by m.seq desc`,
    conversationId,
    found.first,
    found.last,
  )
  const messages = rows.map((row): MessageOfTurn => ({
    ...readMessage(row),
    citations: readCitations(row),
    steps: [],
    turn: readFigures(row),
  }))
  const part = bounded(messages, found)
  const replies = part.items.filter(({ role }) => role === 'assistant')
  const steps = await listStepsOfTurns(
    sql,
    replies.map(({ requestId }) => requestId),
  )
  for (const reply of replies) reply.steps = steps.get(reply.requestId) ?? []
  return part
}

/** Parses the citations that the settlement wrote. */
function readCitations(row: Row): Citation[] {
  const stored = textOrNull(row, 'citations')
  return stored === null ? [] : (JSON.parse(stored) as Citation[])
}

function readMessage(row: Row): Message {
  return {
    id: text(row, 'id'),
    role: text(row, 'role') === 'user' ? 'user' : 'assistant',
    content: text(row, 'content'),
    createdAt: integer(row, 'created_at'),
    requestId: text(row, 'request_id'),
    cutOff: row['role'] === 'assistant' && isCutOff(readEnd(row)),
  }
}

const readEnd = (row: Row): ReplyEnd => ({ incomplete: integer(row, 'incomplete') === 1, finishReason: readFinishReason(row) })

function readFigures(row: Row): TurnFigures {
  return {
    state: readState(row),
    agentVersion: integer(row, 'agent_version'),
    ...readEnd(row),
    rating: row['rating'] === null ? null : readRating(row),
    promptTokens: integerOrNull(row, 'prompt_tokens'),
    completionTokens: integerOrNull(row, 'completion_tokens'),
    usageEstimated: row.usage_estimated === null ? null : integer(row, 'usage_estimated') === 1,
    charged: row.charged === null ? null : bigInteger(row, 'charged'),
    failureCode: textOrNull(row, 'failure_code'),
    failureCause: textOrNull(row, 'failure_cause'),
  }
}

export const conversationReads = {
  listConversations: serviceRead(listConversations),
  listMessages: serviceRead(listMessages, 'search'),
  listAllMessages: read(listAllMessages, {
    queue: 'search',
    scope: ofConversation(({ conversationId }) => conversationId, undefined),
    // mutant: audit.reads
    readings: (page, { conversationId }) => readingIf(page && page.items.length > 0, 'conversation', conversationId),
  }),
}
