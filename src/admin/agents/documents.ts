/**
 * The documents of an agent's knowledge base: add, replace, list, delete, and search as the agent does, with the same words and the same
 * budget. Content is stored as received; the indexer reads it later.
 */
import { createHash } from 'node:crypto'
import type { Guard } from '../../agent/guard/guard.ts'
import { knowledgeBudget } from '../../agent/prompt.ts'
import type { Knowledge } from '../../agent/knowledge/knowledge.ts'
import type { Passage } from '../../agent/models/model.ts'
import { ApiError, invalid } from '../../errors.ts'
import type { Ids } from '../../ids.ts'
import { partsOf } from '../../store/queries/knowledge/content.ts'
import { maxDocuments } from '../../store/queries/knowledge/documents.ts'
import type { StoredDocument } from '../../store/queries/knowledge/documents.ts'
import type { DocumentChunk } from '../../store/queries/knowledge/knowledge.ts'
import { pageOf, pageRequest, placedPageOf, placedRequest } from '../../store/queries/paging.ts'
import type { Page, PageWanted } from '../../store/queries/paging.ts'
import type { AdminStore, PerRequest } from '../admin-store.ts'
import { fieldsOf } from './agent-fields.ts'
import { mediaTypeOf, takenKinds } from './document-kinds.ts'

export type Document = StoredDocument

/** A document to add. The default `title` is the file name or the URL, until the indexer finds a better one. */
export type DocumentSource =
  | { kind: 'file'; fileName: string; contentType: string; bytes: Uint8Array; title?: string | undefined }
  | { kind: 'text'; title: string; text: string }
  | { kind: 'url'; url: string; title?: string | undefined }

export type SearchWish = { query: string; limit?: number | undefined }

/** Each throws ApiError `not_found` if the agent or its document does not exist. A document of another agent does not exist. */
export type DocumentsAdmin = {
  /**
   * Resolves when the document is queued. Throws ApiError `validation_error` for a kind of file that is not supported, or an invalid URL,
   * and `conflict` if the agent has too many documents, or if too many of its owner wait to be indexed.
   */
  createDocument(agentId: string, source: DocumentSource): Promise<Document>
  /** The previous content can be found until the new one is ready. Throws as `createDocument`. */
  replaceDocument(agentId: string, id: string, source: DocumentSource): Promise<Document>
  /** Newest first. Without `status`, of every status. */
  listDocuments(agentId: string, page: PageWanted, status?: Document['status']): Promise<Page<Document>>
  findDocument(agentId: string, id: string): Promise<Document>
  /** What searches can find of it now, in the order of the document. Empty until it is indexed for the first time. */
  listChunks(agentId: string, id: string, page: PageWanted): Promise<Page<DocumentChunk>>
  /** Hides it from searches immediately. Works for a deleted agent, too, whose documents the store deletes itself a few minutes later. */
  deleteDocument(agentId: string, id: string): Promise<void>
  /**
   * Without `limit`, returns what a message with these words would add to the prompt; with it, that number of best matches, whatever the
   * budget.
   */
  searchDocuments(agentId: string, wish: SearchWish): Promise<Passage[]>
}

// A queue of small documents has room again within this time, and one of large ones costs few requests.
const queueRetrySeconds = 15

/** Of one owner. `maxQueued`: how many may wait to be indexed. `cpuMs`: the CPU time in which they are read within an hour. */
export type DocumentLimits = { maxQueued: number; cpuMs: number }

type Options = {
  knowledge: Pick<Knowledge, 'search'>
  guard: Pick<Guard, 'refusedAddress'>
  newId: Ids['newId']
  documentLimits: Pick<DocumentLimits, 'maxQueued'>
}

