/**
 * What the bodies of webhooks are built from, read when they are sent. An erased end user is therefore in no body that is sent later, and
 * nothing is stored twice.
 */
import type { ReplyFinishReason } from '../../../finish-reason.ts'
import type { Amount } from '../../../ledger/ledger.ts'
import type { Row, Sql } from '../../sql.ts'
import { bigInteger, integer, integerOrNull, readFinishReason, text, textOrNull } from '../columns.ts'
import type { EventType } from '../../../event-types.ts'
import type { SpendScope, SpendSpan } from '../../../spend-limits.ts'
import type { Spending } from '../spending.ts'
import { serviceRead } from '../operation.ts'

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
  /** `turn.finish-reason` */
  finishReason: ReplyFinishReason | null
  createdAt: number
  /** Null unless the turn is completed, and after an erasure. */
  userMessage: { id: string; content: string } | null
  reply: { id: string; content: string } | null
}

/** An event that cannot be read, and why, without the text of an end user. */
export type UnreadableEvent = { id: string; problem: string }
export type ReadEvents = { events: EventRecord[]; unreadable: UnreadableEvent[] }

/** The stored events among these IDs, with their data. An event that cannot be read does not affect the others. */
export async function readEvents(sql: Sql, eventIds: string[]): Promise<ReadEvents> {
  // An event that is missing was deleted by age since it was claimed.
  const rows = await rowsOf(sql, 'select id, type, subject, owner_id, agent_id, occurred_at from events where id in', eventIds)
  const sources = await readSources(sql, rows)
  const events: EventRecord[] = []
  const unreadable: UnreadableEvent[] = []
  for (const row of rows)
    try {
      events.push(readEvent(row, sources))
    } catch (error) {
      // Only the rows are read here, so this is never a failure of the store. A message names columns and no values.
      unreadable.push({ id: text(row, 'id'), problem: (error as Error).message })
    }
  return { events, unreadable }
}

/** For a reader who may not see what end users wrote. */
export function withoutTexts(event: EventRecord): EventRecord {
  const { data } = event
  if (data.kind !== 'turn' && data.kind !== 'feedback') return event
  const turn = { ...data.turn, userMessage: null, reply: null }
  return { ...event, data: data.kind === 'turn' ? { ...data, turn } : { ...data, turn, comment: null } }
}

/** One query for all events. */
const rowsOf = (sql: Sql, query: string, ids: string[]): Promise<Row[]> =>
  ids.length === 0 ? Promise.resolve([]) : sql.all(`${query} (${ids.map((_, index) => `$${index + 1}`).join(', ')})`, ...ids)

/** The rows that events are built from, by ID. */
type Sources = Record<'turns' | 'feedback' | 'owners' | 'documents' | 'windows', Map<unknown, Row>>

async function readSources(sql: Sql, events: Row[]): Promise<Sources> {
  const ids = (prefix: string, idOf: (row: Row) => unknown): string[] => [
    ...new Set(events.filter(({ type }) => String(type).startsWith(prefix)).map((row) => String(idOf(row)))),
  ]
  const byId = async (query: string, wanted: string[]): Promise<Map<unknown, Row>> =>
    new Map((await rowsOf(sql, query, wanted)).map((row) => [row['source_id'], row]))
  const rated = ids('feedback.', ({ subject }) => subject)
  return {
    turns: await byId(selectTurns, [...new Set([...ids('turn.', turnOf), ...rated])]),
    feedback: await byId('select request_id as source_id, rating, comment, tags from feedback where request_id in', rated),
    owners: await byId(
      'select id as source_id, balance, low_balance from owners where id in',
      ids('balance.', (row) => row['owner_id']),
    ),
    documents: await byId(
      'select id as source_id, title, reason from documents where deleted_at is null and id in',
      ids('document.', beforeLast),
    ),
    windows: await byId(
      `select cast(id as text) as source_id, scope, subject, span, starts_at, ends_at, spent, held, unpaid from spending where id in`,
      ids('spend_limit.', windowOf),
    ),
  }
}

const selectTurns = `select t.request_id as source_id, t.conversation_id, c.external_user_id, t.api_key_id, t.agent_version, t.state, t.run, t.failure_code,
       t.prompt_tokens, t.completion_tokens, t.charged, t.usage_estimated, t.incomplete, t.finish_reason, t.created_at, u.id as user_message_id,
       u.content as user_message, a.id as reply_id, a.content as reply
     from turns t join conversations c on c.id = t.conversation_id
       left join messages u on u.request_id = t.request_id and u.role = 'user'
       left join messages a on a.request_id = t.request_id and a.role = 'assistant'
     where t.request_id in`

