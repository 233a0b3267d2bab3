/**
 * The knowledge base of an agent: indexes documents and finds passages for a message. It searches by words and, if the agent names an
 * embedding model, also by vectors, and merges the two lists by reciprocal rank. A search returns only documents of its agent, waits at
 * most two seconds for vectors, and stays within the token budget it is given (`billing.hold`).
 */
import type { Logger } from 'pino'
import type { FoundChunk } from '../../store/queries/knowledge/knowledge.ts'
import type { KnowledgeState } from '../../store/queries/knowledge/knowledge-state.ts'
import type { Store } from '../../store/store.ts'
import { loggableFailure } from '../loggable-failure.ts'
import type { LoggableFailure } from '../loggable-failure.ts'
import type { Embeddings } from '../models/embeddings.ts'
import { chunkDocument } from './chunk.ts'
import { fuse } from './fusion.ts'
import { createVectorSearch } from './vector-search.ts'
import type { Passage } from '../models/model.ts'
import { passageTokens } from '../prompt.ts'
import { SharedReads } from '../shared-reads.ts'
import { raceAbort } from '../race-abort.ts'

export { passageTokens }

export type KnowledgeDocument = { documentId: string; agentId: string; title: string; text: string }

export type KnowledgeQuery = {
  agentId: string
  /** May be any text: words, a question, a whole message. */
  query: string
  /** Maximum number of passages. */
  limit: number
  /** Token budget for all passages together, as `passageTokens` counts. */
  maxTokens: number
  /** Language of the agent's documents; null means English. */
  language: string | null
  /** `<provider>/<model id>`; null means a search by words only. */
  embeddingModel: string | null
  /** Aborts the search, which then rejects with the signal's reason. */
  signal?: AbortSignal
  /** Called with each passage that was found and exceeds the remaining budget. */
  onCut?: (passage: Passage) => void
}

/** `index` and `search` reject with StoreUnavailable. */
export interface Knowledge {
  /** Indexes a document, and replaces an earlier one with the same id. */
  index(document: KnowledgeDocument): Promise<void>
  /** Returns the best passages first. A passage that exceeds the remaining budget is skipped, so that a shorter one after it may fit. */
  search(query: KnowledgeQuery): Promise<Passage[]>
  close(): Promise<void>
}

export type KnowledgeOptions = { store: Store; embeddings?: Embeddings; log?: Pick<Logger, 'warn'> }

// Milliseconds. Documents that another process indexed are found within this time.
const knownForMs = 1000
// Cache limit: about the number of agents in use within one second. When it is reached, the cache is cleared.
const maxKnown = 10_000
// Milliseconds. The model is called only after the search; providers embed a short text in a tenth of this time.
const meaningMs = 2000
// Minimum depth of each list. If the lists are deeper than necessary, chunks far down in both push out chunks that one of them ranks first
// (0.67 against 0.64, docs/decisions/0019-retrieval.md).
const minFused = 10

export function createKnowledge({ store, embeddings, log }: KnowledgeOptions): Knowledge {
  const vectors = createVectorSearch({ store, log })
  /** What an agent has, and when it was read. Most turns belong to agents without documents, which need no search. */
  const known = new Map<string, { state: KnowledgeState; readAt: number }>()
  const reads = new SharedReads<KnowledgeState>()
  let changes = 0
  store.onChange(() => {
    changes++
    known.clear()
    reads.forget()
  })

  async function stateOf(agentId: string): Promise<KnowledgeState> {
    const found = known.get(agentId)
    if (found && performance.now() - found.readAt < knownForMs) return found.state
    return reads.read(agentId, () => readState(agentId))
  }

  async function readState(agentId: string): Promise<KnowledgeState> {
    const asked = { readAt: performance.now(), changes }
    const state = await store.read.knowledgeState(agentId)
    if (known.size >= maxKnown) known.clear()
    // If something changed during the read, the result is not cached.
    if (asked.changes === changes) known.set(agentId, { state, readAt: asked.readAt })
    return state
  }

  /**
   * Returns the ids of the nearest chunks by vector, best first. Returns undefined if that fails now; the turn continues with the search by
   * words.
   */
  async function searchMeaning(
    { agentId, query, limit, embeddingModel, signal }: KnowledgeQuery,
    state: KnowledgeState,
  ): Promise<number[] | undefined> {
    if (!embeddings || embeddingModel === null || !/\S/.test(query)) return undefined
    const inTime = AbortSignal.timeout(meaningMs)
    const either = signal ? AbortSignal.any([signal, inTime]) : inTime
    try {
      const [vector] = await raceAbort(embeddings.embed(embeddingModel, [query], either), either)
      return await raceAbort(
        vectors.search({ agentId, embeddingModel, revision: state.revision, vector: vector!, limit: Math.max(limit, minFused) }),
        either,
      )
    } catch (error) {
      signal?.throwIfAborted()
      const late: LoggableFailure = { cause_kind: 'provider_timeout', cause: `no answer within ${meaningMs} ms` }
      log?.warn(
        { agentId, embeddingModel, ...(inTime.aborted ? late : loggableFailure(error)) },
        'query embedding failed: searching by words only',
      )
      return undefined
    }
  }

  async function searchBoth(asked: KnowledgeQuery, state: KnowledgeState): Promise<FoundChunk[]> {
    const { agentId, query, limit, language, embeddingModel } = asked
    const languages = [...new Set([language, ...state.languages])]
    const depth = embeddings && embeddingModel !== null ? Math.max(limit, minFused) : limit
    const byWords = store.read.searchChunks({ agentId, query, limit: depth, languages })
    const [words, meaning] = await Promise.all([byWords, searchMeaning(asked, state)])
    if (!meaning) return words.slice(0, limit)
    const best = fuse([words.map(({ chunkId }) => chunkId), meaning]).slice(0, depth)
    const found = new Map(words.map((chunk) => [chunk.chunkId, chunk]))
    const missing = best.map(({ id }) => id).filter((id) => !found.has(id))
    // A chunk that was deleted after its vector was read is missing from the answer.
    for (const chunk of missing.length > 0 ? await store.read.readChunks({ agentId, chunkIds: missing }) : [])
      found.set(chunk.chunkId, chunk)
    return best.flatMap(({ id, score }) => (found.has(id) ? [{ ...found.get(id)!, score }] : [])).slice(0, limit)
  }

  return {
    async index({ text, ...document }) {
      await store.write.indexDocument({ ...document, text, chunks: chunkDocument(text) })
    },

    async search(asked) {
      asked.signal?.throwIfAborted()
      if (asked.maxTokens <= 0) return []
      const state = await stateOf(asked.agentId)
      if (state.documents === 0) return []
      let left = asked.maxTokens
      const found = await searchBoth(asked, state)
      return found
        .map(({ documentId, title, section, text, score }): Passage => ({ documentId, title, section, text, score }))
        .filter((passage) => {
          const fits = passageTokens(passage) <= left
          if (fits) left -= passageTokens(passage)
          else asked.onCut?.(passage)
          return fits
        })
    },

    close: () => vectors.close(),
  }
}