export function createDocumentsAdmin({ knowledge, guard, newId, documentLimits: { maxQueued } }: Options): PerRequest<DocumentsAdmin> {
  async function refuseUnknownAgent(store: AdminStore, agentId: string): Promise<void> {
    if (!(await store.read.findAgent(agentId))) throw noSuchAgent()
  }

  async function stored(store: AdminStore, agentId: string, id: string): Promise<StoredDocument> {
    const document = await store.read.findDocument(agentId, id)
    if (!document) throw noSuchDocument()
    return document
  }

  async function put(store: AdminStore, agentId: string, id: string, source: DocumentSource): Promise<Document> {
    const { bytes, ...described } = describe(source, guard)
    // The parts are written before the row that names them. A crash in between leaves unused parts, which the store deletes.
    const contentId = bytes && (await putContent(store, bytes))
    const content = { contentId: contentId ?? null, bytes: bytes?.length ?? 0, sha256: bytes ? sha256Of(bytes) : null }
    const outcome = await store.write.putDocument({ id, agentId, ...described, ...content, maxQueued })
    switch (outcome) {
      case 'put':
        return stored(store, agentId, id)
      case 'agent_not_found':
        throw noSuchAgent()
      case 'document_not_found':
        throw noSuchDocument()
      case 'limit':
        throw new ApiError('conflict', `This agent has reached the limit of ${maxDocuments} documents. Delete one first.`)
      case 'queue_full':
        throw new ApiError(
          'rate_limit_exceeded',
          `${maxQueued} documents of this owner wait to be indexed, which is the limit (TURNKEEP_MAX_QUEUED_DOCUMENTS). Send this one again later, as Retry-After says.`,
          { retryAfterSeconds: queueRetrySeconds },
        )
    }
  }

  async function putContent(store: AdminStore, bytes: Uint8Array): Promise<string> {
    const contentId = newId('cnt')
    for (const part of partsOf(contentId, bytes)) await store.write.putContentPart(part)
    return contentId
  }

  return {
    async createDocument({ store }, agentId, source) {
      await refuseUnknownAgent(store, agentId)
      return put(store, agentId, newId('doc'), source)
    },

    async replaceDocument({ store }, agentId, id, source) {
      await refuseUnknownAgent(store, agentId)
      await stored(store, agentId, id)
      return put(store, agentId, id, source)
    },

    async listDocuments({ store }, agentId, page, status) {
      await refuseUnknownAgent(store, agentId)
      return pageOf(await store.read.listDocuments(agentId, pageRequest(page), status), page)
    },

    async findDocument({ store }, agentId, id) {
      await refuseUnknownAgent(store, agentId)
      return stored(store, agentId, id)
    },

    async listChunks({ store }, agentId, id, page) {
      await refuseUnknownAgent(store, agentId)
      await stored(store, agentId, id)
      return placedPageOf(await store.read.listChunks({ agentId, documentId: id, ...placedRequest(page) }), page)
    },

    async deleteDocument({ store }, agentId, id) {
      if (await store.write.deleteDocument({ agentId, id })) return
      await refuseUnknownAgent(store, agentId)
      throw noSuchDocument()
    },

    async searchDocuments({ store }, agentId, { query, limit }) {
      const agent = await store.read.findAgent(agentId)
      if (!agent) throw noSuchAgent()
      const { topK, maxTokens, language, embeddingModel } = fieldsOf(agent.present).knowledge
      const asked = limit === undefined ? { limit: topK, maxTokens: knowledgeBudget(maxTokens) } : { limit, maxTokens: Infinity }
      return knowledge.search({ agentId, query, ...asked, language, embeddingModel })
    },
  }
}

type Described = Pick<StoredDocument, 'title' | 'source' | 'mediaType' | 'fileName' | 'url'> & { bytes: Uint8Array | undefined }

function describe(given: DocumentSource, guard: Options['guard']): Described {
  switch (given.kind) {
    case 'file': {
      const { fileName, bytes } = given
      const mediaType = mediaTypeOf(fileName, given.contentType)
      if (mediaType === undefined) throw invalid('file', `file must be one of ${takenKinds}, by its name or content type.`)
      if (bytes.length === 0) throw invalid('file', 'The file is empty.')
      return { title: given.title ?? fileName, source: 'file', mediaType, fileName, url: null, bytes }
    }
    case 'text':
      return { title: given.title, source: 'text', mediaType: null, fileName: null, url: null, bytes: Buffer.from(given.text) }
    case 'url': {
      const refusal = guard.refusedAddress(given.url)
      if (refusal !== undefined) throw invalid('url', `url: ${refusal}.`)
      return { title: given.title ?? given.url, source: 'url', mediaType: null, fileName: null, url: given.url, bytes: undefined }
    }
  }
}

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const noSuchAgent = (): ApiError => new ApiError('not_found', 'This agent does not exist.')
const noSuchDocument = (): ApiError => new ApiError('not_found', 'This document does not exist.')
