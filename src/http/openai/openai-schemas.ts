/** The schemas of /openai/openapi.json. They describe; parameters.ts checks. */
import type { Static, TObject, TProperties, TSchema } from 'typebox'
import { blockingTurn, describeHeaders, describeStream, rateLimitHeaders } from '../public/answers.ts'
import { idempotencyKey } from '../public/openapi.ts'
import { define } from '../public/schemas.ts'
import { Type } from '../edge/schema.ts'
import { completionParameters, responseParameters } from './parameters.ts'
import type { Parameters } from './parameters.ts'
import * as examples from './openai-examples.ts'

/** An object that may have more fields than its schema describes. */
const openObject = <Properties extends TProperties>(properties: Properties, options: object = {}) =>
  Type.Unsafe<Static<TObject<Properties>> & { [field: string]: unknown }>(
    Type.Object(properties, { additionalProperties: true, ...options }),
  )
const integer = Type.Integer({ minimum: 0 })
const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

const ErrorResponse = Type.Object({
  error: Type.Object({
    message: Type.String({ description: 'Human-readable description. The wording may change.' }),
    type: Type.Enum(['invalid_request_error', 'insufficient_quota', 'rate_limit_error', 'server_error']),
    param: nullable(Type.String({ description: 'The parameter that is wrong.' })),
    code: Type.String({ description: 'Stable, machine-readable error code.' }),
  }),
})

const mayRetry = {
  'x-should-retry': Type.Enum(['true', 'false'], { description: 'Whether the same request can succeed. The official clients obey it.' }),
}
const retryAfter = { 'Retry-After': Type.Integer({ description: 'Number of seconds to wait before retrying the request.' }) }

const failure = (description: string, headers: object = {}) => ({
  description,
  headers: { ...describeHeaders(), ...headers },
  content: { 'application/json': { schema: ErrorResponse, example: examples.error } },
})

const everywhere = {
  400: failure('`validation_error`, `unsupported_parameter`, `unknown_parameter` or `missing_user`. Nothing was stored or charged.'),
  401: failure('`invalid_api_key`', { 'WWW-Authenticate': Type.String({ description: 'The required authentication scheme: `Bearer`.' }) }),
  404: failure('`model_not_found`, `response_not_found` or `not_found`'),
  408: failure('`bad_request`: the request did not arrive in time.'),
  417: failure('`bad_request`: unsupported Expect header.'),
  429: failure('`rate_limit_exceeded`', { ...rateLimitHeaders, ...retryAfter }),
  431: failure('`bad_request`: the headers are too large.'),
  500: failure('`internal_error`', mayRetry),
  503: failure('`service_unavailable` or `api_rate_limit_unavailable`. Retry the request.', { ...retryAfter, ...mayRetry }),
}
const whenSending = {
  402: failure('`insufficient_balance` or `spend_limit_exceeded`. Nothing was charged.', retryAfter),
  403: failure('`permission_denied` or `agent_disabled`'),
  409: failure('`conversation_busy`, `idempotency_in_progress`, `idempotency_conflict` or `turn_cancelled`', {
    ...retryAfter,
    ...mayRetry,
    ...blockingTurn,
  }),
  413: failure('`payload_too_large`: the body is over 1 MiB.'),
}

const ok = <Schema extends TSchema>(description: string, schema: Schema, example: object) => ({
  description,
  headers: { ...describeHeaders(), ...rateLimitHeaders },
  content: { 'application/json': { schema, example } },
})
const okOrStream = <Schema extends TSchema>(json: ReturnType<typeof ok<Schema>>, when: string, event: TSchema, example: string) => ({
  ...json,
  content: { ...json.content, ...describeStream(event, { stream: { value: example } }, ` ${when}`) },
})

export type Model = Static<typeof Model>
const Model = Type.Object({
  id: Type.String({ description: "The agent's ID, or the slug of its name." }),
  object: Type.Literal('model'),
  created: integer,
  owned_by: Type.String(),
})
const Models = Type.Object({ object: Type.Literal('list'), data: Type.Array(Model) })

