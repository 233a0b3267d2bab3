/** Tokens and prices of a turn without caches, for tests about something else. */

/** All prompt tokens at the full price, and no reasoning. */
export const plainTokens = (promptTokens: number, completionTokens: number) => ({
  promptTokens,
  cachedPromptTokens: 0,
  cacheWriteTokens: 0,
  completionTokens,
  reasoningTokens: 0,
})

/** 10⁻⁸ USD per million tokens. Tokens of every kind of prompt cost the same. */
export const plainPrice = (promptPerMillion: bigint, completionPerMillion: bigint) => ({
  promptPerMillion,
  completionPerMillion,
  cachedPromptPerMillion: null,
  cacheWritePerMillion: null,
})
