/** The schemas of the turn resource (`turn.resource`): for validation and for /openapi.json. docs/spec.md, "Turns", describes the fields. */
import type { Static } from 'typebox'
import { describeEmpty, describeFailures, describeHeaders, describeStream, rateLimitHeaders } from './answers.ts'
import * as examples from './examples.ts'
import { replyFinishReasons } from '../../finish-reason.ts'
import { wellFormedPattern } from '../edge/invalid-input.ts'
import { Type } from '../edge/schema.ts'
import { AgentParams, AssistantMessage, ChatEvent, conversationId, define, ExternalUserId, Time, Usage } from './schemas.ts'

const RequestId = Type.String({ format: 'uuid', description: 'The ID of the turn: the `request_id` that the message got.' })
const closed = { additionalProperties: false } as const
const nullable = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema, description: string) =>
  Type.Union([schema, Type.Null()], { description })

export const turnStatuses = ['running', 'completed', 'failed', 'released', 'cancelled'] as const

const count = (description: string) => Type.Integer({ minimum: 0, description, examples: [0] })
const TurnUsage = define(
  'TurnUsage',
  Type.Object({
    ...Usage.schema.properties,
    prompt_tokens_details: Type.Object(
      {
        cached_tokens: count('Prompt tokens that the provider read from its cache.'),
        cache_write_tokens: count('Prompt tokens that the provider wrote to its cache.'),
      },
      { description: 'Parts of `prompt_tokens`.' },
    ),
    completion_tokens_details: Type.Object(
      { reasoning_tokens: count('Tokens that the model generated as reasoning.') },
      { description: 'Parts of `completion_tokens`.' },
    ),
    tool_calls_usd: Type.String({
      pattern: '^\\d+\\.\\d{8}$',
      description: 'The price of the finished tool calls. Part of `charged_usd`.',
      examples: ['0.00000000'],
    }),
  }),
)

export type Turn = Static<typeof Turn.ref>
const Turn = define(
  'Turn',
  Type.Object({
    request_id: RequestId,
    conversation_id: conversationId,
    external_user_id: ExternalUserId,
    status: Type.Enum([...turnStatuses], {
      description:
        'A `released` turn ended without a reply for a temporary reason: a retry with its `Idempotency-Key` runs it again. All others but `running` are final.',
    }),
    created_at: Time,
    ended_at: nullable(Time, 'Null while the turn runs.'),
    message: nullable(AssistantMessage.ref, 'The reply of a completed turn, otherwise null.'),
    usage: nullable(
      TurnUsage.ref,
      'The usage of a completed turn, and of a cancelled one that was charged for finished tool calls, otherwise null.',
    ),
    error: nullable(
      Type.Object({ code: Type.String({ description: 'As the caller received it.' }), message: Type.String() }),
      'Why a failed, released or cancelled turn has no reply, otherwise null.',
    ),
    finish_reason: nullable(
      Type.Enum([...replyFinishReasons]),
      'Why the model ended the reply: `stop` if it had finished, `length` at the token limit, `refused` if the reply is its refusal, `filtered` by a content filter. Null without a reply, if the turn was cancelled, and for replies from before this field existed.',
    ),
    cancel_requested: Type.Boolean({ description: 'Whether a cancel was requested while the turn ran.' }),
  }),
)

export type FeedbackRequest = Static<typeof FeedbackRequest.ref>
const maxTags = 20
export const FeedbackRequest = define(
  'FeedbackRequest',
  Type.Object(
    {
      rating: Type.Enum(['up', 'down'], { description: 'Whether the reply was good.' }),
      comment: Type.Optional(
        Type.String({ minLength: 1, maxLength: 2000, pattern: wellFormedPattern, description: 'What the end user wrote about it.' }),
      ),
      tags: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 64, pattern: wellFormedPattern }), {
          maxItems: maxTags,
          description: 'Your own labels. The operator can filter by them.',
        }),
      ),
    },
    { ...closed, examples: [examples.feedbackRequest] },
  ),
)
const Feedback = define(
  'Feedback',
  Type.Object({
    request_id: RequestId,
    rating: Type.Enum(['up', 'down'], { description: 'Whether the reply was good.' }),
    comment: nullable(Type.String(), 'Null if there was no comment.'),
    tags: Type.Array(Type.String(), { description: 'Empty if there are none. Each occurs once.' }),
    created_at: Time,
    updated_at: Time,
  }),
)

