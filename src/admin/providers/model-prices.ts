/** What is known of a model before an agent is saved with it: its price and its window. Surfaces: GET /models/price. */
import { splitModel } from '../../agent/agent-config.ts'
import type { Price } from '../../ledger/ledger.ts'
import type { AdminStore } from '../admin-store.ts'
import { usualPrice } from '../agents/agent-fields.ts'
import { knownModel } from './known-price.ts'
import type { KnownModel } from './known-price.ts'

/** `contextTokens`: the window. Each null where it is not known, of a provider that is not there too. */
export type PricedModel = { price: Price | null; contextTokens: number | null }

export type ModelPricesAdmin = {
  /** The price that `createAgent` takes where none is given. Throws ApiError `validation_error` for a text that names no model. */
  priceModel(model: string): Promise<PricedModel>
}

export function createModelPrices({ store }: { store: AdminStore }): ModelPricesAdmin {
  return {
    async priceModel(model) {
      const known = await findKnown(store, model)
      return { price: usualPrice(model, known) ?? null, contextTokens: known.contextWindow ?? null }
    },
  }
}

/** Of the provider that the model names, as it is set up now. */
export async function findKnown(store: Pick<AdminStore, 'read'>, model: string | undefined): Promise<KnownModel> {
  const name = model === undefined ? undefined : splitModel(model)
  const provider = name && (await store.read.findProvider(name.provider))
  return provider ? knownModel(provider, name.modelId) : { price: undefined, contextWindow: undefined }
}
