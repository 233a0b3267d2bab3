/**
 * Finds the chunks of an agent that are nearest to a vector, in a copy of the vectors in memory. The copy is loaded from the store in pages
 * at the first search; later searches only load what changed. Memory is bounded: the least recently used copies are removed. The store is
 * authoritative, so a returned chunk may have been deleted already.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import type { IndexChange } from '../../store/queries/knowledge/vectors.ts'
import type { Store } from '../../store/store.ts'
import { bytesOfVector } from './vector-set.ts'
import type { FromVectors, ToVectors } from './vector-thread.ts'

export type VectorQuery = {
  agentId: string
  embeddingModel: string
  /** Current revision of the agent's knowledge base. The copy is updated to it before the search. */
  revision: number
  vector: Float32Array
  limit: number
}

export interface VectorSearch {
  /** Returns chunk ids, nearest first; undefined if the agent has too many vectors to hold in memory. Rejects with StoreUnavailable. */
  search(query: VectorQuery): Promise<number[] | undefined>
  close(): Promise<void>
}

// Per process: 240,000 vectors of 512 dimensions, or 80,000 of 1,536. A quarter of the memory of a small machine with one gigabyte.
const maxVectorBytes = 256 * 1024 * 1024
// A page of vectors has two or three megabytes and occupies the store's thread for a few milliseconds.
const vectorsAPage = 500
const changesAPage = 1_000

type Copy = {
  key: string
  agentId: string
  embeddingModel: string
  /** Revision of the knowledge base that the copy contains. */
  revision: number
  /** Highest revision that a search has asked for and the copy was updated to. */
  knownFor: number
  /** Number of chunks with a vector, by document. */
  documents: Map<string, number>
  bytes: number
  refreshing: Promise<void> | undefined
  tooLarge: boolean
}

