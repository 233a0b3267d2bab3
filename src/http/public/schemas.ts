/**
 * The public API's schemas: what validates is what /openapi.json says. Wire names, bounds and examples of specification sections 2, 4 and 6.
 * Lengths are code points.
 */
import type { Static, TSchema } from 'typebox'
import { describeFailures, describeHeaders, rateLimitHeaders } from './answers.ts'
import * as examples from './examples.ts'
import { maxMessage, wellFormedPattern } from '../edge/invalid-input.ts'
import { Type } from '../edge/schema.ts'

const closed = { additionalProperties: false } as const
/** A schema with a name of its own in the description; `ref` stands where it is used. */
export const define = <Schema extends TSchema>(name: string, schema: Schema) => ({
  schema: { ...schema, $id: name },
  ref: Type.Unsafe<Static<Schema>>({ $ref: `${name}#` }),
})

const RequestId = Type.String({ format: 'uuid', description: 'The same as in `X-Request-ID`.' })
const Time = Type.String({ format: 'date-time', description: 'UTC, with milliseconds.' })
const ExternalUserId = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: wellFormedPattern,
  description: "Stable id of the end user on the caller's side; compared code point by code point.",
  examples: ['customer-4711'],
})

export type ChatRequest = Static<typeof ChatRequest.ref>
const ChatRequest = define(
  'ChatRequest',
  Type.Object(
    {
      external_user_id: ExternalUserId,
      message: Type.String({
        minLength: 1,
        maxLength: maxMessage,
        pattern: wellFormedPattern,
        description: 'Text of the end user. At most 32,000 characters unless the agent is set otherwise.',
        examples: ['What does the premium plan cost?'],
      }),
    },
    { ...closed, examples: [examples.chatRequest] },
  ),
)

const AssistantMessage = define(
  'AssistantMessage',
  Type.Object({
    id: Type.String({ examples: ['msg_01jd3v9qk8x2m5n7p4r6t8w0ya'] }),
    role: Type.Literal('assistant'),
    content: Type.String({ description: 'Full final reply text.', examples: ['The premium plan costs 29 USD a month.'] }),
    created_at: Time,
  }),
)

const Usage = define(
  'Usage',
  Type.Object({
    prompt_tokens: Type.Integer({ minimum: 0, description: 'All that the model was given, cached tokens too.', examples: [412] }),
    completion_tokens: Type.Integer({ minimum: 0, description: 'All that the model made, reasoning tokens too.', examples: [18] }),
    total_tokens: Type.Integer({ minimum: 0, description: 'The sum of the two.', examples: [430] }),
    charged_usd: Type.String({ pattern: '^\\d+\\.\\d{8}$', description: 'Charged to the balance, once.', examples: ['0.00007260'] }),
  }),
)

const conversationExample = 'conv_01jd3v9qk8x2m5n7p4r6t8w0yb'
const conversationId = Type.String({ description: 'Of this API key and `external_user_id`.', examples: [conversationExample] })

const ChatResponse = define(
  'ChatResponse',
  Type.Object({ request_id: RequestId, conversation_id: conversationId, message: AssistantMessage.ref, usage: Usage.ref }),
)

const ResponseCreated = define('ResponseCreated', Type.Object({ request_id: RequestId, conversation_id: conversationId }))
const OutputTextDelta = define('OutputTextDelta', Type.Object({ delta: Type.String({ examples: ['The premium '] }) }))
const ErrorObject = define(
  'ErrorObject',
  Type.Object({
    code: Type.String(),
    message: Type.String(),
    request_id: RequestId,
  }),
)

export const ChatEvent = define(
  'ChatEvent',
  Type.Union(
    [
      Type.Object({ event: Type.Literal('response.created'), data: ResponseCreated.ref }, { description: 'Always first.' }),
      Type.Object({ event: Type.Literal('response.output_text.delta'), data: OutputTextDelta.ref }, { description: 'Zero or more.' }),
      Type.Object(
        { event: Type.Literal('response.completed'), data: ChatResponse.ref },
        { description: 'Last of a stream that succeeded.' },
      ),
      Type.Object({ event: Type.Literal('error'), data: ErrorObject.ref }, { description: 'Last of a stream that failed.' }),
    ],
    { description: 'One server-sent event: its name, and its data as one line of JSON.' },
  ),
)

const Conversation = define(
  'Conversation',
  Type.Object({
    conversation_id: conversationId,
    external_user_id: Type.String({ description: 'Whose conversation it is.', examples: ['customer-4711'] }),
    created_at: Time,
    last_message_at: Time,
    message_count: Type.Integer({ minimum: 0, description: "End user's and assistant's together.", examples: [2] }),
  }),
)

const Message = define(
  'Message',
  Type.Object({
    id: Type.String({ examples: ['msg_01jd3v9qk8x2m5n7p4r6t8w0ya'] }),
    role: Type.Enum(['user', 'assistant'], { description: 'Who says it.' }),
    content: Type.String({ description: 'The whole text.', examples: ['What does the premium plan cost?'] }),
    created_at: Time,
    request_id: Type.String({ format: 'uuid', description: 'The request that the message belongs to.' }),
  }),
)

