/** The admin routes for conversations, their search (`conversation.search`) and their messages. */
import type { Static } from 'typebox'
import { isCutOff } from '../../finish-reason.ts'
import type { AdminCalls } from '../../admin/admin.ts'
import { about, answers, pageOf } from './answers.ts'
import { refuseWithout } from './permissions.ts'
import { ListedConversation, StoredConversation, StoredMessage, writeStatus } from './turn-answers.ts'
import {
  idGiven,
  ConversationParams,
  Moment,
  PageQuery,
  pageQuery,
  readMoment,
  readPage,
  wellFormed,
  writePage,
  writeTime,
  writeTimeOrNull,
} from './fields.ts'
import { turnStatuses } from '../public/turn-schemas.ts'
import { writeCall, writeUsage } from './turns.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

type Listed = Awaited<ReturnType<AdminCalls['listConversations']>>['data'][number]
type Conversation = Awaited<ReturnType<AdminCalls['findConversation']>>
type Message = Awaited<ReturnType<AdminCalls['listMessages']>>['data'][number]
type MessageAnswer = Static<typeof StoredMessage.ref>

const closed = { additionalProperties: false } as const

const ConversationQuery = Type.Object(
  {
    ...pageQuery,
    agent_id: Type.Optional(idGiven('agt', 'Only the conversations of this agent.')),
    key_id: Type.Optional(idGiven('key', 'Only the conversations of this API key, by its ID (`key_…`).')),
    external_user_id: Type.Optional(
      Type.String({
        ...wellFormed({ minLength: 1, maxLength: 255 }),
        description: 'Only the conversations of this end user; exact match.',
      }),
    ),
    from: Type.Optional(Moment),
    to: Type.Optional(Moment),
    q: Type.Optional(
      Type.String({
        ...wellFormed({ minLength: 1, maxLength: 200 }),
        description:
          'Only conversations with this text in a message or a reply, in upper or lower case. Needs the permission `conversations`.',
        examples: ['refund'],
      }),
    ),
    status: Type.Optional(Type.Enum([...turnStatuses], { description: 'Only conversations with a turn that has this status.' })),
    rating: Type.Optional(Type.Enum(['up', 'down'], { description: 'Only conversations with this feedback on a turn.' })),
    excerpts: Type.Optional(
      Type.Literal('true', { description: 'Return the start of the newest reply of each. Needs the permission `conversations`.' }),
    ),
  },
  closed,
)

export const conversationRoutes: TypedRoutes = async (app) => {
  app.get(
    '/conversations',
    {
      schema: {
        ...about(
          'History',
          'listConversations',
          'List conversations, newest first',
          'Includes the conversations of all keys. `from` (inclusive) and `to` (exclusive) filter by creation time. `q`, `status` and `rating` find conversations with a turn that matches all of them: `turn` is the newest. There is no index for them, so each page examines a limited number of turns and may have fewer conversations than `limit`, even none: continue while `next_cursor` is not null.',
        ),
        querystring: ConversationQuery,
        response: answers(pageOf(ListedConversation)),
      },
    },
    async (request) => {
      const { agent_id: agentId, key_id: keyId, external_user_id: externalUserId, from, to, ...rest } = request.query
      const { q: text, status: state, rating, excerpts, ...page } = rest
      if (text !== undefined || excerpts !== undefined) refuseWithout(request.principal, 'conversations')
      const filter = { agentId, keyId, externalUserId, from: readMoment('from', from), to: readMoment('to', to) }
      const conditions = { text, state, rating, excerpts: excerpts !== undefined }
      return writePage(await request.admin.listConversations({ ...filter, ...conditions }, readPage(page)), writeListed)
    },
  )

  app.get(
    '/conversations/:id',
    {
      schema: {
        ...about(
          'History',
          'findConversation',
          'Get a conversation, without its messages',
          'A conversation of any key. After erasure, `external_user_id` is null.',
        ),
        params: ConversationParams,
        response: answers(StoredConversation, 'not_found'),
      },
    },
    async (request) => writeConversation(await request.admin.findConversation(request.params.id)),
  )

  app.get(
    '/conversations/:id/messages',
    {
      schema: {
        ...about(
          'History',
          'listMessages',
          'List the messages of a conversation, newest first',
          'Each message includes its turn, cost, citations and tool calls.',
        ),
        params: ConversationParams,
        querystring: PageQuery,
        response: answers(pageOf(StoredMessage), 'not_found'),
      },
    },
    async (request) => writePage(await request.admin.listMessages(request.params.id, readPage(request.query)), writeMessage),
  )
}

export const writeConversation = (conversation: Conversation): Static<typeof StoredConversation.ref> => ({
  id: conversation.id,
  agent_id: conversation.agentId,
  key_id: conversation.apiKeyId,
  external_user_id: conversation.externalUserId,
  created_at: writeTime(conversation.createdAt),
  last_message_at: writeTimeOrNull(conversation.lastMessageAt),
  message_count: conversation.messageCount,
})

const writeListed = ({ turn, ...conversation }: Listed): Static<typeof ListedConversation.ref> => ({
  ...writeConversation(conversation),
  turn: turn && {
    request_id: turn.requestId,
    ...writeStatus(turn.state),
    rating: turn.rating,
    created_at: writeTime(turn.createdAt),
    excerpt: turn.excerpt,
  },
})

export const writeMessage = ({ id, role, content, createdAt, requestId, citations, toolCalls, turn }: Message): MessageAnswer => ({
  id,
  role,
  content,
  created_at: writeTime(createdAt),
  request_id: requestId,
  citations: citations.map(({ documentId, title, section }) => ({ document_id: documentId, title, section })),
  tool_calls: toolCalls.map(writeCall),
  turn: {
    ...writeStatus(turn.state),
    agent_version: turn.agentVersion,
    incomplete: isCutOff(turn),
    finish_reason: turn.finishReason,
    rating: turn.rating,
    usage: writeUsage(turn),
  },
})
