/**
 * What the bodies of webhooks are built from, read when they are sent. An erased end user is therefore in no body that is sent later, and
 * nothing is stored twice.
 */
import type { Amount } from '../../../ledger/ledger.ts'
import type { Row, Sql } from '../../sql.ts'
import { bigInteger, integer, integerOrNull, text, textOrNull } from '../columns.ts'
import type { EventType } from '../../../event-types.ts'
import type { SpendScope, SpendSpan } from '../../../spend-limits.ts'
import type { Spending } from '../spend-limits.ts'

export type EventRecord = {
  id: string
  type: EventType
  subject: string
  ownerId: string
  agentId: string | null
  occurredAt: number
  data: EventData
}

export type EventData =
  | { kind: 'turn'; turn: EventTurn }
  | { kind: 'feedback'; turn: EventTurn; rating: string; comment: string | null; tags: string[] }
  | { kind: 'balance'; balance: Amount; lowBalance: Amount | null }
  | { kind: 'document'; documentId: string; title: string | null; reason: string | null }
  | { kind: 'spend_limit'; reached: ReachedLimit }

/** A window of a limit as it is now, and the threshold of the limit that it had then. */
export type ReachedLimit = Omit<Spending, 'subject'> & {
  /** Null: the end user was erased. */
  subject: string | null
  thresholdPercent: number
}

export type EventTurn = {
  requestId: string
  conversationId: string
  /** Null after an erasure. */
  externalUserId: string | null
  apiKeyId: string
  agentVersion: number
  state: string
  run: number
  failureCode: string | null
  usage: { promptTokens: number; completionTokens: number; charged: Amount; estimated: boolean } | null
  incomplete: boolean
  createdAt: number
  /** Null unless the turn is completed, and after an erasure. */
  userMessage: { id: string; content: string } | null
  reply: { id: string; content: string } | null
}

/** The stored events among these IDs, with their data. */
export async function readEvents(sql: Sql, eventIds: string[]): Promise<EventRecord[]> {
  const events: EventRecord[] = []
  for (const id of eventIds) {
    const [row] = await sql.all('select id, type, subject, owner_id, agent_id, occurred_at from events where id = $1', id)
    // Deleted by age since it was claimed.
    if (!row) continue
    const event = {
      id,
      // As written by recordEvent.
      type: text(row, 'type') as EventType,
      subject: text(row, 'subject'),
      ownerId: text(row, 'owner_id'),
      agentId: textOrNull(row, 'agent_id'),
      occurredAt: integer(row, 'occurred_at'),
    }
    events.push({ ...event, data: await readData(sql, event) })
  }
  return events
}

function readData(sql: Sql, event: Omit<EventRecord, 'data'>): Promise<EventData> {
  switch (event.type) {
    case 'turn.completed':
    case 'turn.failed':
    case 'turn.cancelled':
      return readTurn(sql, event.subject)
    case 'turn.released':
      // The subject is the turn and its run.
      return readTurn(sql, event.subject.slice(0, event.subject.lastIndexOf('_')))
    case 'feedback.created':
      return readFeedback(sql, event.subject)
    case 'balance.low':
    case 'balance.exhausted':
      return readBalance(sql, event.ownerId)
    case 'document.ready':
    case 'document.failed':
      return readDocument(sql, event.subject.slice(0, event.subject.lastIndexOf('_')))
    case 'spend_limit.reached':
      return readReachedLimit(sql, event.subject)
  }
}

async function readTurn(sql: Sql, requestId: string): Promise<{ kind: 'turn'; turn: EventTurn }> {
  const [row] = await sql.all(
    `select t.request_id, t.conversation_id, c.external_user_id, t.api_key_id, t.agent_version, t.state, t.run, t.failure_code, t.prompt_tokens,
       t.completion_tokens, t.charged, t.usage_estimated, t.incomplete, t.created_at, u.id as user_message_id, u.content as user_message,
       a.id as reply_id, a.content as reply
     from turns t join conversations c on c.id = t.conversation_id
       left join messages u on u.request_id = t.request_id and u.role = 'user'
       left join messages a on a.request_id = t.request_id and a.role = 'assistant'
     where t.request_id = $1`,
    requestId,
  )
  const found = row!
  return {
    kind: 'turn',
    turn: {
      requestId,
      conversationId: text(found, 'conversation_id'),
      externalUserId: textOrNull(found, 'external_user_id'),
      apiKeyId: text(found, 'api_key_id'),
      agentVersion: integer(found, 'agent_version'),
      state: text(found, 'state'),
      run: integer(found, 'run'),
      failureCode: textOrNull(found, 'failure_code'),
      usage: found['charged'] === null ? null : readUsage(found),
      incomplete: integer(found, 'incomplete') === 1,
      createdAt: integer(found, 'created_at'),
      userMessage: readMessage(found, 'user_message'),
      reply: readMessage(found, 'reply'),
    },
  }
}

const readUsage = (row: Row): NonNullable<EventTurn['usage']> => ({
  // A cancelled turn without a reply is charged for its tool calls only (`billing.tool-price`).
  promptTokens: integerOrNull(row, 'prompt_tokens') ?? 0,
  completionTokens: integerOrNull(row, 'completion_tokens') ?? 0,
  charged: bigInteger(row, 'charged'),
  estimated: integerOrNull(row, 'usage_estimated') === 1,
})

function readMessage(row: Row, column: string): { id: string; content: string } | null {
  const id = textOrNull(row, `${column}_id`)
  return id === null ? null : { id, content: text(row, column) }
}

async function readFeedback(sql: Sql, requestId: string): Promise<EventData> {
  const { turn } = await readTurn(sql, requestId)
  const [row] = await sql.all('select rating, comment, tags from feedback where request_id = $1', requestId)
  // Erased since.
  if (!row) return { kind: 'turn', turn }
  return {
    kind: 'feedback',
    turn,
    rating: text(row, 'rating'),
    comment: textOrNull(row, 'comment'),
    // As written by putFeedback.
    tags: JSON.parse(text(row, 'tags')) as string[],
  }
}

async function readBalance(sql: Sql, ownerId: string): Promise<EventData> {
  const [row] = await sql.all('select balance, low_balance from owners where id = $1', ownerId)
  const low = integerOrNull(row!, 'low_balance')
  return { kind: 'balance', balance: bigInteger(row!, 'balance'), lowBalance: low === null ? null : bigInteger(row!, 'low_balance') }
}

async function readReachedLimit(sql: Sql, subject: string): Promise<EventData> {
  const [windowId, limit, percent] = subject.split('_')
  const [row] = await sql.all(
    'select scope, subject, span, starts_at, ends_at, spent, held, unpaid from spending where id = $1',
    BigInt(windowId!),
  )
  const found = row!
  return {
    kind: 'spend_limit',
    reached: {
      // As written by the turn path.
      scope: text(found, 'scope') as SpendScope,
      subject: textOrNull(found, 'subject'),
      span: text(found, 'span') as SpendSpan,
      startsAt: integer(found, 'starts_at'),
      endsAt: integerOrNull(found, 'ends_at'),
      limit: BigInt(limit!),
      spent: bigInteger(found, 'spent'),
      held: bigInteger(found, 'held'),
      unpaid: bigInteger(found, 'unpaid'),
      thresholdPercent: Number(percent),
    },
  }
}

async function readDocument(sql: Sql, documentId: string): Promise<EventData> {
  const [row] = await sql.all('select title, reason from documents where id = $1 and deleted_at is null', documentId)
  return {
    kind: 'document',
    documentId,
    title: row ? text(row, 'title') : null,
    reason: row ? textOrNull(row, 'reason') : null,
  }
}