export type Completion = Static<typeof Completion>
const Completion = Type.Object({
  id: Type.String({ description: 'The request ID of the turn: `chatcmpl-` and its digits.' }),
  object: Type.Literal('chat.completion'),
  created: integer,
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Literal(0),
      message: Type.Object({
        role: Type.Literal('assistant'),
        content: Type.String(),
        refusal: Type.Null(),
        annotations: Type.Array(Type.Unknown()),
      }),
      logprobs: Type.Null(),
      finish_reason: Type.Enum(['stop', 'length', 'content_filter'], {
        description: '`length`: the text was cut off at the token limit, or the turn was cancelled after it.',
      }),
    }),
  ),
  usage: Type.Object({
    prompt_tokens: integer,
    completion_tokens: integer,
    total_tokens: integer,
    prompt_tokens_details: openObject({ cached_tokens: integer }),
    completion_tokens_details: openObject({ reasoning_tokens: integer }),
  }),
})
const ChatCompletionChunk = define(
  'ChatCompletionChunk',
  openObject(
    { id: Type.String(), object: Type.Literal('chat.completion.chunk'), choices: Type.Array(openObject({})) },
    { description: 'The data of an event of a streamed chat completion.' },
  ),
)
const ChunkEvent = Type.Union([
  Type.Object({ data: ChatCompletionChunk.ref }),
  Type.Object({ data: Type.Object({ error: ErrorResponse.properties.error }) }, { description: 'The last event of a stream that failed.' }),
  Type.Object({ data: Type.Literal('[DONE]') }, { description: 'The last event. Not JSON.' }),
])

export type ResponseObject = Static<typeof ResponseObject>
const ResponseObject = openObject({
  id: Type.String({ description: 'The request ID of the turn: `resp_` and its digits.' }),
  object: Type.Literal('response'),
  created_at: integer,
  completed_at: nullable(integer),
  status: Type.Enum(['in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  background: Type.Boolean(),
  error: nullable(Type.Object({ code: Type.String(), message: Type.String() })),
  incomplete_details: nullable(Type.Object({ reason: Type.Enum(['max_output_tokens', 'content_filter']) })),
  model: Type.String(),
  output: Type.Array(openObject({ id: Type.String(), type: Type.Literal('message') })),
  previous_response_id: nullable(Type.String()),
  conversation: Type.Object({ id: Type.String() }),
  usage: nullable(
    Type.Object({
      input_tokens: integer,
      input_tokens_details: Type.Object({ cached_tokens: integer, cache_write_tokens: integer }),
      output_tokens: integer,
      output_tokens_details: Type.Object({ reasoning_tokens: integer }),
      total_tokens: integer,
    }),
  ),
  user: Type.String(),
})
const ResponseStreamEvent = define(
  'ResponseStreamEvent',
  openObject(
    { type: Type.String(), sequence_number: integer },
    { description: 'The data of an event of a streamed response. `type` is the name of the event.' },
  ),
)
const ResponseEvent = Type.Object({ event: Type.String(), data: ResponseStreamEvent.ref })

/** The schemas of the events. Pass them to `addSchema` before adding the routes. */
export const eventSchemas = [ChatCompletionChunk.schema, ResponseStreamEvent.schema]
export type InputItem = Static<typeof InputItems>['data'][number]
const InputItems = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(openObject({ id: Type.String(), type: Type.Literal('message'), role: Type.Literal('user') })),
  first_id: nullable(Type.String()),
  last_id: nullable(Type.String()),
  has_more: Type.Literal(false),
})

/** Refused parameters are described too, so that a reader finds why. */
const bodyOf = (parameters: Parameters, required: string[], example: object) => ({
  type: 'object',
  required,
  properties: Object.fromEntries(
    Object.entries(parameters).map(([name, { does, note }]) => [
      name,
      { description: does === 'used' ? note : `${titles[does]}. ${note}` },
    ]),
  ),
  additionalProperties: false,
  examples: [example],
})
const titles = { ignored: 'Ignored', refused: 'Refused with 400 `unsupported_parameter`' }

const sendingHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    idempotencyKey(
      'Unique per logical request. A retry with the same key and body returns the same reply. Without one, only the retries of the official clients are recognized.',
      'order-4711-question-1',
    ),
  ),
})
const responseId = Type.Object({ response_id: Type.String({ description: 'The `id` of the response.', examples: [examples.response.id] }) })
const modelId = Type.Object({
  model: Type.String({ description: "The agent's ID, or the slug of its name.", examples: ['support-agent'] }),
})
const streamQuery = Type.Object({
  stream: Type.Optional(Type.Enum(['true', 'false'], { description: 'Whether to send the events of the response.' })),
  starting_after: Type.Optional(Type.Integer({ minimum: 0, description: 'Continue after the event with this `sequence_number`.' })),
})

/** The parts of requests that the routes check themselves, by path. */
export const requestParts: Record<string, object> = {
  '/v1/chat/completions': {
    body: bodyOf(completionParameters, ['model', 'messages'], examples.completionRequest),
    headers: sendingHeaders,
  },
  '/v1/responses': { body: bodyOf(responseParameters, ['model', 'input'], examples.responseRequest), headers: sendingHeaders },
  '/v1/responses/:response_id': { params: responseId, querystring: streamQuery },
  '/v1/responses/:response_id/cancel': { params: responseId },
  '/v1/responses/:response_id/input_items': { params: responseId },
  '/v1/models/:model': { params: modelId },
}

const about = (tag: string, operationId: string, summary: string, description: string) => ({
  operationId,
  summary,
  description,
  tags: [tag],
})

export const modelsSchema = {
  ...about('Models', 'listModels', 'List the models', 'The agent of the API key, by its ID and by the slug of its name.'),
  response: { 200: ok('The models.', Models, examples.models), ...everywhere },
}
export const modelSchema = {
  ...about('Models', 'retrieveModel', 'Retrieve a model', 'The agent of the API key.'),
  response: { 200: ok('The model.', Model, examples.model), ...everywhere },
}
export const completionSchema = {
  ...about(
    'Chat Completions',
    'createChatCompletion',
    'Create a chat completion',
    'Runs one turn with the last user message. The server keeps the history.',
  ),
  response: {
    200: okOrStream(
      ok('The reply.', Completion, examples.completion),
      'With `stream`: chunks, then `[DONE]`.',
      ChunkEvent,
      examples.chunks,
    ),
    ...everywhere,
    ...whenSending,
  },
}
export const responseSchema = {
  ...about('Responses', 'createResponse', 'Create a response', 'Runs one turn with the last user message. The server keeps the history.'),
  response: {
    200: okOrStream(ok('The response.', ResponseObject, examples.response), 'With `stream`: the events.', ResponseEvent, examples.events),
    ...everywhere,
    ...whenSending,
  },
}
export const storedResponseSchema = {
  ...about('Responses', 'retrieveResponse', 'Retrieve a response', 'The response, or its events from any point on.'),
  response: {
    200: okOrStream(
      ok('The response.', ResponseObject, examples.response),
      'With `stream=true`: the events.',
      ResponseEvent,
      examples.events,
    ),
    ...everywhere,
  },
}
export const cancelSchema = {
  ...about(
    'Responses',
    'cancelResponse',
    'Cancel a response',
    'Stops the turn if it still runs. Text that was generated is the reply, and is charged.',
  ),
  response: { 200: ok('The response.', ResponseObject, examples.response), ...everywhere, ...whenSending },
}
export const inputItemsSchema = {
  ...about('Responses', 'listInputItems', 'List the input items of a response', 'The message of the user.'),
  response: { 200: ok('The items.', InputItems, examples.inputItems), ...everywhere },
}
