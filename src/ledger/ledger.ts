/**
 * Amounts, prices, costs and charges, and the only rounding of a turn. Pure: no clock, no store, no I/O. docs/spec.md, "What is charged",
 * describes the result (`charged_usd`, 8 decimal places).
 */

/** An integer number of 10⁻⁸ USD. */
export type Amount = bigint

/** Integer prices in 10⁻⁸ USD per million tokens: $0.15 per million is 15_000_000n. */
export type Price = {
  promptPerMillion: Amount
  completionPerMillion: Amount
  /** `billing.token-kinds`: of prompt tokens that the provider read from its cache. Null: the prompt price. */
  cachedPromptPerMillion: Amount | null
  /** Of prompt tokens that the provider wrote to its cache. Null: the prompt price. */
  cacheWritePerMillion: Amount | null
}

/** `billing.token-kinds`: cached and written tokens are part of the prompt tokens, reasoning is part of the completion tokens. */
export type TokenCount = {
  promptTokens: number
  cachedPromptTokens: number
  cacheWriteTokens: number
  completionTokens: number
  reasoningTokens: number
}

/** What a call may use at most. Of which kind its prompt tokens will be is not known. */
export type TokenBound = Pick<TokenCount, 'promptTokens' | 'completionTokens'>

export const smaller = (one: Amount, other: Amount): Amount => (one < other ? one : other)
export const larger = (one: Amount, other: Amount): Amount => (one > other ? one : other)

const unitsPerUsd = 100_000_000n
const tokensPerMillion = 1_000_000n
/** $1,000,000,000: keeps every sum of amounts inside a signed 64-bit column. */
export const maxAmount: Amount = 1_000_000_000n * unitsPerUsd
/** $10,000 per million tokens: multiplied by two million tokens, it still fits in a signed 64-bit integer before the division. */
export const maxPricePerMillion: Amount = 10_000n * unitsPerUsd
/** $1,000 per call: an exact JavaScript number of 10⁻⁸ USD, as an agent's version stores it. */
export const maxToolPrice: Amount = 1_000n * unitsPerUsd

/** Reads a decimal string of USD with at most 8 places, such as `"10"`, `"-0.5"` or `"0.00000001"`. Returns undefined for anything else. */
export function parseUsd(text: string): Amount | undefined {
  const match = /^(-?)(\d{1,10})(?:\.(\d{1,8}))?$/.exec(text)
  if (!match) return undefined
  const [, sign, whole, places = ''] = match
  const amount = BigInt(whole!) * unitsPerUsd + BigInt(places.padEnd(8, '0'))
  if (amount > maxAmount) return undefined
  return sign === '-' ? -amount : amount
}

/** Formats an amount as a decimal string with exactly 8 places. */
export function formatUsd(amount: Amount): string {
  const absolute = amount < 0n ? -amount : amount
  const places = (absolute % unitsPerUsd).toString().padStart(8, '0')
  return `${amount < 0n ? '-' : ''}${absolute / unitsPerUsd}.${places}`
}

/** Returns the cost of tokens at a price, rounded up once. Tokens are non-negative integers. */
export function cost(tokens: TokenCount, price: Price): Amount {
  const { promptTokens, cachedPromptTokens, cacheWriteTokens, completionTokens } = tokens
  const { promptPerMillion, cachedPromptPerMillion, cacheWritePerMillion, completionPerMillion } = price
  return perMillion(
    BigInt(promptTokens - cachedPromptTokens - cacheWriteTokens) * promptPerMillion +
      BigInt(cachedPromptTokens) * (cachedPromptPerMillion ?? promptPerMillion) +
      BigInt(cacheWriteTokens) * (cacheWritePerMillion ?? promptPerMillion) +
      BigInt(completionTokens) * completionPerMillion,
  )
}

/** `billing.hold`: the cost of tokens whose kinds are not known yet, at the dearest price of a prompt token, rounded up once. */
export function boundCost(bound: TokenBound, price: Price): Amount {
  return perMillion(BigInt(bound.promptTokens) * dearestPrompt(price) + BigInt(bound.completionTokens) * price.completionPerMillion)
}

/** Per million prompt tokens of any kind. */
function dearestPrompt({ promptPerMillion, cachedPromptPerMillion, cacheWritePerMillion }: Price): Amount {
  return [cachedPromptPerMillion, cacheWritePerMillion].reduce<Amount>(
    (dearest, price) => (price !== null && price > dearest ? price : dearest),
    promptPerMillion,
  )
}

/** The only rounding: up. */
// mutant: billing.once
const perMillion = (exact: bigint): Amount => (exact + tokensPerMillion - 1n) / tokensPerMillion

/** What a new turn can hold (`billing.hold`). Zero if an adjustment has left less than what is reserved. */
export function available({ balance, held, unpaid }: { balance: Amount; held: Amount; unpaid: Amount }): Amount {
  const left = balance - held - unpaid
  return left > 0n ? left : 0n
}

/**
 * `billing.unpaid`: how much unpaid usage a credit (a positive amount) clears, or an adjustment reserves again (the result is negative).
 * `unpaid` is what is reserved now, and `cleared` what credits have made available again.
 *
 * A credit of a clears min(a, unpaid), an adjustment of −a reserves min(a, cleared) again. Then cleared ≤ credits − adjustments, always: a
 * credit adds a to the right side and at most a to the left one. An adjustment takes a from the right side, which stays ≥ 0 because a
 * balance does, and takes a from the left side too, or all of it.
 */
export function clearedBy(amount: Amount, { unpaid, cleared }: { unpaid: Amount; cleared: Amount }): Amount {
  if (amount > 0n) return amount < unpaid ? amount : unpaid
  return -amount < cleared ? amount : -cleared
}

/**
 * `billing.once`: the charge is never more than the hold. Usage beyond the hold that a provider reports is written off and recorded.
 * `toolCalls`: the price of the finished tool calls (`billing.tool-price`).
 */
export function charge(tokens: TokenCount, toolCalls: Amount, price: Price, hold: Amount): { charged: Amount; writtenOff: Amount } {
  const full = cost(tokens, price) + toolCalls
  const charged = full < hold ? full : hold
  const writtenOff = full - charged
  return { charged, writtenOff: writtenOff < maxAmount ? writtenOff : maxAmount }
}
