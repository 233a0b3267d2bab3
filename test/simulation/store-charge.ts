/**
 * What the turns of the simulation must be charged (`billing.once`, `billing.token-kinds`, `billing.tool-price`): computed from the journal
 * that the model of the store knows, from what the scripted model reports for each step, and from the prices of the scripted tools. Uses
 * nothing of the ledger.
 */
import type { JournalEntry } from '../../src/store/turn-records.ts'

/** Of every step of the scripted model. */
export const usage = { promptTokens: 10, cachedPromptTokens: 4, cacheWriteTokens: 1, completionTokens: 5, reasoningTokens: 2 }

/** 10⁻⁸ USD for a call that its tool answered. */
export const toolPrices: Record<string, number> = { effect: 500, look: 30 }

/** A cached token costs half of a prompt token, a written one twice as much, a generated one the same. */
export const pricesOf = (promptPerMillion: bigint) => ({
  promptPerMillion,
  completionPerMillion: promptPerMillion,
  cachedPromptPerMillion: promptPerMillion / 2n,
  cacheWritePerMillion: promptPerMillion * 2n,
})

/** In halves of the price of a token: 5 prompt, 4 cached, 1 written, 5 generated. */
const halvesPerStep = 5n * 2n + 4n * 1n + 1n * 4n + 5n * 2n

export const costOfSteps = (steps: number, promptPerMillion: bigint): bigint =>
  (BigInt(steps) * halvesPerStep * promptPerMillion) / 2n / 1_000_000n

// Of the one agent, with the highest price of an edit (commands.ts, simulated-database.ts).
const [fixedTokens, maxOutputTokens, highestPerMillion] = [50, 100, 600_000_000n]

/** What a first step holds at most, with this many tokens of history and message. */
export function mostHold(promptTokens: number): bigint {
  const { cacheWritePerMillion, completionPerMillion } = pricesOf(highestPerMillion)
  return (BigInt(fixedTokens + promptTokens) * cacheWritePerMillion + BigInt(maxOutputTokens) * completionPerMillion) / 1_000_000n
}

/** What the journal says was asked for, and what of it has finished, at the prices of the tools. */
export function toolCallsIn(journal: JournalEntry[]): { asked: bigint; finished: bigint } {
  const names = new Map<string, string>()
  for (const { kind, step, payload } of journal) {
    if (kind !== 'model') continue
    const { toolCalls } = JSON.parse(payload) as { toolCalls: { name: string }[] }
    for (const [index, { name }] of toolCalls.entries()) names.set(`${step}:${index + 1}`, name)
  }
  const finished = new Set(journal.filter(({ kind }) => kind === 'tool_finished').map(({ step, part }) => `${step}:${part}`))
  const sum = (keys: Iterable<string>): bigint =>
    [...keys].reduce((total, key) => total + BigInt(toolPrices[names.get(key) ?? ''] ?? 0), 0n)
  return { asked: sum(names.keys()), finished: sum(finished) }
}
