/**
 * The operator's search for conversations: by a text, by the state of a turn, by its feedback (`conversation.search`). There is no
 * index of texts, which every turn would pay for: each page examines a limited amount, and its cursor continues. Read-only.
 */
import { integer, text, textOrNull } from './columns.ts'
import { listAllConversations } from './any-conversations.ts'
import type { AnyConversation, AnyConversationsWanted } from './any-conversations.ts'
import { readRating } from './feedback.ts'
import type { Rating } from './feedback.ts'
import type { Position } from './paging.ts'
import { Values } from './reported-turns.ts'
import { excerptOf, matchesText, patternOf } from './text-search.ts'
import { readState } from './turns.ts'
import type { TurnState } from './turns.ts'
import type { Row, Sql } from '../sql.ts'
import type { Role } from '../turn-records.ts'
import { read } from './operation.ts'
import { byFilter } from './scope.ts'
import { allAgents, readingIf } from './audit.ts'

/** A conversation matches if one of its turns matches all that are given. `excerpts`: return texts also without `text`. */
export type TurnConditions = {
  text: string | undefined
  state: TurnState | undefined
  rating: Rating | undefined
  excerpts: boolean
}

export type Excerpt = { role: Role; text: string }

/** The newest turn that matches. `excerpt` is null after an erasure, and if no texts are wanted. */
export type FoundTurn = { requestId: string; state: TurnState; rating: Rating | null; createdAt: number; excerpt: Excerpt | null }

/** `turn` is null for a conversation without turns. */
export type FoundConversation = AnyConversation & { turn: FoundTurn | null }

/** `next`: what was examined last, if there are conversations after it. `examined`: how many were, whether or not they match. */
export type FoundConversations = { items: FoundConversation[]; next: Position | null; examined: number }

// A conversation, a turn and a KiB of text count as one. On SQLite, the most that a page examines took half a second on a busy machine.
const maxWork = 20_000
// Fits in one statement of SQLite, and reads few conversations too many if the first ones match.
const maxBatch = 500
const textPerWork = 1024
// The token count of a message is half of its bytes (src/agent/tokens.ts).
const bytesPerToken = 2

/** Newest first. At most `limit` conversations, and at most `maxWork` or one conversation is examined. */
export async function searchConversations(sql: Sql, wanted: AnyConversationsWanted & TurnConditions): Promise<FoundConversations> {
  const matching: { conversation: AnyConversation; requestId: string | null }[] = []
  const mustMatch = wanted.text !== undefined || wanted.state !== undefined || wanted.rating !== undefined
  let { before } = wanted
  let work = 0
  let examined = 0
  const end = async (next: Position | null): Promise<FoundConversations> => ({
    items: await withTurns(sql, matching, wanted),
    next,
    examined,
  })
  for (let batch = wanted.limit + 1; ; batch = Math.min(batch * 2, maxBatch)) {
    const listed = await listAllConversations(sql, { ...wanted, before, limit: batch })
    const costs = await costsOf(sql, listed, wanted)
    const affordable = listed.filter(
      // mutant: conversation.search
      ({ id }, index) => (work += costs.get(id) ?? 1) <= maxWork || (index === 0 && before === wanted.before),
    )
    examined += affordable.length
    const turns = await findNewestTurns(sql, affordable, wanted)
    for (const conversation of affordable) {
      const requestId = turns.get(conversation.id) ?? null
      if (mustMatch && requestId === null) continue
      if (matching.length === wanted.limit) return end(positionOf(matching.at(-1)!.conversation))
      matching.push({ conversation, requestId })
    }
    const last = affordable.at(-1)
    const isAll = listed.length < batch && affordable.length === listed.length
    if (isAll || !last) return end(isAll ? null : before)
    before = positionOf(last)
    if (affordable.length < listed.length) return end(before)
  }
}

const positionOf = ({ createdAt, id }: AnyConversation): Position => ({ createdAt, id })

const namesOf = (values: Values, ids: string[]): string => ids.map((id) => values.add(id)).join(', ')

/** How much of `maxWork` each takes. A running turn, and the newest one, is found by an index alone. */
async function costsOf(
  sql: Sql,
  listed: AnyConversation[],
  { text: wantedText, state, rating }: TurnConditions,
): Promise<Map<string, number>> {
  const isLookUp = wantedText === undefined && rating === undefined && (state === undefined || state === 'running')
  if (isLookUp || listed.length === 0) return new Map()
  const values = new Values()
  const ids = namesOf(
    values,
    listed.map(({ id }) => id),
  )
  const rows = await sql.all(
    `select c.id, c.message_tokens, (select count(*) from turns t where t.conversation_id = c.id) as turns from conversations c where c.id in (${ids})`,
    ...values.list,
  )
  const textOf = (row: Row): number => (wantedText === undefined ? 0 : (integer(row, 'message_tokens') * bytesPerToken) / textPerWork)
  return new Map(rows.map((row) => [text(row, 'id'), 1 + integer(row, 'turns') + textOf(row)]))
}

