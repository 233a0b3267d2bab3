/**
 * Every parameter of the two requests: used, ignored or refused. docs/openai.md has the same table, and a test compares them. Refused is what
 * would change the configured agent, or ask for something else than text (`openai.refused-parameters`). What is null or empty counts as absent:
 * clients send it for a setting that the user has not set. What one request ignores or refuses, the other one ignores or refuses too.
 */
import { isLongerThan } from '../../code-points.ts'
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
/** Null, and text or a list without content. Some clients write an empty object as an empty list. */
export const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || (isText(value) ? value.trim() === '' : Array.isArray(value) && value.every(isBlank))
const isEmptyObject = (value: unknown): boolean => isRecord(value) && Object.values(value).every(isEmpty)
/** What switches nothing on. */
const isEmpty = (value: unknown): boolean => value === false || value === 0 || isBlank(value) || isEmptyObject(value)
const isPlainText = (value: unknown): boolean => isEmpty(value) || (isRecord(value) && value['type'] === 'text')

const used = (must: string, accepts: (value: unknown) => boolean, note: string): Parameter => ({ does: 'used', must, accepts, note })
const ignored = (note: string): Parameter => ({ does: 'ignored', note })
const refused = (note: string, accepts: (value: unknown) => boolean = () => false): Parameter => ({
  does: 'refused',
  accepts: (value) => isEmpty(value) || accepts(value),
  note,
})

// A user ID of at most 255 characters, as `external_user_id` of the other endpoints.
const isUserId = (value: unknown): boolean => isText(value) && value !== '' && !isLongerThan(value, 255) && isWellFormed(value)
export const isWellFormed = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

const user = used('1 to 255 characters without U+0000', isUserId, 'The `external_user_id`. Required, unless the key has a default.')
const model = used('a string', isText, "The agent's ID, or the slug of its name.")
const stream = used('a boolean', isBoolean, 'Whether the reply is sent as server-sent events.')
const sampling = ignored('A setting of the agent.')
const cap = ignored("The agent's `max_output_tokens` applies. The reply may be longer than this.")
const bookkeeping = ignored('Nothing is stored or filtered by it.')
const cacheSetting = ignored('A setting of the model server.')
const tools = refused('The agent has its own tools. An empty list is accepted.')
const isFreeChoice = (value: unknown): boolean => value === 'none' || value === 'auto'
const toolChoice = refused(
  '`none` and `auto` are accepted.',
  (value) => isFreeChoice(value) || (isRecord(value) && isFreeChoice(value['type'])),
)
const ownPrompt = refused('The agent has its own system prompt.')
const textOnly = refused('Text only.')
const logprobs = refused('Not available. `false` and `0` are accepted.')

/** What both requests have, or what one of them has and a client may send with the other. */
const common: Parameters = {
  model,
  user,
  safety_identifier: { ...user, note: 'The `external_user_id` if there is no `user`.' },
  stream,
  temperature: sampling,
  top_p: sampling,
  top_k: sampling,
  top_a: sampling,
  min_p: sampling,
  min_tokens: sampling,
  presence_penalty: sampling,
  frequency_penalty: sampling,
  repetition_penalty: sampling,
  repeat_penalty: sampling,
  seed: sampling,
  stop: sampling,
  logit_bias: sampling,
  reasoning: sampling,
  reasoning_effort: sampling,
  reasoning_format: sampling,
  include_reasoning: sampling,
  thinking: sampling,
  enable_thinking: sampling,
  chat_template_kwargs: cacheSetting,
  verbosity: sampling,
  truncation: sampling,
  context_management: sampling,
  max_tool_calls: sampling,
  parallel_tool_calls: sampling,
  max_tokens: cap,
  max_completion_tokens: cap,
  max_output_tokens: cap,
  prediction: ignored('Only a hint for the model server.'),
  metadata: bookkeeping,
  store: ignored('A turn is always stored.'),
  service_tier: cacheSetting,
  prompt_cache_key: cacheSetting,
  prompt_cache_options: cacheSetting,
  prompt_cache_retention: cacheSetting,
  moderation: bookkeeping,
  access_programs: bookkeeping,
  tools,
  tool_choice: toolChoice,
  functions: tools,
  function_call: toolChoice,
  // An empty object switches the search on.
  web_search_options: { does: 'refused', note: 'The agent has its own tools.', accepts: isBlank },
  logprobs,
  top_logprobs: logprobs,
  n: refused('`1` is accepted.', (value) => value === 1),
  audio: textOnly,
  image: textOnly,
  modalities: refused('`["text"]` is accepted.', (value) => [value].flat().every((one) => one === 'text')),
  response_format: refused('`{"type": "text"}` is accepted.', isPlainText),
  text: refused(
    '`format` of the type `text` is accepted, and `verbosity` is ignored.',
    (value) => isRecord(value) && isPlainText(value['format']),
  ),
  instructions: ownPrompt,
  prompt: ownPrompt,
  include: refused(
    'Log probabilities are not available. All other values are ignored.',
    (value) => Array.isArray(value) && !value.includes('message.output_text.logprobs'),
  ),
}

export const completionParameters: Parameters = {
  ...common,
  messages: used(
    'a list of messages',
    Array.isArray,
    'The last user message is the message. The rest is ignored: the server keeps the history.',
  ),
  stream_options: used('an object', isRecord, '`include_usage` sends the usage in a last chunk. Other options are ignored.'),
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
}

/** `false` is a value of a used parameter. */
const isAbsent = (value: unknown): boolean => value === null || value === '' || (Array.isArray(value) && value.length === 0)
// `{}`, and `{"id": null}` of a conversation.
const isUnset = (value: unknown): boolean => isAbsent(value) || isEmptyObject(value)

/** The parameters that are not absent, each of them checked. Throws OpenAiError for the first one that is wrong, in the order of the body. */
export function readParameters(body: unknown, parameters: Parameters): Record<string, unknown> {
  if (!isRecord(body)) throw new OpenAiError('validation_error', { code: 'validation_error', message: 'The body must be a JSON object.' })
  const read: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(body)) {
    if (isAbsent(value)) continue
    const parameter = Object.hasOwn(parameters, name) ? parameters[name]! : undefined
    if (!parameter) throw unknownParameter(name)
    if (parameter.does === 'ignored' || (parameter.does === 'used' && isUnset(value))) continue
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
