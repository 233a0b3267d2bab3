/** Conversations of all keys, for the operator (`paging`). Read-only. */
import type { Row, Sql } from '../sql.ts'
import { integer, integerOrNull, text, textOrNull } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { Values } from './reported-turns.ts'
import { isAgentOf } from './scope-of.ts'
import { read } from './operation.ts'
import { byFilter, ofConversation } from './scope.ts'

/** A conversation for the operator. Includes erased ones, whose `externalUserId` is null, and those without messages. */
export type AnyConversation = {
  id: string
  agentId: string
  apiKeyId: string
  externalUserId: string | null
  createdAt: number
  lastMessageAt: number | null
  messageCount: number
}

export type AnyConversationsWanted = PageRequest & {
  ownerId?: string | undefined
  agentId: string | undefined
  apiKeyId: string | undefined
  externalUserId: string | undefined
  /** Created at or after this time. */
  from: number | undefined
  /** Created before this time. */
  to: number | undefined
}

/** The conversations of all keys that match every given filter, newest first. */
export async function listAllConversations(sql: Sql, request: AnyConversationsWanted): Promise<AnyConversation[]> {
  const { ownerId, agentId, apiKeyId, externalUserId, from = 0, to, limit } = request
  // One bound, so that the index is read from the start of the page.
  const before = to !== undefined && to <= request.before.createdAt ? { createdAt: to, id: '' } : request.before
  const values = new Values()
  const isGiven = (column: string, filter: string | undefined): string => {
    const parameter = values.add(filter ?? null)
    return `(cast(${parameter} as text) is null or ${column} = ${parameter})`
  }
  const byUser = externalUserId !== undefined
  const conditions = [
    isGiven('k.agent_id', agentId),
    isGiven(byUser ? 'k.id' : 'c.api_key_id', apiKeyId),
    // Written as an expression so that SQLite does not start at the keys, which would sort all conversations of the owner for each page.
    ...(ownerId === undefined ? [] : [isAgentOf(sql, byUser ? 'k.agent_id' : `k.agent_id || ''`, values.add(ownerId))]),
    // From the keys: a user has one conversation with each, which an index finds.
    ...(byUser ? [`c.api_key_id = k.id and c.external_user_id = ${values.add(externalUserId)}`] : []),
    `c.created_at >= ${values.add(from)} and (c.created_at, c.id) < (${values.add(before.createdAt)}, ${values.add(before.id)})`,
  ]
  const rows = await sql.all(
    `select ${anyColumns} from ${byUser ? 'api_keys k cross join conversations c' : 'conversations c join api_keys k on k.id = c.api_key_id'}
     where ${conditions.join(' and ')} order by c.created_at desc, c.id desc limit ${values.add(limit)}`,
    ...values.list,
  )
  return rows.map(readAnyConversation)
}

async function findConversation(sql: Sql, id: string): Promise<AnyConversation | undefined> {
  const [row] = await sql.all(`select ${anyColumns} from conversations c join api_keys k on k.id = c.api_key_id where c.id = $1`, id)
  return row && readAnyConversation(row)
}

const anyColumns = 'c.id, k.agent_id, c.api_key_id, c.external_user_id, c.created_at, c.last_message_at, c.message_count'

const readAnyConversation = (row: Row): AnyConversation => ({
  id: text(row, 'id'),
  agentId: text(row, 'agent_id'),
  apiKeyId: text(row, 'api_key_id'),
  externalUserId: textOrNull(row, 'external_user_id'),
  createdAt: integer(row, 'created_at'),
  lastMessageAt: integerOrNull(row, 'last_message_at'),
  messageCount: integer(row, 'message_count'),
})

export const anyConversationReads = {
  listAllConversations: read(listAllConversations, { queue: 'report', scope: byFilter, readings: null }),
  findConversation: read(findConversation, { scope: ofConversation((id) => id, undefined), readings: null }),
}
