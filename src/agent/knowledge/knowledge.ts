/**
 * The knowledge base of an agent: what is put in, and what a message brings up, by its words always and by its meaning where the agent names an
 * embedding model; the two lists are fused by reciprocal rank. Never sees another agent's documents, never lets an embedding provider cost a
 * turn more than two seconds, and never decides what a passage may cost beyond the budget it is given (ruling `billing.hold`).
 */
import type { Logger } from 'pino'
import type { FoundChunk } from '../../store/queries/knowledge/knowledge.ts'
import type { KnowledgeState } from '../../store/queries/knowledge/knowledge-state.ts'
import type { Store } from '../../store/store.ts'
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
  /** Any text: words, a question, a whole message. */
  query: string
  /** The most passages. */
  limit: number
  /** The budget of all passages together, in tokens (`passageTokens`). */
  maxTokens: number
  /** Of the agent's texts; null: English. */
  language: string | null
  /** `<provider>/<model id>`; null: words alone. */
  embeddingModel: string | null
  /** Ends the search with its reason. */
  signal?: AbortSignal
}

/** Both reject with StoreUnavailable. */
export interface Knowledge {
  /** Puts a document in, in place of what was there under its id. */
  index(document: KnowledgeDocument): Promise<void>
  /** The best passages first; one that does not fit what is left of the budget is passed over for a shorter one. */
  search(query: KnowledgeQuery): Promise<Passage[]>
  close(): Promise<void>
}

export type KnowledgeOptions = { store: Store; embeddings?: Embeddings; log?: Pick<Logger, 'warn'> }

// How old the knowledge of what an agent has may be: what another process puts in is found within this time.
const knownForMs = 1000
// Agents in use within one second; more of them are read again.
const maxKnown = 10_000
// A turn waits for its passages before its model is asked: providers answer a short text in a tenth of this.
const meaningMs = 2000
// Of each list: deeper ones let what both find far down push out what one of them finds first (0.67 against 0.64, docs/decisions/0019-retrieval.md).
const minFused = 10

export function createKnowledge({ store, embeddings, log }: KnowledgeOptions): Knowledge {
  const vectors = createVectorSearch({ store, log })
  /** What an agent has, and when that was read: most turns of most agents need no search. */
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
    const state = await store.read('knowledgeState', agentId)
    if (known.size >= maxKnown) known.clear()
    // What was read before a change is not kept after it.
    if (asked.changes === changes) known.set(agentId, { state, readAt: asked.readAt })
    return state
  }

  /** By meaning, best first; undefined where that cannot be had now, which costs the turn nothing but these. */
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
      const cause = inTime.aborted ? `no answer within ${meaningMs} ms` : error instanceof Error ? error.message : String(error)
      log?.warn({ agentId, embeddingModel, cause }, 'a search goes by words alone')
      return undefined
    }
  }

  async function searchBoth(asked: KnowledgeQuery, state: KnowledgeState): Promise<FoundChunk[]> {
    const { agentId, query, limit, language, embeddingModel } = asked
    const languages = [...new Set([language, ...state.languages])]
    const depth = embeddings && embeddingModel !== null ? Math.max(limit, minFused) : limit
    const byWords = store.read('searchChunks', { agentId, query, limit: depth, languages })
    const [words, meaning] = await Promise.all([byWords, searchMeaning(asked, state)])
    if (!meaning) return words.slice(0, limit)
    const best = fuse([words.map(({ chunkId }) => chunkId), meaning]).slice(0, depth)
    const found = new Map(words.map((chunk) => [chunk.chunkId, chunk]))
    const missing = best.map(({ id }) => id).filter((id) => !found.has(id))
    // What was deleted since its vector was read is not there any more.
    for (const chunk of missing.length > 0 ? await store.read('readChunks', { agentId, chunkIds: missing }) : [])
      found.set(chunk.chunkId, chunk)
    return best.flatMap(({ id, score }) => (found.has(id) ? [{ ...found.get(id)!, score }] : [])).slice(0, limit)
  }

  return {
    async index({ text, ...document }) {
      await store.write('indexDocument', { ...document, text, chunks: chunkDocument(text) })
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
          return fits
        })
    },

    close: () => vectors.close(),
  }
}
