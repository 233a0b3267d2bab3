/** Events of a stream with a piece of text, and with usage if the provider reports it there, in each dialect of model servers. Pure. */
import type { AnswerKind } from './dialect-answers.ts'

type Json = Record<string, unknown>
/** `prompt` includes `cached`. Without `completion`, the report has none. */
export type Counts = { prompt: number; cached: number; completion?: number | undefined }

const events: Record<AnswerKind, { text(text: string, usage: Json | undefined): Json; usage(counts: Counts): Json }> = {
  anthropic: {
    text: (text, usage) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text }, ...(usage && { usage }) }),
    usage: ({ prompt, cached, completion }) => ({
      input_tokens: prompt - cached,
      cache_read_input_tokens: cached,
      output_tokens: completion,
    }),
  },
  google: {
    text: (text, usage) => ({ candidates: [{ content: { parts: [{ text }] } }], ...(usage && { usageMetadata: usage }) }),
    usage: ({ prompt, cached, completion }) => ({
      promptTokenCount: prompt,
      cachedContentTokenCount: cached,
      candidatesTokenCount: completion,
    }),
  },
  openai: {
    text: (delta, usage) => ({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta, ...(usage && { usage }) }),
    usage: ({ prompt, cached, completion }) => ({
      input_tokens: prompt,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: completion,
    }),
  },
  'openai-compatible': {
    text: (content, usage) => ({ choices: [{ index: 0, delta: { content } }], ...(usage && { usage }) }),
    usage: ({ prompt, cached, completion }) => ({
      prompt_tokens: prompt,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens: completion,
    }),
  },
}

export const usageFields = (kind: AnswerKind, counts: Counts): Json => events[kind].usage(counts)

/** The event of a piece of text. `counts`: what the provider has counted until then. */
export const textEvent = (kind: AnswerKind, text: string, counts?: Counts): Json =>
  events[kind].text(text, counts && usageFields(kind, counts))
