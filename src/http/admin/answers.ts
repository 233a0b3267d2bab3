/**
 * The response schemas of the admin API for `/admin/v1/openapi.json`: one per resource, plus the error responses of a route. Request schemas
 * are next to the routes that they validate.
 */
import type { Readable } from 'node:stream'
import type { Static, TSchema } from 'typebox'
import type { FailureCode } from '../../errors.ts'
import { describeEmpty, describeFailures, describeHeaders, describeStream } from '../public/answers.ts'
import { chatStreams, pageExample } from '../public/examples.ts'
import { answerExamples } from './examples.ts'
import { endUserSchemas } from './end-user-answers.ts'
import { operatorExamples, operatorSchemas } from './operator-answers.ts'
import { signInExamples, signInSchemas } from '../console/sign-in/sign-in-answers.ts'
import { reportExamples } from './report-examples.ts'
import { Agent, AgentVersion, Chunk, Document, Found, PriceOfVersion, Tool, ToolDifferences } from './agents/agent-answers.ts'
import { apiKeyFields } from '../../resources/api-key.ts'
import { answerProperties } from './wire.ts'
import { AmountUsd, Count, NextCursor, RequestId, Time, idOf, orNull } from './answer-fields.ts'
import { LedgerEntry, ListedLedgerEntry, Owner, OwnerWithHolds } from './owner-answers.ts'
import { toolFields } from './agents/tools.ts'
import { turnSchemas } from './turn-answers.ts'
import { FeedbackRequest } from '../public/turn-schemas.ts'
import { PriceCalculation } from './price-answers.ts'
import { ModelPrice, ProviderModels, Session, Status, ToolTrial, Verification } from './console-answers.ts'
import { traceSchemas } from './trace-answers.ts'
import { webhookSchemas } from './webhook-answers.ts'
import { ChatEvent, ChatEvents, define } from '../public/schemas.ts'
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

const keyFields = answerProperties(apiKeyFields)
export const Key = define('Key', Type.Object(keyFields))
export const ShownKey = define(
  'ShownKey',
  Type.Object({ api_key: Type.String({ description: 'The complete API key. Only this response contains it.' }), ...keyFields }),
)

export const Erased = define('Erased', Type.Object({ conversations: Count, turns: Count, messages: Count }))

