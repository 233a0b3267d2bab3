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
  return readReported({
    promptTokens: usage.prompt_tokens,
    // DeepSeek's and Moonshot's names come last.
    cachedPromptTokens: prompt.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens,
    cacheWriteTokens: prompt.cache_write_tokens,
    completionTokens: completionTokens(usage, reasoningTokens),
    reasoningTokens,
  })
}

/** xAI's completion tokens exclude the reasoning, and its total includes it. */
function completionTokens({ prompt_tokens, completion_tokens, total_tokens }: Fields, reasoning: unknown): unknown {
  if (!isCount(prompt_tokens) || !isCount(completion_tokens) || !isCount(reasoning)) return completion_tokens
  return total_tokens === prompt_tokens + completion_tokens + reasoning ? completion_tokens + reasoning : completion_tokens
}

function detailsOf(usage: Fields, name: string): Fields {
  const details = usage[name]
  return isObject(details) ? details : {}
}
