/**
 * Which refusals mean that the prompt is too long, over real HTTP: the error messages of servers as reported in their issue trackers, by
 * status and inside a stream; and that no other refusal is mistaken for one.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAsker } from '../support/ask-model.ts'
import { startProviderAsker } from '../support/ask-provider.ts'
import { hostedKinds } from '../support/provider-dialects.ts'

const chat = startAsker()
const hosted = startProviderAsker()

/** As they were received, with changed numbers. */
const refusals: [who: string, status: number, body: unknown][] = [
  ['OpenAI', 400, { error: { message: 'Too much.', type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' } }],
  ['OpenAI', 400, { error: { message: 'Your input exceeds the context window of this model.', type: 'invalid_request_error' } }],
  ['OpenAI', 400, { error: { message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000." } }],
  ['Anthropic', 400, { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 209 tokens > 200 maximum' } }],
  [
    'Anthropic',
    400,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'input length and `max_tokens` exceed context limit: 199 + 20 > 200' },
    },
  ],
  ['Anthropic', 413, { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } }],
  [
    'Gemini',
    400,
    {
      error: {
        code: 400,
        message: 'The input token count (1200) exceeds the maximum number of tokens allowed (1048).',
        status: 'INVALID_ARGUMENT',
      },
    },
  ],
  [
    'Gemini, as a list',
    400,
    [{ error: { code: 400, message: 'The input token count exceeds the maximum number of tokens allowed 1048.' } }],
  ],
  ['vLLM', 400, { object: 'error', message: "This model's maximum context length is 4096 tokens.", type: 'BadRequestError', code: 400 }],
  ['vLLM', 400, { error: { message: 'The decoder prompt (length 50) is longer than the maximum model length of 40.' } }],
  [
    'llama.cpp',
    400,
    {
      error: {
        code: 400,
        message: 'request (43 tokens) exceeds the available context size (40 tokens)',
        type: 'exceed_context_size_error',
      },
    },
  ],
  ['llama.cpp', 500, { error: { code: 500, message: 'the request is too much', type: 'exceed_context_size_error' } }],
  ['Ollama', 400, { error: { message: 'the input length exceeds the context length', type: 'invalid_request_error' } }],
  ['Ollama', 400, { error: 'prompt too long; exceeded max context length by 4 tokens' }],
  ['LM Studio', 400, { error: 'Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with 4096.' }],
  ['LM Studio', 400, { error: 'The number of tokens to keep from the initial prompt is greater than the context length.' }],
  ['TGI', 422, { error: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.', error_type: 'validation' }],
  ['TGI', 422, { error: 'Input validation error: `inputs` must have less than 1024 tokens. Given: 5000', error_type: 'validation' }],
  [
    'Mistral',
    400,
    { object: 'error', message: 'Prompt contains 40 tokens, too large for model with 32 maximum context length', code: 3051 },
  ],
  ['xAI', 400, { code: 'invalid', error: "This model's maximum prompt length is 131 but the request contains 537 tokens." }],
  ['SGLang', 400, { object: 'error', message: "The input (50 tokens) is longer than the model's context length (40 tokens).", code: 400 }],
  ['a list of details', 422, { detail: [{ msg: 'x' }], message: 'Please reduce the length of the messages or completion.' }],
  ['plain text', 400, 'prompt is too long'],
  ['nginx', 413, '<html><h1>413 Request Entity Too Large</h1></html>'],
]

/** Refused for another reason, or not refused at all. */
const others: [status: number, body: unknown, kind: 'refused' | 'unavailable'][] = [
  [
    400,
    { error: { message: "Unsupported parameter: 'temperature'", type: 'invalid_request_error', code: 'unsupported_parameter' } },
    'refused',
  ],
  [400, { error: { message: "Invalid value for 'max_tokens': must be at least 1" } }, 'refused'],
  [400, { error: { message: 'messages: text content blocks must be non-empty' } }, 'refused'],
  // the prompt itself is quoted, in a place that is not the server's message
  [400, { error: { message: 'Bad message', param: { content: 'prompt is too long' } }, input: 'maximum context length' }, 'refused'],
  [401, { error: { message: 'prompt is too long', code: 'context_length_exceeded' } }, 'refused'],
  [404, { error: { message: 'maximum context length' } }, 'refused'],
  [429, { error: { message: 'Request too large: please reduce the length of the messages', code: 'rate_limit_exceeded' } }, 'unavailable'],
  [500, { error: { message: 'prompt is too long', type: 'server_error' } }, 'unavailable'],
]

const bodyOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body))

test('too_long: the messages and codes of the known servers, and 413, mean that a prompt is too long', async () => {
  for (const [who, status, body] of refusals) {
    const { kind, message } = await chat.failureOf({ status, body: bodyOf(body) })
    assert.equal(kind, 'too_long', `${who}: ${bodyOf(body)}`)
    assert.match(message, new RegExp(`status ${status}: `), 'for the operator')
  }
})

test('too_long: no other refusal, and none with another status, is mistaken for it', async () => {
  for (const [status, body, kind] of others) assert.equal((await chat.failureOf({ status, body: bodyOf(body) })).kind, kind, bodyOf(body))
})

test('too_long: an error inside a stream is one too, before and after text', async () => {
  for (const [who, status, body] of refusals) {
    if (status === 413 || typeof body === 'string' || Array.isArray(body)) continue
    const report = JSON.parse(bodyOf(body))
    const event = 'error' in report ? report : { error: report }
    assert.equal((await chat.failureOf([{ event }])).kind, 'too_long', who)
    const later = await chat.failureOf(['Hel', { event }])
    assert.deepEqual([later.kind, later.text], ['too_long', 'Hel'], who)
  }
  for (const [, body] of others.slice(0, 4)) assert.equal((await chat.failureOf([{ event: body }])).kind, 'unavailable', bodyOf(body))
})

for (const kind of hostedKinds)
  test(`too_long: ${kind}: by status and inside the stream, and no other error`, async () => {
    for (const [who, status, body] of refusals)
      assert.equal((await hosted.failureOf(kind, { status, body: bodyOf(body) })).kind, 'too_long', who)
    for (const [status, body, other] of others) assert.equal((await hosted.failureOf(kind, { status, body: bodyOf(body) })).kind, other)
    const said = [
      'Your input exceeds the context window of this model.',
      'prompt is too long: 209 tokens > 200 maximum',
      'The input token count (1200) exceeds the maximum number of tokens allowed (1048).',
    ]
    for (const error of said) {
      assert.equal((await hosted.failureOf(kind, [{ error }])).kind, 'too_long', error)
      const later = await hosted.failureOf(kind, ['Hel', { error }])
      assert.deepEqual([later.kind, later.text], ['too_long', 'Hel'], error)
    }
    assert.equal((await hosted.failureOf(kind, [{ error: 'overloaded' }])).kind, 'unavailable')
  })

test('too_long: openai: the code alone identifies it, when the stream fails', async () => {
  const error = { code: 'context_length_exceeded', message: 'No.' }
  const response = { id: 'resp_1', status: 'failed', error, incomplete_details: null, usage: null }
  const raw = `data: ${JSON.stringify({ type: 'response.failed', sequence_number: 3, response })}\n\n`
  assert.equal((await hosted.failureOf('openai', [{ raw }])).kind, 'too_long')
})
