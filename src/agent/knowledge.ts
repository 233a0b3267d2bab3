/**
 * The knowledge base of an agent: what is put in, and what a message brings up. Full text alone; never sees another agent's documents, and
 * never decides what a passage may cost beyond the budget it is given (ruling `billing.hold`).
 */
import type { Store } from '../store/store.ts'
import { chunkDocument } from './knowledge/chunk.ts'
import type { Passage } from './model.ts'
import { tokenBound } from './tokens.ts'

export type KnowledgeDocument = { documentId: string; agentId: string; title: string; text: string }

export type KnowledgeQuery = {
  agentId: string
  /** Any text: words, a question, a whole message. */
  query: string
  /** The most passages. */
  limit: number
  /** The budget of all passages together, in tokens (`passageTokens`). */
  maxTokens: number
}

/** Both reject with StoreUnavailable. */
export interface Knowledge {
  /** Puts a document in, in place of what was there under its id. */
  index(document: KnowledgeDocument): Promise<void>
  /** The best passages first; one that does not fit what is left of the budget is passed over for a shorter one. */
  search(query: KnowledgeQuery): Promise<Passage[]>
}

// How old the knowledge that an agent has no documents may be: what another process puts in is found within this time.
const emptyForMs = 1000

export function createKnowledge({ store }: { store: Store }): Knowledge {
  /** Agents without a document, and when that was read: most turns of most agents need no search. */
  const empty = new Map<string, number>()
  let changes = 0
  store.onChange(() => {
    changes++
    empty.clear()
  })

  async function hasDocuments(agentId: string): Promise<boolean> {
    const readAt = empty.get(agentId)
    if (readAt !== undefined && performance.now() - readAt < emptyForMs) return false
    const asked = { at: performance.now(), changes }
    const has = await store.read('hasDocuments', agentId)
    // What was read before a change is not kept after it.
    if (!has && asked.changes === changes) empty.set(agentId, asked.at)
    return has
  }

  return {
    async index({ text, ...document }) {
      await store.write('indexDocument', { ...document, bytes: Buffer.byteLength(text), chunks: chunkDocument(text) })
    },

    async search({ agentId, query, limit, maxTokens }) {
      if (maxTokens <= 0 || !(await hasDocuments(agentId))) return []
      let left = maxTokens
      return (await store.read('searchChunks', { agentId, query, limit })).filter((passage) => {
        const fits = passageTokens(passage) <= left
        if (fits) left -= passageTokens(passage)
        return fits
      })
    },
  }
}

/** The bound of a passage as the prompt writes it: title, text, and three tokens for the brackets and line breaks around them. */
export function passageTokens({ title, text }: Passage): number {
  return tokenBound(title + text) + 3
}
