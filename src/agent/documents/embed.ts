/**
 * Creates vectors for the chunks of a document. Requests to an unavailable provider are retried while the document's lease is renewed. If
 * the provider refuses, the document fails with the provider's message: an agent with an embedding model must not silently get a search by
 * words only.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { loggableFailure } from '../loggable-failure.ts'
import type { Embeddings } from '../models/embeddings.ts'
import { ModelError } from '../models/model.ts'
import { DocumentRefused } from './limits.ts'

export type Embedding = { embeddings: Embeddings; model: string; signal: AbortSignal; retriesMs: number[] }

/** Returns one vector per text, in order. Throws DocumentRefused or `signal.reason`. */
export async function embedWithRetries(texts: string[], { embeddings, model, signal, retriesMs }: Embedding): Promise<Float32Array[]> {
  for (let attempt = 0; ; attempt++) {
    try {
      const vectors = await embeddings.embed(model, texts, signal)
      if (vectors.length !== texts.length)
        throw new DocumentRefused(`The embedding model ${model} returned ${vectors.length} vectors for ${texts.length} texts.`)
      return vectors
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof ModelError)) throw error
      if (error.kind !== 'unavailable')
        throw new DocumentRefused(`The embedding model ${model} rejected this text: ${error.message}`, { logged: loggableFailure(error) })
      const pause = retriesMs[attempt]
      if (pause === undefined)
        throw new DocumentRefused(`The embedding model ${model} cannot be reached: ${error.message}`, { logged: loggableFailure(error) })
      // An aborted timer rejects with an error of its own, but callers expect the signal's reason.
      await wait(Math.max(pause, Math.min(error.retryAfterMs ?? 0, maxAskedMs)), undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}

// A provider may ask for an hour. Retry after a minute at most; if that fails, the document fails and the operator can send it again.
const maxAskedMs = 60_000
