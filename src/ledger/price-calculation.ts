/**
 * Explains a charge line by line: kind, tokens, price, amount, rounding, and what was written off (`billing.token-kinds`). Pure. It is computed
 * from what a turn stores, so it explains the charge of any turn, however old.
 */
import type { Amount, Price, TokenCount } from './ledger.ts'

/** 10⁻¹⁴ USD: tokens times a price per million are exact in it. */
export type ExactAmount = bigint

export type PriceLine =
  | { kind: 'prompt' | 'cached_prompt' | 'cache_write' | 'completion'; tokens: number; perMillion: Amount; exact: ExactAmount }
  /** `billing.tool-price`: all finished tool calls. */
  | { kind: 'tool_calls'; exact: ExactAmount }

export type PriceCalculation = {
  /** Without kinds that have no tokens, and without tool calls if they cost nothing. */
  lines: PriceLine[]
  /** What was added to round the sum of the lines up to 10⁻⁸ USD: the only rounding. */
  rounding: ExactAmount
  /** The sum of the lines, rounded. */
  cost: Amount
  /** The cost above the hold, which no one pays. The charge was limited to the hold if it is not zero. */
  writtenOff: Amount
  charged: Amount
}

/** What a turn stores about its charge. `toolCalls`: the price of its finished tool calls. */
export type Charged = { tokens: TokenCount; price: Price; toolCalls: Amount; charged: Amount; writtenOff: Amount }

const exactPerUnit = 1_000_000n

export function calculatePrice({ tokens, price, toolCalls, charged, writtenOff }: Charged): PriceCalculation {
  const { promptTokens, cachedPromptTokens, cacheWriteTokens, completionTokens } = tokens
  const { promptPerMillion, completionPerMillion, cachedPromptPerMillion, cacheWritePerMillion } = price
  const line = (kind: Exclude<PriceLine['kind'], 'tool_calls'>, count: number, perMillion: Amount): PriceLine[] =>
    count === 0 ? [] : [{ kind, tokens: count, perMillion, exact: BigInt(count) * perMillion }]
  const lines: PriceLine[] = [
    ...line('prompt', promptTokens - cachedPromptTokens - cacheWriteTokens, promptPerMillion),
    ...line('cached_prompt', cachedPromptTokens, cachedPromptPerMillion ?? promptPerMillion),
    ...line('cache_write', cacheWriteTokens, cacheWritePerMillion ?? promptPerMillion),
    ...line('completion', completionTokens, completionPerMillion),
    ...(toolCalls === 0n ? [] : [{ kind: 'tool_calls' as const, exact: toolCalls * exactPerUnit }]),
  ]
  const exact = lines.reduce((sum, one) => sum + one.exact, 0n)
  const cost = (exact + exactPerUnit - 1n) / exactPerUnit
  return { lines, rounding: cost * exactPerUnit - exact, cost, writtenOff, charged }
}

/** Formats an exact amount as a decimal string with 8 to 14 places. */
export function formatExactUsd(exact: ExactAmount): string {
  const places = (exact % 10n ** 14n).toString().padStart(14, '0')
  return `${exact / 10n ** 14n}.${places.slice(0, 8)}${places.slice(8).replace(/0+$/, '')}`
}
