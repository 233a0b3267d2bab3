/** The known price and context window of a model, before an agent is saved with it. */
import { splitModel } from '../../agent/agent-config.ts'
import type { PriceSource } from '../../agent/agent-config.ts'
import type { Price } from '../../ledger/ledger.ts'
import type { AdminStore, PerRequest } from '../admin-store.ts'
import { usualPrice } from '../agents/agent-fields.ts'
import { knownModel, nothingKnown } from './known-price.ts'
import type { KnownModel } from './known-price.ts'

/** `contextTokens`: the context window. Each is null if it is not known, or if the provider does not exist. */
export type PricedModel = { price: Price | null; priceSource: PriceSource | null; contextTokens: number | null }

export type ModelPricesAdmin = {
  /** The price that `createAgent` uses by default. Throws ApiError `validation_error` for an invalid model name. */
  priceModel(model: string): Promise<PricedModel>
}

export const modelPricesAdmin: PerRequest<ModelPricesAdmin> = {
  async priceModel({ store }, model) {
    const known = await findKnown(store, model)
    const usual = usualPrice(model, known)
    return { price: usual?.price ?? null, priceSource: usual?.priceSource ?? null, contextTokens: known.contextWindow ?? null }
  },
}

/** Looks up the model with the current settings of the provider that it names. */
export async function findKnown(store: Pick<AdminStore, 'read'>, model: string | undefined): Promise<KnownModel> {
  const name = model === undefined ? undefined : splitModel(model)
  const provider = name && (await store.read.findProvider(name.provider))
  return provider ? knownModel(provider, name.modelId) : nothingKnown()
}
