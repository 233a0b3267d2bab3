/** What end users thought of a turn (`feedback`): one row for each turn, the latest, which an operator may change. Erased with the turn. */
import type { Row, Sql } from '../sql.ts'
import { integer, text, textOrNull } from './columns.ts'
import { recordEvent } from './webhooks/events.ts'
import type { PageRequest } from './paging.ts'
import { isAgentOf } from './scope-of.ts'
import { excerptOf } from './text-search.ts'
import { readState } from './turns.ts'
import type { TurnState } from './turns.ts'
import { read, write } from './operation.ts'
import { byFilter, ofTurn } from './scope.ts'
import { changed, withheld } from './audited-fields.ts'
import type { AuditedFields } from './audited-fields.ts'
import { allAgents, readingIf } from './audit.ts'

const ratings = ['up', 'down'] as const
export type Rating = (typeof ratings)[number]

export type GivenFeedback = { rating: Rating; comment: string | null; tags: string[] }
export type Feedback = GivenFeedback & { requestId: string; createdAt: number; updatedAt: number }
/** With the start of the turn's message and reply. Null after an erasure, and the reply of a turn without one. */
export type FeedbackOfTurn = Feedback & {
  agentId: string
  conversationId: string
  /** Null after erasure. */
  externalUserId: string | null
  apiKeyId: string
  state: TurnState
  message: string | null
  reply: string | null
}

/**
 * The same feedback again changes nothing. `apiKeyId` undefined: of any key, for the operator. Returns undefined if the turn does not exist, was
 * erased, still runs or belongs to another key; the caller cannot tell which.
 */
async function putFeedback(
  sql: Sql,
  { requestId, apiKeyId, rating, comment, tags }: GivenFeedback & { requestId: string; apiKeyId: string | undefined },
): Promise<Feedback | undefined> {
  // Locks the conversation, as an erasure does, so that no comment is stored for a turn that is being erased.
  const found = await sql.run(
    `update conversations set id = id where external_user_id is not null
       and id = (select conversation_id from turns where request_id = $1 and (cast($2 as text) is null or api_key_id = $2)
         and erased_at is null and state <> 'running')`,
    requestId,
    apiKeyId ?? null,
  )
  if (found === 0) return undefined
  const now = await sql.now()
  const [earlier] = await sql.all('select 1 as one from feedback where request_id = $1', requestId)
  await sql.run(
    `insert into feedback (request_id, agent_id, rating, comment, tags, created_at, updated_at)
     select request_id, agent_id, $2, $3, $4, $5, $5 from turns where request_id = $1
     on conflict (request_id) do update set rating = excluded.rating, comment = excluded.comment, tags = excluded.tags,
       updated_at = excluded.updated_at
     where feedback.rating <> excluded.rating or feedback.comment is distinct from excluded.comment or feedback.tags <> excluded.tags`,
    requestId,
    rating,
    comment,
    JSON.stringify(tags),
    now,
  )
  const [row] = await sql.all(
    'select request_id, rating, comment, tags, created_at, updated_at from feedback where request_id = $1',
    requestId,
  )
  // Later feedback on the turn is not reported, also when the event of the first one has been deleted by age.
  // mutant: webhook.once
  if (!earlier) {
    const [turn] = await sql.all('select owner_id, agent_id from turns where request_id = $1', requestId)
    const [ownerId, agentId] = [text(turn!, 'owner_id'), text(turn!, 'agent_id')]
    await recordEvent(sql, { type: 'feedback.created', subject: requestId, ownerId, agentId })
  }
  return readFeedback(row!)
}

/** `none`: the turn has no feedback. */
async function removeFeedback(sql: Sql, requestId: string): Promise<'removed' | 'none' | 'not_found'> {
  if ((await sql.run('delete from feedback where request_id = $1', requestId)) > 0) return 'removed'
  const [turn] = await sql.all('select request_id from turns where request_id = $1', requestId)
  return turn ? 'none' : 'not_found'
}

export type FeedbackFilter = {
  ownerId?: string | undefined
  agentId?: string | undefined
  rating?: Rating | undefined
  tag?: string | undefined
}

// Enough to recognize a turn.
const maxExcerpt = 200