export function createVectorSearch({
  store,
  log,
  maxBytes = maxVectorBytes,
}: {
  store: Store
  log: Pick<Logger, 'warn'> | undefined
  maxBytes?: number
}): VectorSearch {
  /** In order of use, least recently used first. */
  const copies = new Map<string, Copy>()
  const waiting = new Map<number, (nearest: number[]) => void>()
  const warned = new Set<string>()
  let worker: Worker | undefined
  let nextId = 1

  function tell(message: ToVectors): void {
    if (!worker) {
      worker = new Worker(new URL('./vector-thread.ts', import.meta.url))
      // The thread must not keep the process alive.
      worker.unref()
      worker.on('message', ({ id, nearest }: FromVectors) => {
        waiting.get(id)?.(nearest.map(({ chunkId }) => chunkId))
        waiting.delete(id)
      })
    }
    worker.postMessage(message)
  }

  function copyOf(agentId: string, embeddingModel: string): Copy {
    const key = `${agentId} ${embeddingModel}`
    const copy = copies.get(key) ?? emptyCopy(key, agentId, embeddingModel)
    copies.delete(key)
    copies.set(key, copy)
    return copy
  }

  function forget(copy: Copy): void {
    tell({ kind: 'forget', set: copy.key })
    copies.delete(copy.key)
  }

  /** Updates a copy to the current state of the store. Only one update per copy runs at a time. */
  async function refresh(copy: Copy, dimensions: number): Promise<void> {
    copy.tooLarge = false
    // Deletions up to this revision are accounted for: they were applied, or the copy was empty and never contained those documents.
    let deletionsKnown = copy.revision
    for (;;) {
      const asked = { agentId: copy.agentId, after: copy.revision, limit: changesAPage }
      const { changes, clearedRevision } = await store.read.listIndexChanges(asked)
      if (clearedRevision > deletionsKnown) {
        deletionsKnown = clearedRevision
        if (copy.revision > 0) {
          restart(copy)
          continue
        }
      }
      await apply(copy, changes, dimensions)
      if (copy.tooLarge) return
      copy.revision = changes.at(-1)?.revision ?? copy.revision
      if (changes.length === changesAPage) continue
      copy.revision = Math.max(copy.revision, deletionsKnown)
      return
    }
  }

  function restart(copy: Copy): void {
    tell({ kind: 'forget', set: copy.key })
    Object.assign(copy, { revision: 0, documents: new Map(), bytes: 0 })
  }

  async function apply(copy: Copy, changes: IndexChange[], dimensions: number): Promise<void> {
    const gone = changes.map(({ documentId }) => documentId).filter((id) => copy.documents.has(id))
    if (gone.length > 0) tell({ kind: 'drop', set: copy.key, documentIds: gone })
    for (const id of gone) copy.documents.delete(id)
    const fresh = changes.filter(({ generation, embeddingModel }) => generation > 0 && embeddingModel === copy.embeddingModel)
    const chunks = sum([...copy.documents.values()]) + sum(fresh.map((change) => change.chunks))
    copy.bytes = chunks * bytesOfVector(dimensions)
    if (!reserve(copy)) return
    for (const page of pagesOf(fresh)) {
      const asked = { agentId: copy.agentId, dimensions, ...page }
      const { chunkIds, documentIds, vectors } = await store.read.readVectors(asked)
      if (chunkIds.length > 0) tell({ kind: 'add', set: copy.key, dimensions, chunkIds, documentIds, vectors })
      for (const id of documentIds) copy.documents.set(id, (copy.documents.get(id) ?? 0) + 1)
    }
  }

  /** Removes other copies until this one fits. Returns false if the vectors of this agent alone exceed the limit. */
  function reserve(copy: Copy): boolean {
    if (copy.bytes > maxBytes) {
      restart(copy)
      copy.tooLarge = true
      if (!warned.has(copy.agentId))
        log?.warn({ agentId: copy.agentId, maxBytes }, 'agent has too many vectors to hold in memory: searching by words only')
      warned.add(copy.agentId)
      return false
    }
    let all = sum([...copies.values()].map(({ bytes }) => bytes))
    for (const other of copies.values()) {
      if (all <= maxBytes) break
      if (other === copy || other.refreshing) continue
      all -= other.bytes
      forget(other)
    }
    return true
  }

  return {
    async search({ agentId, embeddingModel, revision, vector, limit }) {
      const copy = copyOf(agentId, embeddingModel)
      // A search that joins may know of a later change than the one that this was started for.
      while (copy.knownFor < revision) {
        // Also retried for a copy that was too large, because the change may have made it smaller.
        copy.refreshing ??= refresh(copy, vector.length)
          .then(() => void (copy.knownFor = Math.max(copy.knownFor, revision)))
          .finally(() => (copy.refreshing = undefined))
        await copy.refreshing
      }
      if (copy.tooLarge) return undefined
      const id = nextId++
      const nearest = new Promise<number[]>((resolve) => waiting.set(id, resolve))
      tell({ kind: 'search', set: copy.key, id, query: unitLength(vector), limit })
      return nearest
    },
    async close() {
      const ending = worker
      worker = undefined
      if (!ending) return
      ending.ref()
      const exited = once(ending, 'exit')
      ending.postMessage({ kind: 'close' } satisfies ToVectors)
      await exited
    },
  }
}

const emptyCopy = (key: string, agentId: string, embeddingModel: string): Copy => ({
  key,
  agentId,
  embeddingModel,
  revision: 0,
  knownFor: 0,
  documents: new Map(),
  bytes: 0,
  refreshing: undefined,
  tooLarge: false,
})

type Page = { documents: IndexChange[]; from: number; to: number }

/** Combines small documents into one page, and splits large ones over several. */
function* pagesOf(changes: IndexChange[]): Generator<Page> {
  let together: IndexChange[] = []
  for (const change of changes) {
    if (change.chunks > vectorsAPage) {
      for (let from = 0; from < change.chunks; from += vectorsAPage) yield { documents: [change], from, to: from + vectorsAPage }
      continue
    }
    if (sum([...together, change].map(({ chunks }) => chunks)) > vectorsAPage) {
      yield { documents: together, from: 0, to: vectorsAPage }
      together = []
    }
    together.push(change)
  }
  if (together.length > 0) yield { documents: together, from: 0, to: vectorsAPage }
}

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0)

function unitLength(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector) || 1
  return vector.map((value) => value / length)
}
