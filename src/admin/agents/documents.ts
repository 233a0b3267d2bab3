/**
 * The documents of an agent's knowledge base: put in, replaced, looked at, taken out, and searched as the agent searches them. What is put in
 * is stored as it came; reading it is the indexer's, later. A search is the agent's own: same words, same budget. Surfaces: /agents/{id}/documents.
 */
import { createHash } from 'node:crypto'
import type { Guard } from '../../agent/guard/guard.ts'
import { knowledgeBudget } from '../../agent/prompt.ts'
import type { Knowledge } from '../../agent/knowledge/knowledge.ts'
import type { Passage } from '../../agent/models/model.ts'
import { ApiError } from '../../errors.ts'
import type { Ids } from '../../ids.ts'
import { maxDocuments, partsOf } from '../../store/queries/knowledge/documents.ts'
import type { StoredDocument } from '../../store/queries/knowledge/documents.ts'
import { pageOf, pageRequest } from '../../store/queries/paging.ts'
import type { Page, PageWanted } from '../../store/queries/paging.ts'
import type { AdminStore } from '../admin-store.ts'
import { fieldsOf } from './agent-fields.ts'
import { mediaTypeOf, takenKinds } from './document-kinds.ts'

export type Document = StoredDocument

/** What is put in. `title` absent: the file's name, or the address, until the indexer finds a better one. */
export type DocumentSource =
  | { kind: 'file'; fileName: string; contentType: string; bytes: Uint8Array; title?: string | undefined }
  | { kind: 'text'; title: string; text: string }
  | { kind: 'url'; url: string; title?: string | undefined }

export type SearchWish = { query: string; limit?: number | undefined }

/** Each throws ApiError `not_found` for an agent, or a document of it, that is not there; another agent's document is not there. */
export type DocumentsAdmin = {
  /** Queued when it resolves. Throws ApiError `validation_error` for a file of a kind that is not taken, or an address; `conflict` where there are too many. */
  createDocument(agentId: string, source: DocumentSource): Promise<Document>
  /** What was found in the former content is found until the new one is ready. Throws as `createDocument`. */
  replaceDocument(agentId: string, id: string, source: DocumentSource): Promise<Document>
  /** Newest first. */
  listDocuments(agentId: string, page: PageWanted): Promise<Page<Document>>
  findDocument(agentId: string, id: string): Promise<Document>
  /** Nothing of it is found from then on. */
  deleteDocument(agentId: string, id: string): Promise<void>
  /** Without `limit` what a message of these words would bring into the prompt; with it so many of the best, whatever the budget. */
  searchDocuments(agentId: string, wish: SearchWish): Promise<Passage[]>
}

type Options = {
  store: AdminStore
  knowledge: Pick<Knowledge, 'search'>
  guard: Pick<Guard, 'refusedAddress'>
  newId: Ids['newId']
}

export function createDocumentsAdmin({ store, knowledge, guard, newId }: Options): DocumentsAdmin {
  async function refuseUnknownAgent(agentId: string): Promise<void> {
    if (!(await store.read.findAgent(agentId))) throw noSuchAgent()
  }

  async function stored(agentId: string, id: string): Promise<StoredDocument> {
    const document = await store.read.findDocument(agentId, id)
    if (!document) throw noSuchDocument()
    return document
  }

  async function put(agentId: string, id: string, source: DocumentSource): Promise<Document> {
    const { bytes, ...described } = describe(source, guard)
    // Its parts are written before the row that names them: a crash between leaves parts that nobody refers to, which the store clears away.
    const contentId = bytes && (await putContent(bytes))
    const content = { contentId: contentId ?? null, bytes: bytes?.length ?? 0, sha256: bytes ? sha256Of(bytes) : null }
    const outcome = await store.write.putDocument({ id, agentId, ...described, ...content })
    switch (outcome) {
      case 'put':
        return stored(agentId, id)
      case 'agent_not_found':
        throw noSuchAgent()
      case 'document_not_found':
        throw noSuchDocument()
      case 'limit':
        throw new ApiError('conflict', `This agent has reached the limit of ${maxDocuments} documents. Delete one first.`)
    }
  }

  async function putContent(bytes: Uint8Array): Promise<string> {
    const contentId = newId('cnt')
    for (const part of partsOf(contentId, bytes)) await store.write.putContentPart(part)
    return contentId
  }

  return {
    async createDocument(agentId, source) {
      await refuseUnknownAgent(agentId)
      return put(agentId, newId('doc'), source)
    },

    async replaceDocument(agentId, id, source) {
      await refuseUnknownAgent(agentId)
      await stored(agentId, id)
      return put(agentId, id, source)
    },

    async listDocuments(agentId, page) {
      await refuseUnknownAgent(agentId)
      return pageOf(await store.read.listDocuments(agentId, pageRequest(page)), page)
    },

    async findDocument(agentId, id) {
      await refuseUnknownAgent(agentId)
      return stored(agentId, id)
    },

    async deleteDocument(agentId, id) {
      await refuseUnknownAgent(agentId)
      if (!(await store.write.deleteDocument({ agentId, id }))) throw noSuchDocument()
    },

    async searchDocuments(agentId, { query, limit }) {
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
      if (mediaType === undefined) throw invalid(`file must be one of ${takenKinds}, by its name or content type.`)
      if (bytes.length === 0) throw invalid('The file is empty.')
      return { title: given.title ?? fileName, source: 'file', mediaType, fileName, url: null, bytes }
    }
    case 'text':
      return { title: given.title, source: 'text', mediaType: null, fileName: null, url: null, bytes: Buffer.from(given.text) }
    case 'url': {
      const refusal = guard.refusedAddress(given.url)
      if (refusal !== undefined) throw invalid(`url: ${refusal}.`)
      return { title: given.title ?? given.url, source: 'url', mediaType: null, fileName: null, url: given.url, bytes: undefined }
    }
  }
}

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const noSuchAgent = (): ApiError => new ApiError('not_found', 'This agent does not exist.')
const noSuchDocument = (): ApiError => new ApiError('not_found', 'This document does not exist.')
const invalid = (message: string): ApiError => new ApiError('validation_error', message)
