/**
 * Every parameter of the two requests: used, ignored or refused. docs/openai.md has the same table, and a test compares them. Refused is what
 * would change the configured agent, or ask for something else than text (`openai.refused-parameters`). A parameter that is null counts as absent.
 */
import { OpenAiError, invalidField, unsupported } from './openai-error.ts'

type Does = 'used' | 'ignored' | 'refused'
export type Parameter = {
  does: Does
  /** One sentence for docs/openai.md and the description. */
  note: string
  /** What a used parameter must be, and the values of a refused one that change nothing. */
  accepts?: (value: unknown) => boolean
  /** Of a used parameter: completes "must be". */
  must?: string
}
export type Parameters = Record<string, Parameter>

const isText = (value: unknown): value is string => typeof value === 'string'
const isBoolean = (value: unknown): boolean => typeof value === 'boolean'
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isEmpty = (value: unknown): boolean => value === false || value === 0 || value === '' || (Array.isArray(value) && value.length === 0)
const isPlainText = (value: unknown): boolean => value === undefined || value === null || (isRecord(value) && value['type'] === 'text')

const used = (must: string, accepts: (value: unknown) => boolean, note: string): Parameter => ({ does: 'used', must, accepts, note })
const ignored = (note: string): Parameter => ({ does: 'ignored', note })
const refused = (note: string, accepts: (value: unknown) => boolean = isEmpty): Parameter => ({ does: 'refused', accepts, note })

// A user ID of at most 255 characters, as `external_user_id` of the other endpoints.
const isUserId = (value: unknown): boolean => isText(value) && value !== '' && isWellFormed(value) && [...value].length <= 255
export const isWellFormed = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

const user = used('1 to 255 characters without U+0000', isUserId, 'The `external_user_id`. Required, unless the key has a default.')
const model = used('a string', isText, "The agent's ID, or the slug of its name.")
const stream = used('a boolean', isBoolean, 'Whether the reply is sent as server-sent events.')
const sampling = ignored('A setting of the agent.')
const cap = ignored("The agent's `max_output_tokens` applies. The reply may be longer than this.")
const bookkeeping = ignored('Nothing is stored or filtered by it.')
const cacheSetting = ignored('A setting of the model server.')
const tools = refused('The agent has its own tools. An empty list is accepted.')
const toolChoice = refused('`none` and `auto` are accepted.', (value) => value === 'none' || value === 'auto')
const logprobs = refused('Not available. `false` and `0` are accepted.')

/** What both requests have. */
const common: Parameters = {
  model,
  user,
  safety_identifier: { ...user, note: 'The `external_user_id` if there is no `user`.' },
  stream,
  temperature: sampling,
  top_p: sampling,
  top_k: sampling,
  min_p: sampling,
  presence_penalty: sampling,
  frequency_penalty: sampling,
  repetition_penalty: sampling,
  seed: sampling,
  stop: sampling,
  metadata: bookkeeping,
  store: ignored('A turn is always stored.'),
  parallel_tool_calls: sampling,
  service_tier: cacheSetting,
  prompt_cache_key: cacheSetting,
  prompt_cache_options: cacheSetting,
  prompt_cache_retention: cacheSetting,
  moderation: bookkeeping,
  access_programs: bookkeeping,
  tools,
  tool_choice: toolChoice,
  top_logprobs: logprobs,
}

export const completionParameters: Parameters = {
  ...common,
  messages: used(
    'a list of messages',
    Array.isArray,
    'The last user message is the message. The rest is ignored: the server keeps the history.',
  ),
  stream_options: used('an object', isRecord, '`include_usage` sends the usage in a last chunk. Other options are ignored.'),
  max_tokens: cap,
  max_completion_tokens: cap,
  logit_bias: sampling,
  reasoning_effort: sampling,
  verbosity: sampling,
  prediction: ignored('Only a hint for the model server.'),
  modalities: refused('`["text"]` is accepted.', (value) => Array.isArray(value) && value.every((one) => one === 'text')),
  n: refused('`1` is accepted.', (value) => value === 1),
  response_format: refused('`{"type": "text"}` is accepted.', isPlainText),
  logprobs,
  audio: refused('Text only.'),
  functions: tools,
  function_call: toolChoice,
  web_search_options: refused('The agent has its own tools.'),
}

export const responseParameters: Parameters = {
  ...common,
  input: used(
    'a string or a list of items',
    (value) => isText(value) || Array.isArray(value),
    'The message, or items, of which the last user message is the message. The rest is ignored: the server keeps the history.',
  ),
  background: used('a boolean', isBoolean, 'Whether the response is sent when the turn is admitted.'),
  previous_response_id: used('a string', isText, 'Must be a response of this user. The conversation continues with or without it.'),
  conversation: used(
    'a string or an object with an id',
    (value) => isText(value) || (isRecord(value) && isText(value['id'])),
    'Must be the conversation of this user, as an ID or `{"id"}`.',
  ),
  stream_options: ignored('Events have no obfuscation.'),
  max_output_tokens: cap,
  max_tool_calls: sampling,
  reasoning: sampling,
  truncation: sampling,
  context_management: sampling,
  text: refused(
    '`format` of the type `text` is accepted, and `verbosity` is ignored.',
    (value) => isRecord(value) && isPlainText(value['format']),
  ),
  include: refused(
    'Log probabilities are not available. All other values are ignored.',
    (value) => Array.isArray(value) && !value.includes('message.output_text.logprobs'),
  ),
  instructions: refused('The agent has its own system prompt.'),
  prompt: refused('The agent has its own system prompt.'),
  image: refused('Text only.'),
}

/** The parameters that are not null, each of them checked. Throws OpenAiError for the first one that is wrong, in the order of the body. */
export function readParameters(body: unknown, parameters: Parameters): Record<string, unknown> {
  if (!isRecord(body)) throw new OpenAiError('validation_error', { code: 'validation_error', message: 'The body must be a JSON object.' })
  const read: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(body)) {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name]! : undefined
    if (!parameter) throw unknownParameter(name)
    if (value === null || parameter.does === 'ignored') continue
    const isAccepted = parameter.accepts?.(value) ?? false
    if (parameter.does === 'refused' && !isAccepted) throw unsupported(name, parameter.note)
    if (!isAccepted) throw invalidField(name, `${name} must be ${parameter.must}.`)
    if (parameter.does === 'used') read[name] = value
  }
  return read
}

/** Repeats the name only if it is plain. */
function unknownParameter(name: string): OpenAiError {
  const isPlain = /^[\w.-]{1,64}$/.test(name)
  return new OpenAiError('validation_error', {
    code: 'unknown_parameter',
    ...(isPlain ? { param: name } : {}),
    message: isPlain ? `Unknown parameter: ${name}.` : 'The body has an unknown parameter.',
  })
}
