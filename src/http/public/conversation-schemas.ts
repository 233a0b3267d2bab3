/** The schemas of the lists of conversations and messages (`paging`). See docs/spec.md, "Listing". */
import type { TSchema } from 'typebox'
import { describeFailures, describeHeaders, rateLimitHeaders } from './answers.ts'
import * as examples from './examples.ts'
import { Type } from '../edge/schema.ts'
import {
  AgentParams,
  closed,
  conversationExample,
  conversationId,
  define,
  everywhere,
  ExternalUserId,
  Incomplete,
  json,
  Time,
  whileRunning,
} from './schemas.ts'

const Conversation = define(
  'Conversation',
  Type.Object({
    conversation_id: conversationId,
    external_user_id: Type.String({ description: 'The end user of the conversation.', examples: ['customer-4711'] }),
    created_at: Time,
    last_message_at: Time,
    message_count: Type.Integer({ minimum: 0, description: 'Number of messages from the end user and the assistant.', examples: [2] }),
  }),
)

const Message = define(
  'Message',
  Type.Object({
    id: Type.String({ examples: ['msg_01jd3v9qk8x2m5n7p4r6t8w0ya'] }),
    role: Type.Enum(['user', 'assistant'], { description: 'Author of the message.' }),
    content: Type.String({ description: 'The complete text.', examples: ['What does the premium plan cost?'] }),
    created_at: Time,
    request_id: Type.String({ format: 'uuid', description: 'The request that the message belongs to.' }),
    incomplete: Incomplete,
  }),
)

/** Pass these to `addSchema` before adding the routes. */
export const conversationSchemas = [Conversation, Message].map(({ schema }) => schema)

const page = <Item extends TSchema>(item: Item) =>
  Type.Object({
    data: Type.Array(item),
    next_cursor: Type.Union([Type.String(), Type.Null()], { description: 'Pass as `cursor` to get the next page. Null on the last page.' }),
  })

const ConversationParams = Type.Object({
  ...AgentParams.properties,
  conversation_id: Type.String({ description: 'A conversation of this API key.', examples: [conversationExample] }),
})

/** Page size if `limit` is absent. */
export const defaultLimit = 20
const pageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: defaultLimit, description: 'Page size.' })),
  cursor: Type.Optional(Type.String({ description: 'The `next_cursor` of the previous page. Omit it to get the first page.' })),
}

const listingFailures = [...everywhere, 'validation_error', ...whileRunning] as const

export const conversationsSchema = {
  operationId: 'listConversations',
  summary: 'List the conversations of this API key, newest first',
  description:
    'Available to keys with any permission. Use `external_user_id` to find the conversation of one end user. A key sees only its own conversations.',
  tags: ['Conversations'],
  params: AgentParams,
  querystring: Type.Object({ ...pageQuery, external_user_id: Type.Optional(ExternalUserId) }, closed),
  response: {
    200: {
      description: 'One page of results.',
      headers: { ...describeHeaders(), ...rateLimitHeaders },
      content: json(page(Conversation.ref), examples.pageExample(examples.conversation)),
    },
    ...describeFailures(...listingFailures),
  },
}

export const messagesSchema = {
  operationId: 'listMessages',
  summary: 'List the messages of a conversation, newest first',
  description: [
    'Available to keys with any permission. A message and its reply are stored together and share one `request_id`. A page ends before 2 MiB,',
    'so it may hold fewer messages than `limit`: only `next_cursor` says whether it is the last one.',
  ].join(' '),
  tags: ['Conversations'],
  params: ConversationParams,
  querystring: Type.Object(pageQuery, closed),
  response: {
    200: {
      description: 'One page of results.',
      headers: { ...describeHeaders(), ...rateLimitHeaders },
      content: json(page(Message.ref), examples.pageExample(...examples.messages)),
    },
    ...describeFailures(...listingFailures, 'not_found'),
  },
}
