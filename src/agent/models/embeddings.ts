/**
 * Creates vectors with the embedding model that an agent names: finds the provider, splits the texts into batches, and retries. Vectors are
 * not cached. Nothing is charged for them: the operator pays the embedding provider (docs/guides/billing.md).
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

// Every provider accepts this many texts in one request, and answers within a few seconds.
const maxTexts = 64
// Milliseconds. Callers have something better to do than to wait longer for a busy provider: a turn continues without the vector, and a
// document is tried again later.
const maxWaitMs = 5000

export interface Embeddings {
  /**
   * Returns one vector of unit length per text, in the order of the texts. `embeddingModel` is `<provider name>/<model id>`. Rejects with
   * ModelError, StoreUnavailable or `signal.reason`.
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
      if (!name) throw new ModelError('refused', 'provider_unusable', 'an embedding model is named as <provider name>/<model id>')
      const embed = await openProvider(name.provider)
      const vectors: Float32Array[] = []
      for (let at = 0; at < texts.length; at += maxTexts) {
        const batch = texts.slice(at, at + maxTexts)
        vectors.push(...(await withRetries(() => embed(name.modelId, batch, signal), { signal, maxWaitMs })))
      }
      if (vectors.some(({ length }) => length !== vectors[0]!.length))
        throw new ModelError(
          'refused',
          'invalid_answer',
          'the provider was asked for vectors and answered with vectors of different lengths',
        )
      return vectors
    },
  }

  async function openProvider(name: string): Promise<Embed> {
    try {
      return await providers.open(name)
    } catch (error) {
      if (error instanceof UnsealError) throw new ModelError('refused', 'decrypt_failed', error.message, { cause: error })
      throw error
    }
  }
}
