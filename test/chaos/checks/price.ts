/**
 * What a reply may cost (`billing.token-kinds`, `billing.tool-price`): from the reported usage, the prices of the agent, what the model server
 * reported as cached, and the calls that reached the tool server. Pure. Uses nothing of the service.
 */
import type { Tenant } from '../history.ts'
import { maxCallsPerAttempt, readMessage } from '../messages.ts'
import type { Reading, Reply, Request } from './reading.ts'

export type Range = { least: bigint; most: bigint }

/** As an operator writes it, with fewer places. */
export const unitsOf = (usd: string): bigint => {
  const [whole, places = ''] = usd.split('.')
  return BigInt(whole! + places.padEnd(8, '0'))
}

/** Rounded up, once. More cached tokens are cheaper. */
export function costOf({ usage, message }: Reply, { agents }: Tenant, { key, message: sent }: Request): Range {
  const agent = agents.find(({ id }) => id === key.agentId)!
  const { most, least } = cachedOf(usage.prompt_tokens, sent, message.incomplete === true)
  const at = (cached: bigint): bigint => {
    const exact =
      (BigInt(usage.prompt_tokens) - cached) * unitsOf(agent.promptUsdPerMillion) +
      cached * unitsOf(agent.cachedPromptUsdPerMillion ?? agent.promptUsdPerMillion) +
      BigInt(usage.completion_tokens) * unitsOf(agent.completionUsdPerMillion)
    return (exact + 999_999n) / 1_000_000n
  }
  return { least: at(most), most: at(least) }
}

/**
 * The model server reports half of each prompt as cached, rounded down for each call. Without a usage of its own, or with an impossible one,
 * nothing is cached, and of a reply that was cut off it may not have been reported in time.
 */
function cachedOf(prompt: number, message: string, incomplete: boolean): Range {
  const { behaviour = '' } = readMessage(message) ?? {}
  if (behaviour === 'unpaid' || behaviour === 'greedy') return { least: 0n, most: 0n }
  const most = Math.floor(prompt / 2)
  const least = incomplete ? 0 : Math.max(0, Math.ceil(prompt / 2) - maxCallsPerAttempt(message))
  return { least: BigInt(least), most: BigInt(most) }
}

/** Each call that reached its tool is charged at most once, by its key. A connection that the tool server cut was not an answer. */
export function toolCallsOf(requestId: string, { agents }: Tenant, { events }: Reading, agentId: string): Range {
  const { toolUsd = {} } = agents.find(({ id }) => id === agentId) ?? {}
  const prices = new Map<string, bigint>()
  for (const event of events) {
    if (event.kind !== 'tool' || !event.idempotencyKey.startsWith(`${requestId}:`)) continue
    prices.set(event.idempotencyKey, unitsOf(toolUsd[event.name] ?? '0'))
  }
  return { least: 0n, most: [...prices.values()].reduce((sum, price) => sum + price, 0n) }
}
