/** Lists the conversations of an API key and the messages of a conversation (`paging`). See docs/spec.md, "Listing". */
import type { FastifyRequest } from 'fastify'
import { ApiError, invalid } from '../../errors.ts'
import { conversationsSchema, defaultLimit, messagesSchema } from './conversation-schemas.ts'
import { rateHeaders, readerOf } from './caller.ts'
import type { UnreadResponses } from './unread-responses.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

type PageWanted = { apiKeyId: string; shareOf: string; limit: number; cursor: string | undefined }
type Page<Item> = { data: Item[]; nextCursor: string | null }
type Conversation = { conversationId: string; externalUserId: string; createdAt: number; lastMessageAt: number; messageCount: number }
type Message = { id: string; role: 'user' | 'assistant'; content: string; createdAt: number; requestId: string; cutOff: boolean }

/** The queries that these routes use. `shareOf` is the owner of the key. Times are epoch milliseconds. */
export type Conversations = {
  list(wanted: PageWanted & { externalUserId: string | undefined }): Promise<Page<Conversation>>
  idOf(wanted: { apiKeyId: string; externalUserId: string; shareOf: string }): Promise<string | undefined>
  /** Throws ApiError `service_unavailable` if `mayRead` returns false when it is this page's turn to be read. */
  messages(
    wanted: PageWanted & { conversationId: string; mayRead: () => boolean },
  ): Promise<({ kind: 'found' } & Page<Message>) | { kind: 'not_found' }>
}

export const conversationRoutes: TypedRoutes<{ conversations: Conversations; unread: UnreadResponses }> = async (
  app,
  { conversations, unread },
) => {
  app.addHook('preValidation', readQuery)

  app.get('/v1/agents/:agent_id/conversations', { schema: conversationsSchema }, async (request, reply) => {
    const { limit = defaultLimit, cursor, external_user_id: externalUserId } = request.query
    const page = await conversations.list({ ...readerOf(request), limit, cursor, externalUserId })
    return reply.headers(rateHeaders(request.caller.figures)).send({ data: page.data.map(writeConversation), next_cursor: page.nextCursor })
  })

  app.get('/v1/agents/:agent_id/conversations/:conversation_id/messages', { schema: messagesSchema }, async (request, reply) => {
    const { limit = defaultLimit, cursor } = request.query
    const found = await conversations.messages({
      ...readerOf(request),
      conversationId: request.params.conversation_id,
      limit,
      cursor,
      // `overload.unread`
      mayRead: () => unread.allows(reply.raw),
    })
    if (found.kind === 'not_found') throw new ApiError('not_found')
    return reply.headers(rateHeaders(request.caller.figures)).send({ data: found.data.map(writeMessage), next_cursor: found.nextCursor })
  })
}

/** Query values are text. Only plain integers are converted, so that the schema rejects everything else. */
async function readQuery(request: FastifyRequest): Promise<void> {
  const { query } = request
  const given = query as { limit?: unknown }
  if (typeof given.limit === 'string' && /^(0|[1-9]\d{0,8})$/.test(given.limit)) given.limit = Number(given.limit)
  await refuseBrokenQuery(request)
}

/** A query that is not percent-encoded UTF-8 would be read as another text. */
export async function refuseBrokenQuery({ raw }: FastifyRequest): Promise<void> {
  if (!isDecodable(raw.url ?? '')) throw invalid(null, 'The query string must be percent-encoded UTF-8.')
}

function isDecodable(url: string): boolean {
  try {
    decodeURIComponent(url)
    return true
  } catch {
    return false
  }
}

/** `time.format`. */
// mutant: time.format
const time = (epochMs: number): string => new Date(epochMs).toISOString()

const writeConversation = (conversation: Conversation) => ({
  conversation_id: conversation.conversationId,
  external_user_id: conversation.externalUserId,
  created_at: time(conversation.createdAt),
  last_message_at: time(conversation.lastMessageAt),
  message_count: conversation.messageCount,
})

const writeMessage = ({ id, role, content, createdAt, requestId, cutOff }: Message) => ({
  id,
  role,
  content,
  created_at: time(createdAt),
  request_id: requestId,
  ...(cutOff ? { incomplete: true as const } : {}),
})