/** The request ID of the newest turn of each that matches. Turns have the message of their user, and messages the reply. */
async function findNewestTurns(
  sql: Sql,
  conversations: AnyConversation[],
  { text: wantedText, state, rating }: TurnConditions,
): Promise<Map<string, string>> {
  if (conversations.length === 0) return new Map()
  const values = new Values()
  const conditions = ['t.conversation_id = c.id']
  // Others as an expression, so that no index of all turns of a state is read.
  if (state === 'running') conditions.push(`t.state = 'running'`)
  else if (state !== undefined) conditions.push(`t.state || '' = ${values.add(state)}`)
  if (rating !== undefined)
    conditions.push(`exists (select 1 from feedback f where f.request_id = t.request_id and f.rating = ${values.add(rating)})`)
  if (wantedText !== undefined) {
    const pattern = values.add(patternOf(sql.engine, wantedText))
    // The reply as a value: PostgreSQL may look for the text of an `exists` in all messages, once.
    const reply = `(select m.content from messages m where m.request_id = t.request_id and m.role = 'assistant')`
    conditions.push(`(${matchesText(sql.engine, 't.message', pattern)} or ${matchesText(sql.engine, reply, pattern)})`)
  }
  const ids = namesOf(
    values,
    conversations.map(({ id }) => id),
  )
  const rows = await sql.all(
    `select c.id, (select t.request_id from turns t where ${conditions.join(' and ')} order by t.request_id desc limit 1) as turn_id
     from conversations c where c.id in (${ids})`,
    ...values.list,
  )
  return new Map(rows.flatMap((row) => (row['turn_id'] === null ? [] : [[text(row, 'id'), text(row, 'turn_id')]])))
}

// A match after this many characters of a text is not in its excerpt.
const maxRead = 100_000
const maxExcerpt = 200

async function withTurns(
  sql: Sql,
  matching: { conversation: AnyConversation; requestId: string | null }[],
  { text: wantedText, excerpts }: TurnConditions,
): Promise<FoundConversation[]> {
  const requestIds = matching.flatMap(({ requestId }) => requestId ?? [])
  const values = new Values()
  const startOf = (column: string): string => `substr(${column}, 1, ${wantedText === undefined ? maxExcerpt + 1 : maxRead})`
  const withText = excerpts || wantedText !== undefined
  const rows =
    requestIds.length === 0
      ? []
      : await sql.all(
          `select t.request_id, t.state, t.created_at, f.rating, ${withText ? `${startOf('t.message')} as message, ${startOf('m.content')} as reply` : 'null as message, null as reply'}
           from turns t left join messages m on m.request_id = t.request_id and m.role = 'assistant' left join feedback f on f.request_id = t.request_id
           where t.request_id in (${namesOf(values, requestIds)})`,
          ...values.list,
        )
  const turns = new Map(rows.map((row) => [text(row, 'request_id'), readFoundTurn(row, wantedText)]))
  return matching.map(({ conversation, requestId }) => ({
    ...conversation,
    turn: requestId === null ? null : (turns.get(requestId) ?? null),
  }))
}

function readFoundTurn(row: Row, wantedText: string | undefined): FoundTurn {
  return {
    requestId: text(row, 'request_id'),
    state: readState(row),
    rating: row['rating'] === null ? null : readRating(row),
    createdAt: integer(row, 'created_at'),
    excerpt: readExcerpt(textOrNull(row, 'message'), textOrNull(row, 'reply'), wantedText),
  }
}

/** Of the text that matches, otherwise of the reply, or of the message of a turn without one. */
function readExcerpt(message: string | null, reply: string | null, wantedText: string | undefined): Excerpt | null {
  const texts = [
    ...(reply === null ? [] : [{ role: 'assistant' as const, text: reply }]),
    ...(message === null ? [] : [{ role: 'user' as const, text: message }]),
  ]
  for (const { role, text: whole } of texts) {
    const found = excerptOf(whole, wantedText, maxExcerpt)
    if (found !== undefined) return { role, text: found }
  }
  const [first] = texts
  return first === undefined ? null : { role: first.role, text: excerptOf(first.text, undefined, maxExcerpt)! }
}

export const conversationSearchReads = {
  searchConversations: read(searchConversations, {
    queue: 'report',
    scope: byFilter,
    // Also without a result, which says that no message has the text. Not if there was nothing to examine, as of another owner's agent.
    readings: ({ examined }, { text: wanted, excerpts, agentId = allAgents }) =>
      readingIf(examined > 0 && (wanted !== undefined || excerpts), 'conversations', agentId),
  }),
}
