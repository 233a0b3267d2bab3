/**
 * The response schemas of the admin API for `/admin/v1/openapi.json`: one per resource, plus the error responses of a route. Request schemas
 * are next to the routes that they validate.
 */
import type { TSchema } from 'typebox'
import { causeKinds } from '../../cause-kinds.ts'
import type { FailureCode } from '../../errors.ts'
import { describeFailures, describeHeaders } from '../public/answers.ts'
import { pageExample } from '../public/examples.ts'
import { answerExamples } from './examples.ts'
import { Agent, AgentVersion, Chunk, Document, Found, Source, Tool, ToolDifferences } from './agents/agent-answers.ts'
import { AmountUsd, Count, Price, RequestId, Time, TimeOrNull, Version, idOf, orNull } from './answer-fields.ts'
import { LedgerEntry, Owner, OwnerWithHolds } from './owner-answers.ts'
import { toolFields } from './agents/tools.ts'
import { ModelPrice, Session, Status, ToolTrial, Verification } from './console-answers.ts'
import { ChatEvents, define } from '../public/schemas.ts'
import { Type } from '../edge/schema.ts'

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
    error: Type.Optional(Type.String({ description: 'The error message of the provider, truncated.' })),
  }),
)

const keyFields = {
  id: idOf('key'),
  key_id: Type.String({ description: 'The public part of the API key.' }),
  agent_id: idOf('agt'),
  name: orNull(Type.String()),
  permission: Type.Enum(['full', 'read-only']),
  rate_limit: Type.Object({ limit: Count, window_seconds: Count }),
  created_at: Time,
  last_used_at: Type.Union([Time, Type.Null()], { description: 'Updated at most once a minute. Null if the key was never used.' }),
  revoked_at: TimeOrNull,
}
export const Key = define('Key', Type.Object(keyFields))
export const ShownKey = define(
  'ShownKey',
  Type.Object({ api_key: Type.String({ description: 'The complete API key. Only this response contains it.' }), ...keyFields }),
)

const TurnUsage = Type.Object({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  charged_usd: AmountUsd,
  estimated: Type.Boolean({ description: 'True if the provider reported no usage and the tokens were estimated from the text.' }),
})
const State = Type.Enum(['running', 'completed', 'failed', 'released'])

export const StoredConversation = define(
  'StoredConversation',
  Type.Object({
    id: idOf('conv'),
    agent_id: idOf('agt'),
    key_id: idOf('key'),
    external_user_id: Type.Union([Type.String(), Type.Null()], { description: 'Null after erasure.' }),
    created_at: Time,
    last_message_at: TimeOrNull,
    message_count: Count,
  }),
)

const ToolCall = Type.Object({
  name: Type.String(),
  step: Type.Integer({ minimum: 1, description: 'The step in which the model requested the call, starting at 1.' }),
  arguments: Type.String({ description: 'The arguments as the model wrote them.' }),
  result: Type.Union([Type.String(), Type.Null()], {
    description: 'What was returned to the model, truncated to 2,000 characters. Null if the outcome of the call is unknown.',
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
    citations: Type.Array(Source, { description: 'The passages that were in the prompt of this reply. Empty for user messages.' }),
    tool_calls: Type.Array(ToolCall, { description: 'The tool calls of this reply, kept for 30 days. Empty for user messages.' }),
    turn: Type.Object({ state: State, agent_version: Version, usage: orNull(TurnUsage) }),
  }),
)

const CauseKindOrNull = orNull(Type.Enum([...causeKinds]))

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
  failure: orNull(Type.Object({ code: Type.String(), cause_kind: CauseKindOrNull, cause: orNull(Type.String()) })),
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
  turns: Type.Integer({ minimum: 0, description: 'Turns that ended: completed, failed or released.' }),
  completed: Count,
  failed: Count,
  released: Count,
  errors: Type.Integer({
    minimum: 0,
    description: 'Runs of turns that ended without a reply, those that a retry has since repeated included.',
  }),
  errors_by_cause: Type.Record(Type.String(), Type.Integer({ minimum: 1 }), {
    description: '`errors` by cause. Only causes that occurred.',
  }),
  prompt_tokens: Count,
  completion_tokens: Count,
  charged_usd: AmountUsd,
  written_off_usd: AmountUsd,
  unpaid_usd: AmountUsd,
  p50_ms: Type.Union([Type.Number(), Type.Null()], {
    description: 'Latency of completed turns, by nearest rank. Null if no turn completed.',
  }),
  p95_ms: orNull(Type.Number()),
  p50_first_delta_ms: orNull(Type.Number()),
  p95_first_delta_ms: orNull(Type.Number()),
}
export const Usage = define(
  'UsageReport',
  Type.Object({ data: Type.Array(Type.Object({ bucket_start: Time, ...figures })), totals: Type.Object(figures) }),
)