export const turnSchemas = [TurnUsage, Turn, FeedbackRequest, Feedback].map(({ schema }) => schema)

const TurnParams = Type.Object({
  ...AgentParams.properties,
  request_id: Type.String({ description: 'The `request_id` of a message that this API key sent.', examples: [examples.exampleId] }),
})

const tags = ['Turns']
const failuresOfTurns = [
  ...(['bad_request', 'invalid_api_key', 'agent_mismatch', 'not_found', 'rate_limit_exceeded', 'api_rate_limit_unavailable'] as const),
  ...(['validation_error', 'service_unavailable', 'internal_error'] as const),
] as const
const turnResponse = {
  description: 'The turn.',
  headers: { ...describeHeaders(), ...rateLimitHeaders },
  content: { 'application/json': { schema: Turn.ref, example: examples.turn } },
}

export const turnSchema = {
  operationId: 'getTurn',
  summary: 'Get the status of a turn',
  description: 'Available to keys with any permission. A key sees only the turns that it started.',
  tags,
  params: TurnParams,
  response: { 200: turnResponse, ...describeFailures(...failuresOfTurns) },
}

export const turnOfKeySchema = {
  operationId: 'findTurn',
  summary: 'Find the turn of an Idempotency-Key',
  description: [
    'For a client that got no response to its message: the turn of this API key with that `Idempotency-Key`, while it runs and until 24 hours',
    'after its end. Returns 404 if no message with this key was admitted, and after that time. Available to keys with any permission.',
  ].join(' '),
  tags,
  params: AgentParams,
  querystring: Type.Object(
    {
      idempotency_key: Type.String({
        minLength: 1,
        maxLength: 255,
        pattern: wellFormedPattern,
        description: 'The `Idempotency-Key` of the message.',
        examples: ['order-4711-question-1'],
      }),
    },
    closed,
  ),
  response: { 200: turnResponse, ...describeFailures(...failuresOfTurns) },
}

export const turnStreamSchema = {
  operationId: 'streamTurn',
  summary: 'Follow a turn, from its first delta or after an event',
  description: [
    'Streams the events of a turn, whichever process runs it. With `Last-Event-ID`, or `after`, it continues after that event: no text is sent',
    'twice and none is left out. If the turn was run again and its text differs, `response.output_text.reset` comes before the new text.',
    'After the last event of a turn that has ended, the response is 204.',
  ].join(' '),
  tags,
  params: TurnParams,
  querystring: Type.Object(
    {
      after: Type.Optional(
        Type.String({ maxLength: 64, description: 'The `id` of an event. Like the header `Last-Event-ID`, which it replaces.' }),
      ),
    },
    closed,
  ),
  response: {
    200: {
      description: 'The stream of events.',
      headers: describeHeaders(),
      content: describeStream(ChatEvent.ref, examples.chatStreams),
    },
    204: describeEmpty('The event was the last one of the turn.'),
    ...describeFailures(...failuresOfTurns),
  },
}

export const cancelSchema = {
  operationId: 'cancelTurn',
  summary: 'Cancel a turn',
  description: [
    'Before any text was generated, the turn ends as `cancelled`: nothing is charged except finished tool calls that have a price, and nothing is added to the conversation. After that, the text',
    'so far becomes the reply, with `incomplete: true`, and its tokens are charged. Has no effect on a turn that has ended, and can be repeated.',
    'The turn may still run when the response arrives: `cancel_requested` is true then.',
  ].join(' '),
  tags,
  params: TurnParams,
  response: { 200: turnResponse, ...describeFailures(...failuresOfTurns, 'permission_denied', 'payload_too_large') },
}

export const feedbackSchema = {
  operationId: 'giveFeedback',
  summary: 'Give feedback on a turn',
  description: 'Replaces earlier feedback on the same turn. The operator of the agent sees it. A turn that still runs has no feedback yet.',
  tags,
  params: TurnParams,
  body: FeedbackRequest.ref,
  response: {
    200: {
      description: 'The stored feedback.',
      headers: { ...describeHeaders(), ...rateLimitHeaders },
      content: { 'application/json': { schema: Feedback.ref, example: examples.feedback } },
    },
    ...describeFailures(...failuresOfTurns, 'permission_denied', 'payload_too_large'),
  },
}
