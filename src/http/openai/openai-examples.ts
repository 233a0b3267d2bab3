/** The examples in /openai/openapi.json: one short conversation. */
import { writeStream } from '../public/answers.ts'

const agentId = 'agt_01jd3v9qk8x2m5n7p4r6t8w0yc'
const digits = '0193a6e25d4c7b1a9f3e2c8d7a6b5e41'
const question = 'What does the premium plan cost?'
const answer = 'The premium plan costs 29 USD a month.'
const created = 1_733_667_642
const tokens = { input: 412, output: 18, total: 430 }

export const error = {
  error: {
    message: 'Unsupported parameter: tools. The agent has its own tools.',
    type: 'invalid_request_error',
    param: 'tools',
    code: 'unsupported_parameter',
  },
}
export const model = { id: agentId, object: 'model', created, owned_by: 'turnkeep' }
export const models = { object: 'list', data: [model, { ...model, id: 'support-agent' }] }
export const completionRequest = { model: 'support-agent', user: 'customer-4711', messages: [{ role: 'user', content: question }] }
export const responseRequest = { model: 'support-agent', user: 'customer-4711', input: question }

export const completion = {
  id: `chatcmpl-${digits}`,
  object: 'chat.completion',
  created,
  model: agentId,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: answer, refusal: null, annotations: [] },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: {
    prompt_tokens: tokens.input,
    completion_tokens: tokens.output,
    total_tokens: tokens.total,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  },
}

export const response = {
  id: `resp_${digits}`,
  object: 'response',
  created_at: created,
  completed_at: created + 1,
  status: 'completed',
  background: false,
  error: null,
  incomplete_details: null,
  model: agentId,
  output: [
    {
      id: `msg_${digits}`,
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: answer, annotations: [], logprobs: [] }],
    },
  ],
  previous_response_id: null,
  conversation: { id: 'conv_01jd3v9qk8x2m5n7p4r6t8w0yb' },
  usage: {
    input_tokens: tokens.input,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: tokens.total,
  },
  user: 'customer-4711',
}

const chunk = {
  id: completion.id,
  object: 'chat.completion.chunk',
  created,
  model: agentId,
  choices: [{ index: 0, delta: { content: 'The premium ' }, logprobs: null, finish_reason: null }],
}
const event = {
  type: 'response.output_text.delta',
  sequence_number: 4,
  item_id: `msg_${digits}`,
  output_index: 0,
  content_index: 0,
  delta: 'The',
  logprobs: [],
}

/** Whole streams, or the start of one. */
export const chunks = writeStream({ data: chunk }, { data: '[DONE]' })
export const events = writeStream({ event: event.type, data: event })

export const inputItems = {
  object: 'list',
  data: [{ id: `msg_${digits}_in`, type: 'message', role: 'user', status: 'completed', content: [{ type: 'input_text', text: question }] }],
  first_id: `msg_${digits}_in`,
  last_id: `msg_${digits}_in`,
  has_more: false,
}
