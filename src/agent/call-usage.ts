/**
 * The usage of one model call: what its provider reported, limited to what the call can have used, and an estimate of what the provider did
 * not report. It knows nothing about steps and prices.
 */
import type { UsageBound } from './journal.ts'
import type { ModelUsage, PromptMessage, ToolCall, UsageSoFar } from './models/model.ts'
import { estimatedTokens, tokenBound, tokensOfBytes } from './tokens.ts'

/** The request of one model call, as far as its usage depends on it. */
export type Asked = { prompt: PromptMessage[]; toolTokens: number; maxOutputTokens: number }

export type CallUsage = { usage: ModelUsage; isEstimated: boolean }
type Generation = { text: string; toolCalls: ToolCall[]; generatedBytes: number; reported: UsageSoFar | undefined }

/** `billing.usage-missing`, `turn.cancel`: what a provider has reported counts, and only what is missing is estimated. */
export function usageOf(asked: Asked, { text, toolCalls, generatedBytes, reported }: Generation): CallUsage {
  const estimate = estimateOf(asked, text, toolCalls, generatedBytes)
  if (!reported) return { usage: estimate, isEstimated: true }
  const { cachedPromptTokens, cacheWriteTokens, reasoningTokens, countedBytes } = reported
  const uncountedBytes = Math.max(0, generatedBytes - countedBytes)
  const completionLeft = Math.max(0, asked.maxOutputTokens - (reported.completionTokens ?? 0))
  const usage: ModelUsage = {
    promptTokens: reported.promptTokens ?? Math.max(estimate.promptTokens, cachedPromptTokens + cacheWriteTokens),
    cachedPromptTokens,
    cacheWriteTokens,
    completionTokens:
      reported.completionTokens === undefined
        ? Math.max(estimate.completionTokens, reasoningTokens)
        : reported.completionTokens + Math.min(completionLeft, tokensOfBytes(uncountedBytes)),
    reasoningTokens,
  }
  const believed = believedUsage(usage, boundOf(asked))
  const isReported = reported.promptTokens !== undefined && reported.completionTokens !== undefined && uncountedBytes === 0
  return { usage: believed, isEstimated: !isReported || reported.isImpossible || believed !== usage }
}

export const reportsAnything = ({
  promptTokens,
  completionTokens,
  cachedPromptTokens,
  cacheWriteTokens,
  reasoningTokens,
}: UsageSoFar): boolean => (promptTokens ?? 0) + (completionTokens ?? 0) + cachedPromptTokens + cacheWriteTokens + reasoningTokens > 0

/** Adds what was generated in the attempts of one call. Its prompt counts once, as the last attempt reported it. */
export function addedReports(before: UsageSoFar | undefined, reported: UsageSoFar): UsageSoFar {
  if (!before) return reported
  const { promptTokens, cachedPromptTokens, cacheWriteTokens } = reported.promptTokens === undefined ? before : reported
  return {
    promptTokens,
    cachedPromptTokens,
    cacheWriteTokens,
    completionTokens: (before.completionTokens ?? 0) + (reported.completionTokens ?? 0) || undefined,
    reasoningTokens: before.reasoningTokens + reported.reasoningTokens,
    countedBytes: before.countedBytes + reported.countedBytes,
    isImpossible: before.isImpossible || reported.isImpossible,
  }
}

/** `billing.usage-missing`. `generatedBytes` includes what is not in the text and the tool calls: a provider bills reasoning, too. */
function estimateOf(
  { prompt, toolTokens, maxOutputTokens }: Asked,
  text: string,
  toolCalls: ToolCall[],
  generatedBytes: number,
): ModelUsage {
  const visible = estimatedTokens(text) + sum(toolCalls, (call) => estimatedTokens(call.arguments))
  return {
    // `toolTokens` is an upper bound of half the bytes; an estimate is a quarter of the bytes.
    promptTokens: sum(prompt, (message) => estimatedTokens(message.content)) + Math.ceil(toolTokens / 2),
    cachedPromptTokens: 0,
    cacheWriteTokens: 0,
    completionTokens: Math.max(visible, Math.min(maxOutputTokens, tokensOfBytes(generatedBytes))),
    reasoningTokens: 0,
  }
}

// Providers count a few tokens per message for role and separators; 8 covers the known chat templates.
const frameTokens = 8

/** `billing.hold`: returns an upper bound of what a step can use. */
export function boundOf({ prompt, toolTokens, maxOutputTokens }: Asked): UsageBound {
  const messages = sum(prompt, (message) => {
    const answer = message.role === 'assistant' ? answerBound(message) : 0
    return frameTokens + tokenBound(message.content) + answer
  })
  return { promptTokens: messages + toolTokens, completionTokens: maxOutputTokens }
}

// No tokenizer makes more than one token of a byte, and a bound counts a token for two bytes.
const maxPerBound = 2
// Tokens that a server may add to a prompt by itself: its chat template, a default system prompt, instructions for tools.
const addedByServer = 4096

/**
 * `billing.usage-impossible`: returns what a provider reported, limited to what the call could have used at most. Returns `reported` itself
 * if it is within that limit. Of a total that is limited, the kinds are not believed either.
 */
export function believedUsage(reported: ModelUsage, bound: UsageBound): ModelUsage {
  const promptTokens = Math.min(reported.promptTokens, maxPerBound * bound.promptTokens + addedByServer)
  const completionTokens = Math.min(reported.completionTokens, bound.completionTokens)
  const isPromptPossible = promptTokens === reported.promptTokens
  const isCompletionPossible = completionTokens === reported.completionTokens
  if (isPromptPossible && isCompletionPossible) return reported
  return {
    ...reported,
    ...(isPromptPossible ? {} : { promptTokens, cachedPromptTokens: 0, cacheWriteTokens: 0 }),
    ...(isCompletionPossible ? {} : { completionTokens, reasoningTokens: 0 }),
  }
}

function answerBound({ toolCalls = [], continuation }: Extract<PromptMessage, { role: 'assistant' }>): number {
  const handedBack = continuation === undefined ? 0 : tokenBound(JSON.stringify(continuation))
  return handedBack + sum(toolCalls, (call) => tokenBound(call.name + call.arguments))
}

const sum = <Item>(items: Item[], of: (item: Item) => number): number => items.reduce((total, item) => total + of(item), 0)