/** The subject of a reached limit begins with its window. */
const windowOf = (event: Row): string => String(event['subject']).split('_')[0]!
/** The subject of a released turn is the turn and its run, that of a document the document and the number of its indexing. */
const beforeLast = (event: Row): string => String(event['subject']).replace(/_[^_]*$/, '')
const turnOf = (event: Row): string => (event['type'] === 'turn.released' ? beforeLast(event) : String(event['subject']))

function readEvent(row: Row, sources: Sources): EventRecord {
  return {
    id: text(row, 'id'),
    // As written by recordEvent.
    type: text(row, 'type') as EventType,
    subject: text(row, 'subject'),
    ownerId: text(row, 'owner_id'),
    agentId: textOrNull(row, 'agent_id'),
    occurredAt: integer(row, 'occurred_at'),
    data: readData(row, sources),
  }
}

function readData(event: Row, { turns, feedback, owners, documents, windows }: Sources): EventData {
  const type = text(event, 'type') as EventType
  switch (type) {
    case 'turn.completed':
    case 'turn.failed':
    case 'turn.cancelled':
    case 'turn.released':
      return { kind: 'turn', turn: readTurn(turns.get(turnOf(event))) }
    case 'feedback.created':
      return readFeedback(readTurn(turns.get(event['subject'])), feedback.get(event['subject']))
    case 'balance.low':
    case 'balance.exhausted':
      return readBalance(owners.get(event['owner_id']))
    case 'document.ready':
    case 'document.failed':
      return readDocument(beforeLast(event), documents.get(beforeLast(event)))
    case 'spend_limit.reached':
      return readReachedLimit(event, windows.get(windowOf(event)))
    default:
      throw new Error(`the type of the event is unknown: ${String(type satisfies never)}`)
  }
}

function readTurn(found: Row | undefined): EventTurn {
  if (!found) throw new Error('its turn is not stored')
  return {
    requestId: text(found, 'source_id'),
    conversationId: text(found, 'conversation_id'),
    externalUserId: textOrNull(found, 'external_user_id'),
    apiKeyId: text(found, 'api_key_id'),
    agentVersion: integer(found, 'agent_version'),
    state: text(found, 'state'),
    run: integer(found, 'run'),
    failureCode: textOrNull(found, 'failure_code'),
    usage: found['charged'] === null ? null : readUsage(found),
    incomplete: integer(found, 'incomplete') === 1,
    finishReason: readFinishReason(found),
    createdAt: integer(found, 'created_at'),
    userMessage: readMessage(found, 'user_message'),
    reply: readMessage(found, 'reply'),
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

/** Without a row, the feedback was erased since. */
function readFeedback(turn: EventTurn, row: Row | undefined): EventData {
  if (!row) return { kind: 'turn', turn }
  return { kind: 'feedback', turn, rating: text(row, 'rating'), comment: textOrNull(row, 'comment'), tags: readTags(text(row, 'tags')) }
}

/** As written by putFeedback. */
function readTags(json: string): string[] {
  try {
    return JSON.parse(json) as string[]
  } catch {
    // The error of the parser quotes the text.
    throw new Error('column tags holds invalid JSON')
  }
}

function readBalance(row: Row | undefined): EventData {
  if (!row) throw new Error('its owner is not stored')
  const low = row['low_balance'] === null ? null : bigInteger(row, 'low_balance')
  return { kind: 'balance', balance: bigInteger(row, 'balance'), lowBalance: low }
}

function readReachedLimit(event: Row, window: Row | undefined): EventData {
  if (!window) throw new Error('its window is not stored')
  const [, limit, percent] = text(event, 'subject').split('_')
  return {
    kind: 'spend_limit',
    reached: {
      // As written by the turn path.
      scope: text(window, 'scope') as SpendScope,
      subject: textOrNull(window, 'subject'),
      span: text(window, 'span') as SpendSpan,
      startsAt: integer(window, 'starts_at'),
      endsAt: integerOrNull(window, 'ends_at'),
      limit: BigInt(limit!),
      spent: bigInteger(window, 'spent'),
      held: bigInteger(window, 'held'),
      unpaid: bigInteger(window, 'unpaid'),
      thresholdPercent: Number(percent),
    },
  }
}

/** Without a row, the document was deleted since. */
function readDocument(documentId: string, row: Row | undefined): EventData {
  return {
    kind: 'document',
    documentId,
    title: row ? text(row, 'title') : null,
    reason: row ? textOrNull(row, 'reason') : null,
  }
}

export const eventDataReads = {
  readEvents: serviceRead(readEvents, 'search'),
}
