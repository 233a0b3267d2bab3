/** The examples in /openapi.json: every operation shows its part of one short conversation. A test sends and checks all of them. */
import { exampleId, writeStream } from './answers.ts'

export { exampleId }

const conversationId = 'conv_01jd3v9qk8x2m5n7p4r6t8w0yb'
const user = 'customer-4711'
const question = 'What does the premium plan cost?'
const answer = 'The premium plan costs 29 USD a month.'

export const chatRequest = { external_user_id: user, message: question }

export const chatResponse = {
  request_id: exampleId,
  conversation_id: conversationId,
  message: { id: 'msg_01jd3v9qk8x2m5n7p4r6t8w0ya', role: 'assistant', content: answer, created_at: '2026-11-21T14:11:58.332Z' },
  usage: { prompt_tokens: 412, completion_tokens: 18, total_tokens: 430, charged_usd: '0.00007260' },
}

/** Examples of the events of a stream, by event name. */
export const chatEvents = {
  'response.created': { value: { event: 'response.created', data: { request_id: exampleId, conversation_id: conversationId } } },
  'response.output_text.delta': { value: { event: 'response.output_text.delta', data: { delta: 'The premium ' } } },
  'response.completed': { value: { event: 'response.completed', data: chatResponse } },
  error: {
    value: {
      event: 'error',
      data: {
        code: 'service_unavailable',
        message: 'The service is temporarily unavailable. Retry with the same Idempotency-Key.',
        request_id: exampleId,
      },
    },
  },
}

/** Examples of whole streams. */
export const chatStreams = {
  completed: {
    value: writeStream(
      chatEvents['response.created'].value,
      chatEvents['response.output_text.delta'].value,
      chatEvents['response.completed'].value,
    ),
  },
  failed: { value: writeStream(chatEvents['response.created'].value, chatEvents.error.value) },
}

export const accepted = { request_id: exampleId, conversation_id: conversationId, status: 'running' }

export const turn = {
  request_id: exampleId,
  conversation_id: conversationId,
  external_user_id: user,
  status: 'completed',
  created_at: '2026-11-21T14:11:57.104Z',
  ended_at: '2026-11-21T14:11:58.332Z',
  message: chatResponse.message,
  usage: {
    ...chatResponse.usage,
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
    tool_calls_usd: '0.00000000',
  },
  error: null,
  finish_reason: 'stop',
  cancel_requested: false,
}

export const feedbackRequest = { rating: 'down', comment: 'This is the price of last year.', tags: ['outdated'] }
export const feedback = {
  request_id: exampleId,
  ...feedbackRequest,
  created_at: '2026-11-21T14:13:20.010Z',
  updated_at: '2026-11-21T14:13:20.010Z',
}

export const conversation = {
  conversation_id: conversationId,
  external_user_id: user,
  created_at: '2026-11-21T14:11:57.104Z',
  last_message_at: '2026-11-21T14:11:58.332Z',
  message_count: 2,
}

export const messages = [
  {
    id: 'msg_01jd3v9qk8x2m5n7p4r6t8w0ya',
    role: 'assistant',
    content: answer,
    created_at: '2026-11-21T14:11:58.332Z',
    request_id: exampleId,
  },
  { id: 'msg_01jd3v9qk8x2m5n7p4r6t8w0yd', role: 'user', content: question, created_at: '2026-11-21T14:11:57.104Z', request_id: exampleId },
]

export const pageExample = <Item>(...data: Item[]): { data: Item[]; next_cursor: null } => ({ data, next_cursor: null })
