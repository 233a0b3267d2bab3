/** The response schemas of the admin API for conversations, messages, turns and feedback. */
import { causeKinds } from '../../cause-kinds.ts'
import { replyFinishReasons } from '../../finish-reason.ts'
import { Source } from './agents/agent-answers.ts'
import { AmountUsd, Count, Price, RequestId, Time, TimeOrNull, Version, idOf, orNull } from './answer-fields.ts'
import { PriceCalculation, usageDetails } from './price-answers.ts'
import { define } from '../public/schemas.ts'
import { turnStatuses } from '../public/turn-schemas.ts'
import type { Static } from 'typebox'
import { Type } from '../edge/schema.ts'

const usageFields = {
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  charged_usd: AmountUsd,
  estimated: Type.Boolean({
    description:
      'True if the provider reported no usage and the tokens were estimated from the text, or reported figures that are impossible.',
  }),
}
const MessageUsage = Type.Object(usageFields)
export const TurnUsage = Type.Object({
  ...usageFields,
  ...usageDetails,
  tool_calls_usd: Type.String({ ...AmountUsd, description: 'The price of the finished tool calls. Part of `charged_usd`.' }),
})
const statusFields = {
  status: Type.Enum([...turnStatuses], { description: 'Of the turn.' }),
  state: Type.Enum([...turnStatuses], { deprecated: true, description: 'The old name of `status`, with the same value.' }),
}
export const writeStatus = (status: Static<typeof statusFields.status>): { status: typeof status; state: typeof status } => ({
  status,
  state: status,
})
const Incomplete = Type.Boolean({
  description: 'The reply ends before its end: at the token limit, by a content filter, or because the turn was cancelled.',
})
export const FinishReason = Type.Union([Type.Enum([...replyFinishReasons]), Type.Null()], {
  description:
    'Why the model ended the reply: `stop` if it had finished, `length` at the token limit, `refused` if the reply is its refusal, `filtered` by a content filter. Null without a reply, if the turn was cancelled, and for replies from before this field existed.',
})
const Rating = Type.Enum(['up', 'down'])

const conversationFields = {
  id: idOf('conv'),
  agent_id: idOf('agt'),
  key_id: idOf('key'),
  external_user_id: Type.Union([Type.String(), Type.Null()], { description: 'Null after erasure.' }),
  created_at: Time,
  last_message_at: TimeOrNull,
  message_count: Count,
}

const FoundTurn = Type.Object({
  request_id: RequestId,
  ...statusFields,
  rating: orNull(Rating),
  created_at: Time,
  excerpt: Type.Union([Type.Object({ role: Type.Enum(['user', 'assistant']), text: Type.String() }), Type.Null()], {
    description:
      'At most 200 characters: around `q` if it is given, otherwise the start of the reply, or of the message of a turn without one. Null without `q` and `excerpts`, and after erasure.',
  }),
})

/** In a list: with the turn that was found. */
export const ListedConversation = define(
  'ListedConversation',
  Type.Object({
    ...conversationFields,
    turn: Type.Union([FoundTurn, Type.Null()], {
      description:
        'The newest turn that matches all of `q`, `status` and `rating`. Null if none of them and no `excerpts` are given, and for a conversation without turns.',
    }),
  }),
)

export const StoredConversation = define('StoredConversation', Type.Object(conversationFields))

export const ToolCall = Type.Object({
  name: Type.String(),
  step: Type.Integer({ minimum: 1, description: 'The step in which the model requested the call, starting at 1.' }),
  arguments: Type.String({ description: 'The arguments as the model wrote them.' }),
  result: Type.Union([Type.String(), Type.Null()], {
    description: 'What was returned to the model, truncated to 2,000 characters. Null if the outcome of the call is unknown.',
  }),
  is_error: orNull(Type.Boolean()),
  ms: orNull(Type.Number()),
  price_usd: Type.Union([AmountUsd, Type.Null()], { description: 'What the call costs. Null until it has finished.' }),
})

