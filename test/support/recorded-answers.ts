/**
 * Answers in the shapes that the public documentation of each API shows, with the usage of one call: 2,000 prompt tokens, of which 1,200 were
 * read from a cache and, where an API reports writes, 300 written to it; 400 generated tokens, of which 250 are reasoning. As data.
 */

type Json = Record<string, unknown>

/** `usage`: as the API writes it. `json`: the answer that is not streamed. `events`: the data of the events of a stream. */
export type Recorded = { usage: Json; json: Json; events: (Json | string)[] }

const openaiUsage = {
  input_tokens: 2000,
  input_tokens_details: { cached_tokens: 1200, cache_write_tokens: 300 },
  output_tokens: 400,
  output_tokens_details: { reasoning_tokens: 250 },
  total_tokens: 2400,
}
const openaiResponse = { id: 'resp_0cd5', object: 'response', created_at: 1_768_560_502, model: 'gpt-5.4-mini', output: [] }
const openaiMessage = { type: 'message', id: 'msg_0cd5', role: 'assistant' }

// Excludes what was read from the cache and written to it.
const anthropicUsage = {
  input_tokens: 500,
  cache_creation_input_tokens: 300,
  cache_read_input_tokens: 1200,
  output_tokens: 400,
  output_tokens_details: { thinking_tokens: 250 },
}
const anthropicMessage = { id: 'msg_01XF', type: 'message', role: 'assistant', model: 'claude-haiku-4-5', stop_sequence: null }

// The candidates exclude the thoughts.
const googleUsage = {
  promptTokenCount: 2000,
  cachedContentTokenCount: 1200,
  candidatesTokenCount: 150,
  thoughtsTokenCount: 250,
  totalTokenCount: 2400,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: 2000 }],
  cacheTokensDetails: [{ modality: 'TEXT', tokenCount: 1200 }],
}
const googleCandidate = { content: { role: 'model', parts: [{ text: 'Yes.' }] }, finishReason: 'STOP', index: 0 }

const chatUsage = {
  prompt_tokens: 2000,
  completion_tokens: 400,
  total_tokens: 2400,
  prompt_tokens_details: { cached_tokens: 1200, cache_write_tokens: 300, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 250, audio_tokens: 0 },
}
const chatAnswer = { id: 'chatcmpl-9', created: 1_768_560_502, model: 'gpt-5.4-mini' }
const chatChunk = { ...chatAnswer, object: 'chat.completion.chunk' }

export const recorded: Record<'openai' | 'anthropic' | 'google' | 'openai-compatible', Recorded> = {
  openai: {
    usage: openaiUsage,
    json: { ...openaiResponse, status: 'completed', usage: openaiUsage },
    events: [
      { type: 'response.created', sequence_number: 0, response: { ...openaiResponse, status: 'in_progress' } },
      { type: 'response.output_item.added', output_index: 0, item: { ...openaiMessage, status: 'in_progress', content: [] } },
      { type: 'response.output_text.delta', item_id: 'msg_0cd5', output_index: 0, content_index: 0, delta: 'Yes.', logprobs: [] },
      { type: 'response.output_item.done', output_index: 0, item: { ...openaiMessage, status: 'completed', content: [] } },
      { type: 'response.completed', sequence_number: 9, response: { ...openaiResponse, status: 'completed', usage: openaiUsage } },
    ],
  },
  anthropic: {
    usage: anthropicUsage,
    json: { ...anthropicMessage, content: [{ type: 'text', text: 'Yes.' }], stop_reason: 'end_turn', usage: anthropicUsage },
    events: [
      {
        type: 'message_start',
        message: { ...anthropicMessage, content: [], stop_reason: null, usage: { ...anthropicUsage, output_tokens: 1 } },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'ping' },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Yes.' } },
      { type: 'content_block_stop', index: 0 },
      // The counts of the prompt are in the first event, and only the generated tokens are counted up.
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 400, output_tokens_details: { thinking_tokens: 250 } },
      },
      { type: 'message_stop' },
    ],
  },
  google: {
    usage: googleUsage,
    json: { candidates: [googleCandidate], usageMetadata: googleUsage, modelVersion: 'gemini-2.5-flash' },
    events: [
      {
        candidates: [{ content: { role: 'model', parts: [{ text: 'Y' }] }, index: 0 }],
        usageMetadata: { promptTokenCount: 2000, cachedContentTokenCount: 1200, thoughtsTokenCount: 250, totalTokenCount: 2250 },
      },
      {
        candidates: [{ ...googleCandidate, content: { role: 'model', parts: [{ text: 'es.' }] } }],
        usageMetadata: googleUsage,
        modelVersion: 'gemini-2.5-flash',
      },
    ],
  },
  'openai-compatible': {
    usage: chatUsage,
    json: {
      ...chatAnswer,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.', refusal: null }, finish_reason: 'stop' }],
      usage: chatUsage,
    },
    events: [
      { ...chatChunk, choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }], usage: null },
      { ...chatChunk, choices: [{ index: 0, delta: { content: 'Yes.' }, finish_reason: null }], usage: null },
      { ...chatChunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null },
      { ...chatChunk, choices: [], usage: chatUsage },
      '[DONE]',
    ],
  },
}
