/**
 * The knowledge base of an agent: what is put in, and what a message brings up. Full text alone; never sees another agent's documents, and
 * never decides what a passage may cost beyond the budget it is given (ruling `billing.hold`).
 */
import type { Store } from '../store/store.ts'
import { chunkDocument } from './knowledge/chunk.ts'
import type { Passage } from './model.ts'
import { SharedReads } from './shared-reads.ts'
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

// How old the knowledge whether an agent has documents may be: what another process puts in is found within this time.
const knownForMs = 1000
// Agents in use within one second; more of them are read again.
const mostKnown = 10_000

export function createKnowledge({ store }: { store: Store }): Knowledge {
  /** Whether an agent has documents, and when that was read: most turns of most agents need no search. */
  const known = new Map<string, { has: boolean; readAt: number }>()
  const reads = new SharedReads<boolean>()
  let changes = 0
  store.onChange(() => {
    changes++
    known.clear()
    reads.forget()
  })

  async function hasDocuments(agentId: string): Promise<boolean> {
    const found = known.get(agentId)
    if (found && performance.now() - found.readAt < knownForMs) return found.has
    return reads.read(agentId, () => readWhether(agentId))
  }

  async function readWhether(agentId: string): Promise<boolean> {
    const asked = { readAt: performance.now(), changes }
    const has = await store.read('hasDocuments', agentId)
    if (known.size >= mostKnown) known.clear()
    // What was read before a change is not kept after it.
    if (asked.changes === changes) known.set(agentId, { has, readAt: asked.readAt })
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