/** The newest changes first. */
export async function listFeedback(
  sql: Sql,
  { ownerId, agentId, rating, tag }: FeedbackFilter,
  page: PageRequest,
): Promise<FeedbackOfTurn[]> {
  const tagged = sql.engine === 'sqlite' ? 'exists (select 1 from json_each(f.tags) where value = $3)' : 'f.tags::jsonb ? $3'
  const rows = await sql.all(
    `select f.request_id, f.agent_id, f.rating, f.comment, f.tags, f.created_at, f.updated_at, t.conversation_id, t.api_key_id, t.state,
       (select c.external_user_id from conversations c where c.id = t.conversation_id) as external_user_id,
       substr(t.message, 1, ${maxExcerpt + 1}) as message,
       (select substr(m.content, 1, ${maxExcerpt + 1}) from messages m where m.request_id = f.request_id and m.role = 'assistant') as reply
     from feedback f join turns t on t.request_id = f.request_id
     where (f.updated_at, f.request_id) < ($4, $5) and (cast($1 as text) is null or f.agent_id = $1)
       and (cast($2 as text) is null or f.rating = $2) and (cast($3 as text) is null or ${tagged})
       ${ownerId === undefined ? '' : `and ${isAgentOf(sql, 'f.agent_id', '$7')}`}
     order by f.updated_at desc, f.request_id desc limit $6`,
    agentId ?? null,
    rating ?? null,
    tag ?? null,
    page.before.createdAt,
    page.before.id,
    page.limit,
    ...(ownerId === undefined ? [] : [ownerId]),
  )
  return rows.map((row) => ({
    ...readFeedback(row),
    agentId: text(row, 'agent_id'),
    conversationId: text(row, 'conversation_id'),
    externalUserId: textOrNull(row, 'external_user_id'),
    apiKeyId: text(row, 'api_key_id'),
    state: readState(row),
    message: readExcerpt(row, 'message'),
    reply: readExcerpt(row, 'reply'),
  }))
}

function readExcerpt(row: Row, column: string): string | null {
  const start = textOrNull(row, column)
  return start === null ? null : excerptOf(start, undefined, maxExcerpt)!
}

async function findFeedback(sql: Sql, requestId: string): Promise<Feedback | undefined> {
  const [row] = await sql.all(
    'select request_id, rating, comment, tags, created_at, updated_at from feedback where request_id = $1',
    requestId,
  )
  return row && readFeedback(row)
}

export const readRating = (row: Row): Rating => (text(row, 'rating') === 'up' ? 'up' : 'down')

export const readFeedback = (row: Row): Feedback => ({
  requestId: text(row, 'request_id'),
  rating: readRating(row),
  comment: textOrNull(row, 'comment'),
  // As written by putFeedback.
  tags: JSON.parse(text(row, 'tags')) as string[],
  createdAt: integer(row, 'created_at'),
  updatedAt: integer(row, 'updated_at'),
})

/** Of a turn. The comment and the tags may be texts of an end user. */
const feedbackFields = ({ rating, comment, tags }: GivenFeedback | typeof noFeedback): AuditedFields => ({
  'feedback.rating': rating,
  'feedback.comment': withheld(comment),
  'feedback.tags': withheld(tags),
})

const noFeedback = { rating: null, comment: null, tags: [] }

export const feedbackReads = {
  findFeedback: read(findFeedback, {
    scope: ofTurn((requestId) => requestId, undefined),
    readings: (found, requestId) => readingIf(typeof found?.comment === 'string', 'turn', requestId),
  }),
  listFeedback: read(listFeedback, {
    queue: 'report',
    scope: byFilter,
    readings: (rows, { agentId = allAgents }) =>
      readingIf(
        rows.some(({ comment, message, reply }) => comment !== null || message !== null || reply !== null),
        'feedback',
        agentId,
      ),
  }),
}

export const feedbackWrites = {
  putFeedback: write(putFeedback, {
    scope: ofTurn(({ requestId }) => requestId, undefined),
    before: (sql, [{ requestId }]) => findFeedback(sql, requestId),
    audit: (given, [{ requestId }], before) => changed('turn', requestId, feedbackFields, before ?? noFeedback, given),
    changesCaches: false,
  }),
  removeFeedback: write(removeFeedback, {
    scope: ofTurn((requestId) => requestId, 'not_found'),
    before: (sql, [requestId]) => findFeedback(sql, requestId),
    audit: (outcome, [requestId], before) => changed('turn', requestId, feedbackFields, before, outcome === 'removed' && noFeedback),
    changesCaches: false,
  }),
}
