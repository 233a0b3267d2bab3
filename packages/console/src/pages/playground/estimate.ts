/** What a reply may cost, before it is sent. Pure. */
import { readAmount, writeAmount } from '../../api/amounts.ts'
import type { Agent, Message } from '../../api/types.ts'

const bytesOf = (text: string): number => new TextEncoder().encode(text).length
/** At most, as the server counts it: docs/spec.md, `billing.hold`. */
const tokensOf = (text: string): number => Math.ceil(bytesOf(text) / 2)

/** The newest messages of the conversation, and whether there are more. */
type Stored = { items: readonly Message[]; more: boolean }

const perMillion = 1_000_000n

/**
 * About what the server holds for the first step: the largest prompt at the highest price of a prompt token, and the largest answer. The
 * definitions of the tools of an MCP server are not known here.
 */
export function holdOf(agent: Agent, message: string, stored: Stored): string {
  const { price, knowledge, history } = agent
  const known = stored.items.reduce((sum, { content }) => sum + tokensOf(content), 0)
  const historyTokens = stored.more ? history.max_tokens : Math.min(history.max_tokens, known)
  const prompt = tokensOf(agent.system_prompt) + tokensOf(message) + knowledge.max_tokens + historyTokens
  const tools = agent.tools.length > 0 ? tokensOf(JSON.stringify(agent.tools)) : 0
  const prices = [price.prompt_usd_per_million, price.cached_prompt_usd_per_million, price.cache_write_usd_per_million]
  const highest = prices.map((amount) => readAmount(amount ?? '0') ?? 0n).reduce((one, other) => (one > other ? one : other))
  const completion = readAmount(price.completion_usd_per_million) ?? 0n
  const total = BigInt(prompt + tools) * highest + BigInt(agent.max_output_tokens) * completion
  return writeAmount((total + perMillion - 1n) / perMillion)
}

/** Enough for an average. */
const maxReplies = 20

/** What the newest replies of the conversation cost on average. Undefined without one. */
export function averageCharge(messages: readonly Message[]): string | undefined {
  const charged = messages
    .filter(({ role }) => role === 'assistant')
    .slice(0, maxReplies)
    .flatMap(({ turn }) => (turn.usage ? [readAmount(turn.usage.charged_usd) ?? 0n] : []))
  if (charged.length === 0) return undefined
  return writeAmount(charged.reduce((sum, one) => sum + one, 0n) / BigInt(charged.length))
}

export const isLess = (one: string, other: string): boolean => (readAmount(one) ?? 0n) < (readAmount(other) ?? 0n)