export const StoredMessage = define(
  'StoredMessage',
  Type.Object({
    id: idOf('msg'),
    role: Type.Enum(['user', 'assistant']),
    content: Type.String(),
    created_at: Time,
    request_id: RequestId,
    citations: Type.Array(Source, { description: 'The passages that were in the prompt of this reply. Empty for user messages.' }),
    tool_calls: Type.Array(ToolCall, { description: 'The tool calls of this reply, kept for 30 days. Empty for user messages.' }),
    turn: Type.Object({
      ...statusFields,
      agent_version: Version,
      incomplete: Incomplete,
      finish_reason: FinishReason,
      rating: Type.Union([Rating, Type.Null()], { description: 'The rating in the feedback on the turn. Null without feedback.' }),
      usage: orNull(MessageUsage),
    }),
  }),
)

const CauseKindOrNull = orNull(Type.Enum([...causeKinds]))

export const TurnFailure = Type.Object({
  code: Type.String(),
  cause_kind: CauseKindOrNull,
  cause: Type.Union([Type.String(), Type.Null()], {
    description: 'May contain the words of the provider. Null without the permission `conversations`.',
  }),
})

const turnFields = {
  request_id: RequestId,
  conversation_id: idOf('conv'),
  external_user_id: Type.Union([Type.String(), Type.Null()], { description: 'Null after erasure.' }),
  owner_id: idOf('own'),
  agent_id: idOf('agt'),
  agent_version: Version,
  key_id: idOf('key'),
  ...statusFields,
  run: Type.Integer({ minimum: 1 }),
  attempts: Type.Integer({ minimum: 1, maximum: 3 }),
  price: Price,
  held_usd: AmountUsd,
  usage: orNull(TurnUsage),
  written_off_usd: orNull(AmountUsd),
  incomplete: Incomplete,
  finish_reason: FinishReason,
  failure: orNull(TurnFailure),
  first_delta_ms: orNull(Type.Number()),
  traceparent: Type.Union([Type.String(), Type.Null()], {
    description: 'The W3C `traceparent` header of the request that started the current run. Null without one.',
  }),
  created_at: Time,
  started_at: Time,
  cancel_requested_at: Type.Union([Time, Type.Null()], { description: 'When a cancel of the current run was requested, or null.' }),
  ended_at: TimeOrNull,
  erased_at: TimeOrNull,
}
const ModelStep = Type.Object({
  text: Type.String(),
  tool_calls: Type.Array(Type.Object({ name: Type.String(), arguments: Type.String() })),
  usage: Type.Object({ prompt_tokens: Count, completion_tokens: Count, ...usageDetails, estimated: Type.Boolean() }),
})
const Step = Type.Object({
  run: Count,
  step: Count,
  part: Count,
  kind: Type.Enum(['model', 'tool_started', 'tool_finished']),
  payload: Type.Union([ModelStep, ToolCall, Type.Null()]),
  created_at: Time,
})
export const Turn = define('Turn', Type.Object(turnFields))

const feedbackFields = {
  rating: Rating,
  comment: orNull(Type.String()),
  tags: Type.Array(Type.String()),
  created_at: Time,
  updated_at: Time,
}
export const Feedback = define(
  'Feedback',
  Type.Object({
    request_id: RequestId,
    agent_id: idOf('agt'),
    conversation_id: idOf('conv'),
    external_user_id: Type.Union([Type.String(), Type.Null()], { description: 'Null after erasure.' }),
    key_id: idOf('key'),
    ...statusFields,
    message: Type.Union([Type.String(), Type.Null()], { description: 'At most 200 characters of the message. Null after erasure.' }),
    reply: Type.Union([Type.String(), Type.Null()], {
      description: 'At most 200 characters of the reply. Null without one, and after erasure.',
    }),
    ...feedbackFields,
  }),
)
export const StoredFeedback = define('StoredFeedback', Type.Object({ request_id: RequestId, ...feedbackFields }))
export const TurnWithSteps = define(
  'TurnWithSteps',
  Type.Object({
    ...turnFields,
    price_calculation: orNull(PriceCalculation.ref),
    feedback: Type.Union([Type.Object(feedbackFields), Type.Null()], { description: 'The feedback on the turn, or null.' }),
    steps: Type.Array(Step),
  }),
)

export const turnSchemas = [ListedConversation, StoredConversation, StoredMessage, Turn, TurnWithSteps, Feedback, StoredFeedback]