export const AuditEntry = define(
  'AuditEntry',
  Type.Object({
    id: idOf('aud'),
    who: Type.Enum(['admin', 'server'], {
      description: '`admin`: a call to this API. `server`: the service itself, at its first start or for retention.',
    }),
    verb: Type.String({ examples: ['change'] }),
    noun: Type.String({ examples: ['agent'] }),
    subject_id: Type.String(),
    fields: Type.Array(Type.String(), { description: 'Names of the changed fields, without their values.' }),
    request_id: orNull(RequestId),
    created_at: Time,
  }),
)

/** Pass these to `addSchema` before adding the routes. */
export const adminSchemas = [
  ...toolFields,
  ...ChatEvents,
  Owner,
  OwnerWithHolds,
  LedgerEntry,
  Provider,
  ProviderTest,
  Tool,
  ToolDifferences,
  Document,
  Chunk,
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
  AuditEntry,
  Session,
  Status,
  Verification,
  ToolTrial,
  ModelPrice,
].map(({ schema }) => schema)

const always = ['bad_request', 'unauthorized', 'service_unavailable', 'internal_error'] as const

export const tooManyGuesses = 'The admin token or session is wrong, and this address has sent too many wrong ones. Try again later.'
/** `admin.guesses`: any route may respond with it, and it has no headers of a rate limit. */
export const guessFailure = {
  429: {
    ...describeFailures('rate_limit_exceeded')[429]!,
    description: `\`rate_limit_exceeded\`: ${tooManyGuesses}`,
    headers: { ...describeHeaders(), 'Retry-After': Type.Integer({ description: 'Number of seconds until this address may try again.' }) },
  },
}
const failuresOf = (codes: FailureCode[]) => ({ ...guessFailure, ...describeFailures(...always, ...codes) })

type Answer = { ref: TSchema; example: object }
type Named = { schema: { $id: string }; ref: TSchema }
type Answered = Named | Answer

const exampleOf = (answered: Answered): object => ('example' in answered ? answered.example : answerExamples[answered.schema.$id]!)
const json = (answered: Answered) => ({ 'application/json': { schema: answered.ref, example: exampleOf(answered) } })

export const pageOf = (item: Named): Answer => ({
  ref: Type.Object({
    data: Type.Array(item.ref),
    next_cursor: Type.Union([Type.String(), Type.Null()], { description: 'Pass as `cursor` to get the next page. Null on the last page.' }),
  }),
  example: pageExample(exampleOf(item)),
})

/** Describes a 200 response with this body, and the errors of the route. */
export const answers = (answered: Answered, ...codes: FailureCode[]) => ({
  200: { description: 'OK.', headers: describeHeaders(), content: json(answered) },
  ...failuresOf(codes),
})

/** Describes a 201 response with this body, and the errors of the route. */
export const made = (answered: Answered, ...codes: FailureCode[]) => ({
  201: { description: 'Created.', headers: describeHeaders(), content: json(answered) },
  ...failuresOf(codes),
})

/** Describes a 202 response with this body, for work that finishes later. */
export const accepted = (answered: Answered, ...codes: FailureCode[]) => ({
  202: { description: 'Accepted. `status` shows the progress.', headers: describeHeaders(), content: json(answered) },
  ...failuresOf(codes),
})

/** Describes a 204 response without a body, and the errors of the route. */
export const gone = (...codes: FailureCode[]): Record<number, object> => ({
  204: Type.Null({ description: 'No content.', headers: describeHeaders() }),
  ...failuresOf(codes),
})

/** Adds a second media type to a 200 response. */
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
