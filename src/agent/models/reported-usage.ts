/**
 * Normalizes the token counts that a provider reported (`billing.token-kinds`). Each API adapter says what its dialect counts; nothing after
 * this module knows about dialects.
 */
import type { ModelStep } from './model.ts'
import { isCount } from './transport/fields.ts'

/**
 * What a provider reported, as it is: values may be missing or of any type. `promptTokens` and `completionTokens` are totals as in
 * `ModelUsage`. A missing kind is zero.
 */
export type ReportedUsage = {
  promptTokens: unknown
  cachedPromptTokens: unknown
  cacheWriteTokens: unknown
  completionTokens: unknown
  reasoningTokens: unknown
}

/**
 * Returns no usage if a total is missing or invalid, or if both are zero: servers that do not count send zeros (`billing.usage-missing`).
 * Kinds that are not counts, or exceed their total, are impossible: then all tokens are billed at the undiscounted price.
 */
export function readReported(reported: ReportedUsage): Pick<ModelStep, 'usage' | 'usageImpossible'> {
  const { promptTokens, completionTokens } = reported
  if (!isCount(promptTokens) || !isCount(completionTokens) || promptTokens + completionTokens === 0) return { usage: undefined }
  const [cachedPromptTokens, cacheWriteTokens, reasoningTokens] = [
    reported.cachedPromptTokens ?? 0,
    reported.cacheWriteTokens ?? 0,
    reported.reasoningTokens ?? 0,
  ]
  const arePossible =
    isCount(cachedPromptTokens) &&
    isCount(cacheWriteTokens) &&
    isCount(reasoningTokens) &&
    cachedPromptTokens + cacheWriteTokens <= promptTokens &&
    reasoningTokens <= completionTokens
  if (arePossible) return { usage: { promptTokens, cachedPromptTokens, cacheWriteTokens, completionTokens, reasoningTokens } }
  return {
    usage: { promptTokens, cachedPromptTokens: 0, cacheWriteTokens: 0, completionTokens, reasoningTokens: 0 },
    usageImpossible: true,
  }
}
