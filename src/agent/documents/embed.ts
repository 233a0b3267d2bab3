/**
 * Vectors for the chunks of a document. A provider that fails for the moment is asked again while the document's lease lives; one that refuses
 * fails the document, with its own words: an agent whose operator named an embedding model is not quietly served by half of its search.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Embeddings } from '../models/embeddings.ts'
import { ModelError } from '../models/model.ts'
import { DocumentRefused } from './limits.ts'

export type Embedding = { embeddings: Embeddings; model: string; signal: AbortSignal; retriesMs: number[] }

/** One vector a text, in order. Throws DocumentRefused, or `signal.reason`. */
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
      if (error.kind !== 'unavailable') throw new DocumentRefused(`The embedding model ${model} rejected this text: ${error.message}`)
      const pause = retriesMs[attempt]
      if (pause === undefined) throw new DocumentRefused(`The embedding model ${model} cannot be reached: ${error.message}`)
      // The timer rejects with an error of its own; the caller is promised the signal's reason.
      await wait(Math.max(pause, Math.min(error.retryAfterMs ?? 0, maxAskedMs)), undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}

// A provider may ask for an hour; what cannot be had within the minute is put in again when it can.
const maxAskedMs = 60_000
