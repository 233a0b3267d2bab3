/**
 * Vectors of texts, by the embedding model that an agent names: looks the provider up, asks in batches, and asks again where it may. Never cuts a
 * text, keeps no vector, and counts no money: embeddings are the operator's cost (rulings, Money).
 */
import { noFailpoints } from '../../failpoints.ts'
import type { Failpoints } from '../../failpoints.ts'
import { splitModel } from '../agent-config.ts'
import { droppableEmbed } from './droppable-model.ts'
import { ModelError } from './model.ts'
import type { Embed, Models } from './models.ts'
import { createProviders } from './providers.ts'
import { withRetries } from './retry.ts'
import { UnsealError } from '../../config/secrets.ts'
import type { Sealer } from '../../config/secrets.ts'
import type { Store } from '../../store/store.ts'

// Every provider takes as many at once, and a batch of the largest vectors is answered within a few seconds.
const maxTexts = 64
// Whoever waits for a vector has better to do than to wait longer for a provider that is busy: a turn goes on without, a document tries later.
const maxWaitMs = 5000

export interface Embeddings {
  /**
   * One vector of unit length a text, in their order. `embeddingModel` is `<provider name>/<model id>`. Rejects with ModelError, with
   * StoreUnavailable, or with `signal.reason`.
   */
  embed(embeddingModel: string, texts: string[], signal: AbortSignal): Promise<Float32Array[]>
}

export type EmbeddingsOptions = { store: Store; sealer: Sealer; models: Models; failpoints?: Failpoints }

export function createEmbeddings({ store, sealer, models, failpoints = noFailpoints }: EmbeddingsOptions): Embeddings {
  const providers = createProviders<Embed>({ store, sealer, open: (provider) => droppableEmbed(models.openEmbed(provider), failpoints) })

  return {
    async embed(embeddingModel, texts, signal) {
      signal.throwIfAborted()
      const name = splitModel(embeddingModel)
      if (!name) throw new ModelError('refused', 'an embedding model is named as <provider name>/<model id>')
      const embed = await openProvider(name.provider)
      const vectors: Float32Array[] = []
      for (let at = 0; at < texts.length; at += maxTexts) {
        const batch = texts.slice(at, at + maxTexts)
        vectors.push(...(await withRetries(() => embed(name.modelId, batch, signal), { signal, maxWaitMs })))
      }
      if (vectors.some(({ length }) => length !== vectors[0]!.length))
        throw new ModelError('refused', 'the provider was asked for vectors and answered with vectors of different lengths')
      return vectors
    },
  }

  async function openProvider(name: string): Promise<Embed> {
    try {
      return await providers.open(name)
    } catch (error) {
      if (error instanceof UnsealError) throw new ModelError('refused', error.message, { cause: error })
      throw error
    }
  }
}
