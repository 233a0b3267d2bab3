/**
 * Indexes one claimed document: reads it in a separate process, creates vectors if the agent names an embedding model, and writes a few
 * dozen chunks at a time. The claim fences every write, and the previous content of the document stays searchable until the new content is
 * complete.
 */
import { readWarnings } from '../../document-warnings.ts'
import type { ClaimedDocument, NewChunk } from '../../store/queries/knowledge/indexing.ts'
import type { Store } from '../../store/store.ts'
import type { Embeddings } from '../models/embeddings.ts'
import type { Guard } from '../guard/guard.ts'
import type { Chunk } from '../knowledge/chunk.ts'
import { embedWithRetries } from './embed.ts'
import type { Extractor, ReadDocument } from './extractor.ts'
import { fetchDocument } from './fetch-document.ts'
import { DocumentRefused, inMebibytes, maxFileBytes } from './limits.ts'

/** Another process has claimed the document, or it was replaced or deleted. */
export class ClaimLost extends Error {}

export type Claim = {
  /** Aborts with the reason when the work is no longer needed. */
  signal: AbortSignal
  /** Reports the share that is done, from 0 to 1. */
  progress(share: number): void
  /** Reports the CPU time of reading, in milliseconds. */
  spent(cpuMs: number): void
}

export type Indexing = {
  store: Store
  extractor: Extractor
  guard: Pick<Guard, 'fetch'>
  embeddings: Embeddings
  retriesMs: { embedding: number[]; address: number[] }
}

// Texts per request: providers accept from 96 to 2,048, and 64 chunks have about 20,000 tokens.
const embeddedAtOnce = 64
// Chunks per write: the store's writer is busy for a few milliseconds, during which turns wait.
const addedAtOnce = 32
// The progress when the document has been read; the rest is for its chunks.
const readShare = 0.3

/** Returns the number of chunks. Throws DocumentRefused with the reason, ClaimLost or StoreUnavailable. */
export async function indexDocument(
  document: ClaimedDocument,
  claim: Claim,
  { store, extractor, guard, embeddings, retriesMs }: Indexing,
): Promise<{ chunks: number }> {
  const { id: documentId, fence } = document
  const { embeddingModel, language } = document.knowledge
  const read = await readContent()
  const title = titleOf(document, read)
  for (let from = 0; from < read.chunks; from += embeddedAtOnce) {
    const chunks = await extractor.take(from, embeddedAtOnce, claim.signal)
    const vectors = embeddingModel === null ? undefined : await embed(embeddingModel, title, chunks)
    for (let part = 0; part < chunks.length; part += addedAtOnce) {
      claim.signal.throwIfAborted()
      const added = chunks
        .slice(part, part + addedAtOnce)
        .map((chunk, index): NewChunk => ({ ...chunk, vector: vectors?.[part + index] ?? null }))
      if (!(await store.write.addChunks({ documentId, fence, title, from: from + part, chunks: added }))) throw new ClaimLost()
    }
    claim.progress(readShare + (1 - readShare) * ((from + chunks.length) / read.chunks))
  }
  claim.signal.throwIfAborted()
  const finished = {
    documentId,
    fence,
    title,
    bytes: read.bytes,
    chunks: read.chunks,
    warnings: readWarnings(read.warnings),
    embeddingModel,
    language,
  }
  if (!(await store.write.finishDocument(finished))) throw new ClaimLost()
  return { chunks: read.chunks }

  async function readContent(): Promise<ReadDocument> {
    const { url, contentId, mediaType, fileName, source } = document
    const common = { onProgress: (share: number) => claim.progress(share * readShare), onSpent: claim.spent, signal: claim.signal }
    if (source === 'url') {
      if (url === null) throw new Error(`document ${documentId} has no address`)
      const { bytes, mediaType: answered } = await fetchDocument(url, { guard, signal: claim.signal, retriesMs: retriesMs.address })
      return extractor.read({ parts: one(bytes), mediaType: answered, fileName: null, isText: false, ...common })
    }
    if (contentId === null) throw new Error(`document ${documentId} has no content`)
    return extractor.read({ parts: partsOf(contentId), mediaType, fileName, isText: source === 'text', ...common })
  }

  async function* partsOf(contentId: string): AsyncGenerator<Uint8Array> {
    for (let part = 0, size = 0; ; part++) {
      claim.signal.throwIfAborted()
      const bytes = await store.read.readContentPart(contentId, part)
      if (!bytes) return
      size += bytes.length
      if (size > maxFileBytes)
        throw new DocumentRefused(`This file is larger than ${inMebibytes(maxFileBytes)}. Split it into smaller documents.`)
      yield bytes
    }
  }

  function embed(model: string, named: string, chunks: Chunk[]): Promise<Float32Array[]> {
    const texts = chunks.map(({ headings, text }) => [named, headings, text].filter((line) => line !== '').join('\n'))
    return embedWithRetries(texts, { embeddings, model, signal: claim.signal, retriesMs: retriesMs.embedding })
  }
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Uses the title from the document itself if the operator gave none, so that only the file name or URL is known. */
function titleOf({ title, fileName, url }: ClaimedDocument, read: ReadDocument): string {
  return title === fileName || title === url ? (read.title ?? title) : title
}
