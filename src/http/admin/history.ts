/** The admin routes for conversations and their messages. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { about, answers, pageOf } from './answers.ts'
import { StoredConversation, StoredMessage } from './turn-answers.ts'
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
import { writeCall, writeUsage } from './turns.ts'
import { Type } from '../edge/schema.ts'

type Conversation = Awaited<ReturnType<AdminCalls['listConversations']>>['data'][number]
type Message = Awaited<ReturnType<AdminCalls['listMessages']>>['data'][number]

const closed = { additionalProperties: false } as const

const ConversationQuery = Type.Object(
  {
    ...pageQuery,
    agent_id: Type.Optional(idGiven('agt', 'Only the conversations of this agent.')),
    key_id: Type.Optional(idGiven('key', 'Only the conversations of this API key, by its id (`key_…`).')),
    external_user_id: Type.Optional(
      Type.String({
        ...wellFormed({ minLength: 1, maxLength: 255 }),
        description: 'Only the conversations of this end user; exact match.',
      }),
    ),
    from: Type.Optional(Moment),
    to: Type.Optional(Moment),
  },
  closed,
)

export const conversationRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/conversations',
    {
      schema: {
        ...about(
          'History',
          'listConversations',
          'List conversations, newest first',
          'Includes the conversations of all keys. `from` (inclusive) and `to` (exclusive) filter by creation time.',
        ),
        querystring: ConversationQuery,
        response: answers(pageOf(StoredConversation), 'validation_error'),
      },
    },
    async (request) => {
      const { agent_id: agentId, key_id: keyId, external_user_id: externalUserId, from, to, ...page } = request.query
      const started = { from: readMoment('from', from), to: readMoment('to', to) }
      return writePage(
        await request.admin.listConversations({ agentId, keyId, externalUserId, ...started }, readPage(page)),
        writeConversation,
      )
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
        response: answers(pageOf(StoredMessage), 'validation_error', 'not_found'),
      },
    },
    async (request) => writePage(await request.admin.listMessages(request.params.id, readPage(request.query)), writeMessage),
  )
}

export const writeConversation = (conversation: Conversation): object => ({
  id: conversation.id,
  agent_id: conversation.agentId,
  key_id: conversation.apiKeyId,
  external_user_id: conversation.externalUserId,
  created_at: writeTime(conversation.createdAt),
  last_message_at: writeTimeOrNull(conversation.lastMessageAt),
  message_count: conversation.messageCount,
})

export const writeMessage = ({ id, role, content, createdAt, requestId, citations, toolCalls, turn }: Message): object => ({
  id,
  role,
  content,
  created_at: writeTime(createdAt),
  request_id: requestId,
  citations: citations.map(({ documentId, title, section }) => ({ document_id: documentId, title, section })),
  tool_calls: toolCalls.map(writeCall),
  turn: {
    state: turn.state,
    agent_version: turn.agentVersion,
    incomplete: turn.incomplete,
    rating: turn.rating,
    usage: writeUsage(turn),
  },
})
