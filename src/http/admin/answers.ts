/**
 * What the admin API answers with, for `/admin/v1/openapi.json`: one schema for each noun, and the failures of a route. What an operator
 * sends is described by the schemas that validate it, beside each route.
 */
import type { TSchema } from 'typebox'
import type { FailureCode } from '../../errors.ts'
import { describeFailures, describeHeaders } from '../public/answers.ts'
import { pageExample } from '../public/examples.ts'
import { answerExamples } from './examples.ts'
import { Agent, AgentVersion, Document, Found, Source, Tool, ToolDifferences } from './agents/agent-answers.ts'
import { AmountUsd, Count, Price, RequestId, Time, TimeOrNull, Version, idOf, orNull } from './answer-fields.ts'
import { ModelPrice, Session, Status, ToolTrial, Verification } from './console-answers.ts'
import { ChatEvents, define } from '../public/schemas.ts'
import { Type } from '../edge/schema.ts'

export const Owner = define(
  'Owner',
  Type.Object({
    id: idOf('own'),
    name: Type.String(),
    balance_usd: AmountUsd,
    held_usd: AmountUsd,
    available_usd: AmountUsd,
    created_at: Time,
  }),
)

export const LedgerEntry = define(
  'LedgerEntry',
  Type.Object({
    id: idOf('led'),
    owner_id: idOf('own'),
    kind: Type.Enum(['credit', 'adjustment', 'charge']),
    amount_usd: AmountUsd,
    written_off_usd: AmountUsd,
    request_id: orNull(RequestId),
    note: orNull(Type.String()),
    created_at: Time,
  }),
)

export const Provider = define(
  'Provider',
  Type.Object({
    id: idOf('prv'),
    name: Type.String(),
    kind: Type.String(),
    base_url: orNull(Type.String()),
    created_at: Time,
    updated_at: Time,
  }),
)

export const ProviderTest = define(
  'ProviderTest',
  Type.Object({
    ok: Type.Boolean(),
    model: Type.Optional(Type.String()),
    latency_ms: Type.Number({ minimum: 0 }),
    error: Type.Optional(Type.String({ description: "The provider's own words, shortened." })),
  }),
)

const keyFields = {
  id: idOf('key'),
  key_id: Type.String({ description: 'The public part of the key.' }),
  agent_id: idOf('agt'),
  name: orNull(Type.String()),
  permission: Type.Enum(['full', 'read-only']),
  rate_limit: Type.Object({ limit: Count, window_seconds: Count }),
  created_at: Time,
  last_used_at: Type.Union([Time, Type.Null()], { description: 'Up to a minute behind; null before the first use.' }),
  revoked_at: TimeOrNull,
}
export const Key = define('Key', Type.Object(keyFields))
export const ShownKey = define(
  'ShownKey',
  Type.Object({ api_key: Type.String({ description: 'The whole key: shown in this answer and in no other.' }), ...keyFields }),
)

const TurnUsage = Type.Object({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  charged_usd: AmountUsd,
  estimated: Type.Boolean({ description: 'The provider told no usage: counted from the texts.' }),
})
const State = Type.Enum(['running', 'completed', 'failed', 'released'])

export const StoredConversation = define(
  'StoredConversation',
  Type.Object({
    id: idOf('conv'),
    agent_id: idOf('agt'),
    key_id: idOf('key'),
    external_user_id: Type.Union([Type.String(), Type.Null()], { description: 'Null once erased.' }),
    created_at: Time,
    last_message_at: TimeOrNull,
    message_count: Count,
  }),
)

const ToolCall = Type.Object({
  name: Type.String(),
  step: Type.Integer({ minimum: 1, description: 'The call of the model that asked for it, counted from 1.' }),
  arguments: Type.String({ description: 'As the model wrote them.' }),
  result: Type.Union([Type.String(), Type.Null()], {
    description: 'What the model was told, cut after 2,000 characters; null: no end of it is known.',
  }),
  is_error: orNull(Type.Boolean()),
  ms: orNull(Type.Number()),
})

export const StoredMessage = define(
  'StoredMessage',
  Type.Object({
    id: idOf('msg'),
    role: Type.Enum(['user', 'assistant']),
    content: Type.String(),
    created_at: Time,
    request_id: RequestId,
    citations: Type.Array(Source, { description: 'The passages that a reply had before it; none of a message.' }),
    tool_calls: Type.Array(ToolCall, { description: 'What was called for a reply, for 30 days; none of a message.' }),
    turn: Type.Object({ state: State, agent_version: Version, usage: orNull(TurnUsage) }),
  }),
)