const figures = {
  turns: Type.Integer({ minimum: 0, description: 'Turns that ended: completed, failed, released or cancelled.' }),
  completed: Count,
  failed: Count,
  released: Count,
  cancelled: Type.Integer({ minimum: 0, description: 'Turns that were cancelled before they had a reply. They are not errors.' }),
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

export const UsageLine = define(
  'UsageLine',
  Type.Object({
    month: Type.Union([Type.String(), Type.Null()], {
      description: 'Such as 2026-10, in UTC. Null if not grouped by it, like the next fields.',
    }),
    day: orNull(Type.String()),
    owner_id: orNull(idOf('own')),
    owner_name: Type.Union([Type.String(), Type.Null()], { description: 'Names are those of today.' }),
    agent_id: orNull(idOf('agt')),
    agent_name: orNull(Type.String()),
    key_id: orNull(idOf('key')),
    key_name: orNull(Type.String()),
    external_user_id: Type.Union([Type.String(), Type.Null()], { description: 'Also null for an erased end user.' }),
    erased_conversation_id: Type.Union([idOf('conv'), Type.Null()], {
      description: 'The conversation of an erased end user, if grouped by end user.',
    }),
    turns: figures.turns,
    completed: Count,
    failed: Count,
    released: Count,
    cancelled: figures.cancelled,
    prompt_tokens: Count,
    completion_tokens: Count,
    charged_usd: AmountUsd,
    written_off_usd: AmountUsd,
    unpaid_usd: AmountUsd,
  }),
)

export const authors = ['admin_token', 'operator', 'token', 'server'] as const

/** Any JSON of the API: a text, a number, a list of names. */
const Shown = Type.Unknown({ description: 'As in the API. Null: none.' })

export const AuditEntry = define(
  'AuditEntry',
  Type.Object({
    id: idOf('aud'),
    who: Type.Enum([...authors], {
      description:
        '`admin_token`: the admin token of the installation. `operator`: a person. `token`: a token for programs. `server`: the service itself, at its first start or for retention.',
    }),
    author_id: Type.Union([Type.String(), Type.Null()], { description: 'The ID of the operator or the token, otherwise null.' }),
    author_name: Type.Union([Type.String(), Type.Null()], { description: 'Its name at that time.' }),
    verb: Type.String({ description: '`read` and `export`: texts of end users were read. All others are changes.', examples: ['change'] }),
    noun: Type.String({ examples: ['agent'] }),
    subject_id: Type.String(),
    fields: Type.Array(Type.String(), {
      description: 'Names of the changed fields, with dots for nested ones. Empty if the verb says everything.',
      examples: [['name']],
    }),
    changes: orNull(
      Type.Record(Type.String(), Type.Object({ before: Shown, after: Shown }), {
        description:
          'Of the changed fields, those that are neither secret nor about an end user. A text has at most 500 characters; `…` is for the rest.',
        examples: [{ name: { before: 'Example', after: 'Example Shop' } }],
      }),
    ),
    request_id: orNull(RequestId),
    created_at: Time,
  }),
)

/** Pass these to `addSchema` before adding the routes. */
export const adminSchemas = [
  ...toolFields,
  ...ChatEvents,
  ...traceSchemas,
  ...webhookSchemas,
  ...endUserSchemas,
  ...operatorSchemas,
  ...signInSchemas,
  Owner,
  OwnerWithHolds,
  LedgerEntry,
  ListedLedgerEntry,
  Provider,
  ProviderTest,
  ProviderModels,
  Tool,
  ToolDifferences,
  Document,
  Chunk,
  Found,
  Agent,
  AgentVersion,
  PriceOfVersion,
  Key,
  ShownKey,
  PriceCalculation,
  ...turnSchemas,
  FeedbackRequest,
  Erased,
  Usage,
  UsageLine,
  AuditEntry,
  Session,
  Status,
  Verification,
  ToolTrial,
  ModelPrice,
].map(({ schema }) => schema)

const always = ['bad_request', 'unauthorized', 'forbidden', 'service_unavailable', 'internal_error'] as const

export const tooManyGuesses = 'The admin token or session is wrong, and this address has sent too many wrong ones. Try again later.'
const tooManyRequests = 'This operator or token has sent too many requests within a minute, or has too many in progress.'
/** `admin.guesses`, `admin.limits`: any route may respond with it. */
export const guessFailure = {
  429: {
    ...describeFailures('rate_limit_exceeded')[429],
    description: `\`rate_limit_exceeded\`: ${tooManyRequests}\n\n\`rate_limit_exceeded\`: ${tooManyGuesses}`,
    headers: { ...describeHeaders(), 'Retry-After': Type.Integer({ description: 'Number of seconds to wait before retrying.' }) },
  },
}
const failuresOf = (codes: FailureCode[]) => ({ ...guessFailure, ...describeFailures(...always, ...codes) })

type Answer<Schema extends TSchema> = { ref: Schema; example: object }
type Named<Schema extends TSchema> = { schema: { $id: string }; ref: Schema }
type Answered<Schema extends TSchema> = Named<Schema> | Answer<Schema>

const examples: Record<string, object> = { ...answerExamples, ...reportExamples, ...operatorExamples, ...signInExamples }
const exampleOf = (answered: Answered<TSchema>) => ('example' in answered ? answered.example : examples[answered.schema.$id]!)
const json = <Schema extends TSchema>(answered: Answered<Schema>) => ({
  'application/json': { schema: answered.ref, example: exampleOf(answered) },
})

export const pageOf = <Schema extends TSchema>(item: Named<Schema>) => ({
  ref: Type.Object({
    data: Type.Array(item.ref),
    next_cursor: NextCursor,
  }),
  example: pageExample(exampleOf(item)),
})

/** A response that is either of these. Its example is that of the first. */
export const oneOf = <First extends TSchema, Second extends TSchema>(first: Answered<First>, second: Answered<Second>) => ({
  ref: Type.Unsafe<Static<First> | Static<Second>>({ oneOf: [first.ref, second.ref] }),
  example: exampleOf(first),
})

/** Describes a 200 response with this body, and the errors of the route. */
export const answers = <Schema extends TSchema>(answered: Answered<Schema>, ...codes: FailureCode[]) => ({
  200: { description: 'OK.', headers: describeHeaders(), content: json(answered) },
  ...failuresOf(codes),
})

/** Describes a 200 response that streams the events of a turn, the 204 after its last event, and the errors of the route. */
export const streamed = (...codes: FailureCode[]) => ({
  200: { description: 'The stream of events.', headers: describeHeaders(), content: describeStream(ChatEvent.ref, chatStreams) },
  204: describeEmpty('The event was the last one of the turn.'),
  ...failuresOf(codes),
})

/** Describes a 201 response with this body, and the errors of the route. */
export const made = <Schema extends TSchema>(answered: Answered<Schema>, ...codes: FailureCode[]) => ({
  201: { description: 'Created.', headers: describeHeaders(), content: json(answered) },
  ...failuresOf(codes),
})

/** Describes a 202 response with this body, for work that finishes later. */
export const accepted = <Schema extends TSchema>(answered: Answered<Schema>, ...codes: FailureCode[]) => ({
  202: { description: 'Accepted. `status` shows the progress.', headers: describeHeaders(), content: json(answered) },
  ...failuresOf(codes),
})

/** Describes a 204 response without a body, and the errors of the route. */
export const gone = (...codes: FailureCode[]) => ({ 204: describeEmpty('No content.'), ...failuresOf(codes) })

/** A text that is written while it is sent. */
const text = Type.Unsafe<Readable>(Type.String())

/** Adds CSV to a 200 response. */
export const alsoAsCsv = <Schema extends TSchema>(example: string, response: ReturnType<typeof answers<Schema>>) => ({
  ...response,
  200: { ...response[200], content: { ...response[200].content, 'text/csv': { schema: text, example } } },
})

/** Describes a 200 response of one JSON object per line, and the errors of the route. */
export const ndjson = (example: string, ...codes: FailureCode[]) => ({
  200: {
    description: 'One JSON object per line.',
    headers: describeHeaders(),
    content: { 'application/x-ndjson': { schema: text, example } },
  },
  ...failuresOf(codes),
})

export const about = (tag: string, operationId: string, summary: string, description: string) => ({
  tags: [tag],
  operationId,
  summary,
  description,
})
