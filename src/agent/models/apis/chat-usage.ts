/**
 * Reads the `usage` of a Chat Completions answer (`billing.token-kinds`). OpenAI's shape is in `*_details`; the other names are those of servers that have the same
 * API and their own counts. Prompt tokens include what was read from a cache, in all of them.
 */
import type { ModelStep } from '../model.ts'
import { readReported } from '../reported-usage.ts'
import { isCount, isObject } from '../transport/fields.ts'
import type { Fields } from '../transport/fields.ts'

export function readUsage(usage: unknown): Pick<ModelStep, 'usage' | 'usageImpossible'> {
  if (!isObject(usage)) return { usage: undefined }
  const prompt = detailsOf(usage, 'prompt_tokens_details')
  const reasoningTokens = detailsOf(usage, 'completion_tokens_details').reasoning_tokens ?? usage.reasoning_tokens
  // DeepSeek's and Moonshot's names come last.
  const cachedPromptTokens = prompt.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens
  return readReported({
    promptTokens: usage.prompt_tokens,
    cachedPromptTokens,
    cacheWriteTokens: prompt.cache_write_tokens,
    ...completion(usage, reasoningTokens, cachedPromptTokens),
  })
}

/**
 * The completion tokens of xAI and Gemini exclude the reasoning, and their totals include it. Gemini does not report it otherwise. A server
 * whose prompt tokens exclude its cache would have the same difference, so that is left as it is.
 */
function completion(
  { prompt_tokens, completion_tokens, total_tokens }: Fields,
  reasoning: unknown,
  cached: unknown,
): { completionTokens: unknown; reasoningTokens: unknown } {
  const reported = { completionTokens: completion_tokens, reasoningTokens: reasoning }
  // A prompt without tokens: the server does not count.
  if (!isCount(prompt_tokens) || prompt_tokens === 0 || !isCount(completion_tokens) || !isCount(total_tokens)) return reported
  const beside = total_tokens - prompt_tokens - completion_tokens
  const isReasoning = reasoning === undefined || reasoning === null ? beside > 0 && beside !== cached : beside === reasoning
  return isReasoning ? { completionTokens: completion_tokens + beside, reasoningTokens: beside } : reported
}

function detailsOf(usage: Fields, name: string): Fields {
  const details = usage[name]
  return isObject(details) ? details : {}
}