const turnFields = {
  request_id: RequestId,
  conversation_id: idOf('conv'),
  owner_id: idOf('own'),
  agent_id: idOf('agt'),
  agent_version: Version,
  key_id: idOf('key'),
  state: State,
  run: Type.Integer({ minimum: 1 }),
  attempts: Type.Integer({ minimum: 1, maximum: 3 }),
  price: Price,
  held_usd: AmountUsd,
  usage: orNull(TurnUsage),
  written_off_usd: orNull(AmountUsd),
  failure: orNull(Type.Object({ code: Type.String(), cause: orNull(Type.String()) })),
  first_delta_ms: orNull(Type.Number()),
  created_at: Time,
  started_at: Time,
  ended_at: TimeOrNull,
  erased_at: TimeOrNull,
}
const ModelStep = Type.Object({
  text: Type.String(),
  tool_calls: Type.Array(Type.Object({ name: Type.String(), arguments: Type.String() })),
  usage: Type.Object({ prompt_tokens: Count, completion_tokens: Count, estimated: Type.Boolean() }),
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
export const TurnWithSteps = define('TurnWithSteps', Type.Object({ ...turnFields, steps: Type.Array(Step) }))

export const Erased = define('Erased', Type.Object({ conversations: Count, turns: Count, messages: Count }))

const figures = {
  turns: Type.Integer({ minimum: 0, description: 'Turns that ended: completed, failed and released.' }),
  completed: Count,
  failed: Count,
  released: Count,
  prompt_tokens: Count,
  completion_tokens: Count,
  charged_usd: AmountUsd,
  written_off_usd: AmountUsd,
  p50_ms: Type.Union([Type.Number(), Type.Null()], { description: 'Of completed turns, nearest rank; null where there is none.' }),
  p95_ms: orNull(Type.Number()),
  p50_first_delta_ms: orNull(Type.Number()),
  p95_first_delta_ms: orNull(Type.Number()),
}
export const Usage = define(
  'UsageReport',
  Type.Object({ data: Type.Array(Type.Object({ bucket_start: Time, ...figures })), totals: Type.Object(figures) }),
)

export const AuditLine = define(
  'AuditLine',
  Type.Object({
    id: idOf('aud'),
    who: Type.Enum(['admin', 'server'], { description: 'admin: a call of this API; server: the service itself (first start, retention).' }),
    verb: Type.String({ examples: ['change'] }),
    noun: Type.String({ examples: ['agent'] }),
    subject_id: Type.String(),
    fields: Type.Array(Type.String(), { description: 'Names of the changed fields, never a value.' }),
    request_id: orNull(RequestId),
    created_at: Time,
  }),
)

/** For `addSchema`, before the routes. */
export const adminSchemas = [
  ...ChatEvents,
  Owner,
  LedgerEntry,
  Provider,
  ProviderTest,
  Tool,
  ToolDifferences,
  Document,
  Found,
  Agent,
  AgentVersion,
  Key,
  ShownKey,
  StoredConversation,
  StoredMessage,
  Turn,
  TurnWithSteps,
  Erased,
  Usage,
  AuditLine,
  Session,
  Status,
  Verification,
  ToolTrial,
  ModelPrice,
].map(({ schema }) => schema)

const always = ['bad_request', 'unauthorized', 'service_unavailable', 'internal_error'] as const
type Answer = { ref: TSchema; example: object }
type Named = { schema: { $id: string }; ref: TSchema }
type Answered = Named | Answer

const exampleOf = (answered: Answered): object => ('example' in answered ? answered.example : answerExamples[answered.schema.$id]!)
const json = (answered: Answered) => ({ 'application/json': { schema: answered.ref, example: exampleOf(answered) } })

export const pageOf = (item: Named): Answer => ({
  ref: Type.Object({
    data: Type.Array(item.ref),
    next_cursor: Type.Union([Type.String(), Type.Null()], { description: 'For the next page; null on the last one.' }),
  }),
  example: pageExample(exampleOf(item)),
})

/** A 200 with this body, or one of these failures. */
export const answers = (answered: Answered, ...codes: FailureCode[]) => ({
  200: { description: 'Done.', headers: describeHeaders(), content: json(answered) },
  ...describeFailures(...always, ...codes),
})

export const made = (answered: Answered, ...codes: FailureCode[]) => ({
  201: { description: 'Made.', headers: describeHeaders(), content: json(answered) },
  ...describeFailures(...always, ...codes),
})

/** Taken, and done later. */
export const accepted = (answered: Answered, ...codes: FailureCode[]) => ({
  202: { description: 'Taken; see status.', headers: describeHeaders(), content: json(answered) },
  ...describeFailures(...always, ...codes),
})

export const gone = (...codes: FailureCode[]): Record<number, object> => ({
  204: Type.Null({ description: 'Done; there is nothing to say.', headers: describeHeaders() }),
  ...describeFailures(...always, ...codes),
})

/** The same 200 in another media type too. */
export const alsoAs = (mediaType: string, example: string, response: ReturnType<typeof answers>) => ({
  ...response,
  200: { ...response[200], content: { ...response[200].content, [mediaType]: { schema: Type.String(), example } } },
})

export const about = (tag: string, operationId: string, summary: string, description: string) => ({
  tags: [tag],
  operationId,
  summary,
  description,
})
