/**
 * End users: everyone who has a conversation with an agent, by the `external_user_id` that callers send (`end-users`). The keys of an agent
 * share its end users. An erased end user has no name, so it is not one of them.
 */
import type { Amount } from '../../ledger/ledger.ts'
import type { Sql } from '../sql.ts'
import { bigInteger, integer, integerOrNull, text } from './columns.ts'
import { Values } from './reported-turns.ts'
import type { Period } from './reported-turns.ts'
import { read } from './operation.ts'
import { ofAgent } from './scope.ts'

export type EndUser = {
  externalUserId: string
  /** The charges of the turns that ended in the period. */
  spent: Amount
  /** The turns that ended in the period, however they ended. */
  turns: number
  /** When the last of them ended, in epoch milliseconds. */
  lastActivityAt: number
  /** On these turns. */
  feedback: { up: number; down: number }
}

export type EndUserOrder = 'spend' | 'last_activity'

/** A position in the list: what it is ordered by, and the name. */
export type EndUserPosition = { value: bigint; externalUserId: string }

export type EndUsersWanted = Period & { agentId: string; sort: EndUserOrder; limit: number; after?: EndUserPosition | undefined }

/** Those with a turn that ended in the period, the largest spend or the latest activity first. */
export async function listEndUsers(sql: Sql, { agentId, sort, from, to, limit, after }: EndUsersWanted): Promise<EndUser[]> {
  const values = new Values()
  // Since ever: from the agent's own conversations. In a period: from the turns that ended in it.
  const turns =
    from === 0
      ? `api_keys k cross join conversations c cross join turns t
         where k.agent_id = ${values.add(agentId)} and c.api_key_id = k.id and t.conversation_id = c.id and +t.ended_at < ${values.add(to)}`
      : `turns t cross join conversations c
         where t.ended_at >= ${values.add(from)} and t.ended_at < ${values.add(to)} and t.agent_id = ${values.add(agentId)} and c.id = t.conversation_id`
  const order = sort === 'spend' ? 'spent' : 'last_activity_at'
  const start = after ? `where (${order}, external_user_id) < (${values.add(after.value)}, ${values.add(after.externalUserId)})` : ''
  const rows = await sql.all(
    `select external_user_id, spent, turns, last_activity_at from (
       select c.external_user_id, cast(coalesce(sum(t.charged), 0) as bigint) as spent, count(*) as turns, max(t.ended_at) as last_activity_at
       from ${turns} and c.external_user_id is not null group by c.external_user_id
     ) u ${start} order by ${order} desc, external_user_id desc limit ${values.add(limit)}`,
    ...values.list,
  )
  const found = rows.map((row) => ({
    externalUserId: text(row, 'external_user_id'),
    spent: bigInteger(row, 'spent'),
    turns: integer(row, 'turns'),
    lastActivityAt: integer(row, 'last_activity_at'),
  }))
  const feedback = await feedbackOf(sql, { agentId, from, to, users: found.map(({ externalUserId }) => externalUserId) })
  return found.map((user) => ({ ...user, feedback: feedback.get(user.externalUserId) ?? { up: 0, down: 0 } }))
}

/** Of the users of one page: reads their turns from their conversations. */
async function feedbackOf(
  sql: Sql,
  { agentId, from, to, users }: Period & { agentId: string; users: string[] },
): Promise<Map<string, EndUser['feedback']>> {
  if (users.length === 0) return new Map()
  const values = new Values()
  const rows = await sql.all(
    `select c.external_user_id, count(case f.rating when 'up' then 1 end) as up, count(case f.rating when 'down' then 1 end) as down
     from api_keys k cross join conversations c cross join turns t cross join feedback f
     where k.agent_id = ${values.add(agentId)} and c.api_key_id = k.id and c.external_user_id in (${users.map((user) => values.add(user)).join(', ')})
       and t.conversation_id = c.id and +t.ended_at >= ${values.add(from)} and +t.ended_at < ${values.add(to)} and f.request_id = t.request_id
     group by c.external_user_id`,
    ...values.list,
  )
  return new Map(rows.map((row) => [text(row, 'external_user_id'), { up: integer(row, 'up'), down: integer(row, 'down') }]))
}

/** Spend and turns since a time. */
export type Spend = { spent: Amount; turns: number }

export type EndUserDetail = {
  externalUserId: string
  /** One conversation for each key that the end user has written through. */
  conversations: { id: string; apiKeyId: string; createdAt: number; lastMessageAt: number | null; messageCount: number }[]
  /** In the order of the given starts. */
  spend: Spend[]
  /** Null while no turn has ended. */
  lastActivityAt: number | null
  feedback: { up: number; down: number }
}

/** `since` are the starts of the periods whose spend is wanted, each until now. Undefined if the agent has no such end user. */
export async function findEndUser(
  sql: Sql,
  { agentId, externalUserId, since }: { agentId: string; externalUserId: string; since: number[] },
): Promise<EndUserDetail | undefined> {
  const ofUser = 'from api_keys k cross join conversations c'
  // mutant: end-users
  const isUser = 'k.agent_id = $1 and c.api_key_id = k.id and c.external_user_id = $2'
  const conversations = await sql.all(
    `select c.id, c.api_key_id, c.created_at, c.last_message_at, c.message_count ${ofUser} where ${isUser} order by c.created_at, c.id`,
    agentId,
    externalUserId,
  )
  if (conversations.length === 0) return undefined
  const figures = since.map(
    (_, index) => `cast(coalesce(sum(case when t.ended_at >= $${index + 3} then t.charged end), 0) as bigint) as spent${index},
      count(case when t.ended_at >= $${index + 3} then 1 end) as turns${index}`,
  )
  const [row] = await sql.all(
    `select ${figures.join(', ')}, max(t.ended_at) as last_activity_at ${ofUser} cross join turns t where ${isUser} and t.conversation_id = c.id`,
    agentId,
    externalUserId,
    ...since,
  )
  const ratings = await sql.all(
    `select f.rating, count(*) as times ${ofUser} cross join turns t cross join feedback f
     where ${isUser} and t.conversation_id = c.id and f.request_id = t.request_id group by f.rating`,
    agentId,
    externalUserId,
  )
  const times = (rating: string): number =>
    ratings.filter((one) => one['rating'] === rating).reduce((sum, one) => sum + integer(one, 'times'), 0)
  return {
    externalUserId,
    conversations: conversations.map((one) => ({
      id: text(one, 'id'),
      apiKeyId: text(one, 'api_key_id'),
      createdAt: integer(one, 'created_at'),
      lastMessageAt: integerOrNull(one, 'last_message_at'),
      messageCount: integer(one, 'message_count'),
    })),
    spend: since.map((_, index) => ({ spent: bigInteger(row!, `spent${index}`), turns: integer(row!, `turns${index}`) })),
    lastActivityAt: integerOrNull(row!, 'last_activity_at'),
    feedback: { up: times('up'), down: times('down') },
  }
}

export const endUserReads = {
  listEndUsers: read(listEndUsers, { queue: 'report', scope: ofAgent(({ agentId }) => agentId, []), readings: null }),
  findEndUser: read(findEndUser, { queue: 'report', scope: ofAgent(({ agentId }) => agentId, undefined), readings: null }),
}
