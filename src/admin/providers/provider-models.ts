/**
 * The models that a provider lists, each with its known price. The provider's own words explain why it lists none. Never retries, never
 * writes.
 */
import { setImmediate } from 'node:timers/promises'
import type { Models } from '../../agent/models/models.ts'
import type { Price } from '../../ledger/ledger.ts'
import { callProvider } from './call-provider.ts'
import type { CalledProvider } from './call-provider.ts'
import { knownModel } from './known-price.ts'

/** `price` and `contextTokens` are null if they are not known. */
export type ListedModel = { id: string; price: Price | null; contextTokens: number | null }
export type ProviderModels = { ok: true; models: ListedModel[] } | { ok: false; error: string }

// A person waits in front of a field.
const deadlineMs = 10_000
// A look-up takes about 0.1 ms, and the longest list has 1,000 models. Turns go on in between.
const lookUpsAtOnce = 50

/** In the provider's order, each once. */
export async function listProviderModels({ provider, sealer, models }: CalledProvider & { models: Models }): Promise<ProviderModels> {
  const listed = await callProvider({ provider, sealer }, deadlineMs, (opened, signal) => models.list(opened, signal))
  if (!listed.ok) return listed
  const found: ListedModel[] = []
  for (const id of new Set(listed.value)) {
    if (found.length % lookUpsAtOnce === 0) await setImmediate()
    const { price = null, contextWindow = null } = await knownModel(provider, id)
    found.push({ id, price, contextTokens: contextWindow })
  }
  return { ok: true, models: found }
}