/** The events and what they carry. */
export const ChatEvents = [ChatEvent, ResponseCreated, OutputTextDelta, ChatResponse, AssistantMessage, Usage, ErrorObject]

/** For `addSchema`, before the routes. */
export const namedSchemas = [
  ChatRequest,
  AssistantMessage,
  Usage,
  ChatResponse,
  ResponseCreated,
  OutputTextDelta,
  ErrorObject,
  ChatEvent,
  Conversation,
  Message,
].map(({ schema }) => schema)

const page = <Item extends TSchema>(item: Item) =>
  Type.Object({
    data: Type.Array(item),
    next_cursor: Type.Union([Type.String(), Type.Null()], { description: 'For the next page; null on the last one.' }),
  })

const AgentParams = Type.Object({
  agent_id: Type.String({ description: 'The agent that the key is bound to.', examples: ['agt_01jd3v9qk8x2m5n7p4r6t8w0yc'] }),
})
const ConversationParams = Type.Object({
  ...AgentParams.properties,
  conversation_id: Type.String({ description: 'One of this API key.', examples: [conversationExample] }),
})

/** Rulings, Conversation listing. */
export const defaultLimit = 20
const pageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: defaultLimit, description: 'So many of a page.' })),
  cursor: Type.Optional(Type.String({ description: '`next_cursor` of the page before; absent: the first page.' })),
}

const everywhere = ['bad_request', 'invalid_api_key', 'agent_mismatch', 'rate_limit_exceeded', 'api_rate_limit_unavailable'] as const
const whileRunning = ['service_unavailable', 'internal_error'] as const
const chatFailures = describeFailures(
  ...everywhere,
  'permission_denied',
  'payload_too_large',
  'validation_error',
  'idempotency_conflict',
  'idempotency_in_progress',
  'not_found',
  'agent_not_found',
  'agent_disabled',
  'conversation_busy',
  'insufficient_balance',
  ...whileRunning,
)
const listingFailures = [...everywhere, 'validation_error', ...whileRunning] as const

const tags = ['Chat']
const json = <Schema extends TSchema>(schema: Schema, example: object) => ({ 'application/json': { schema, example } })

export const chatSchema = {
  operationId: 'createChatResponse',
  summary: 'Send a message and wait for the reply',
  description: [
    'Runs one turn of the conversation of this API key and `external_user_id`, and answers with the stored reply.',
    'A retry with the same `Idempotency-Key` and body gets the same reply; it is charged once. Allow 120 seconds.',
  ].join(' '),
  tags,
  params: AgentParams,
  body: ChatRequest.ref,
  response: {
    200: {
      description: 'The reply, stored and charged.',
      headers: { ...describeHeaders(), ...rateLimitHeaders },
      content: json(ChatResponse.ref, examples.chatResponse),
    },
    ...chatFailures,
  },
}

export const chatStreamSchema = {
  operationId: 'streamChatResponse',
  summary: 'Send a message and stream the reply',
  description: [
    'The same turn as server-sent events: `response.created`, any number of `response.output_text.delta`, then exactly one of',
    '`response.completed` and `error`. A failure before the stream is established is JSON with its status. The turn goes on when the',
    'caller leaves: a retry with the same key, here or on `/chat`, gets the stored reply. Lines that begin with a colon are to be ignored.',
  ].join(' '),
  tags,
  params: AgentParams,
  body: ChatRequest.ref,
  response: {
    200: {
      description: 'The stream is established.',
      headers: describeHeaders(),
      content: { 'text/event-stream': { schema: ChatEvent.ref, examples: examples.chatEvents } },
    },
    ...chatFailures,
  },
}

export const conversationsSchema = {
  operationId: 'listConversations',
  summary: 'List the conversations of this API key, newest first',
  description: 'With any permission. `external_user_id` finds the one of an end user; another key sees none of them.',
  tags: ['Conversations'],
  params: AgentParams,
  querystring: Type.Object({ ...pageQuery, external_user_id: Type.Optional(ExternalUserId) }, closed),
  response: {
    200: {
      description: 'One page.',
      headers: { ...describeHeaders(), ...rateLimitHeaders },
      content: json(page(Conversation.ref), examples.pageExample(examples.conversation)),
    },
    ...describeFailures(...listingFailures),
  },
}

export const messagesSchema = {
  operationId: 'listMessages',
  summary: 'List the messages of a conversation, newest first',
  description: 'With any permission. A message and its reply are stored together, under one `request_id`.',
  tags: ['Conversations'],
  params: ConversationParams,
  querystring: Type.Object(pageQuery, closed),
  response: {
    200: {
      description: 'One page.',
      headers: { ...describeHeaders(), ...rateLimitHeaders },
      content: json(page(Message.ref), examples.pageExample(...examples.messages)),
    },
    ...describeFailures(...listingFailures, 'not_found'),
  },
}
