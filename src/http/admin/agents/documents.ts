/** The admin routes for the documents of an agent and for searching them. */
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { AdminCalls } from '../../../admin/admin.ts'
import { warningMessage } from '../../../document-warnings.ts'
import { invalid } from '../../../errors.ts'
import { Chunk, Document as DocumentAnswer, Found, documentStatuses } from './agent-answers.ts'
import { about, accepted, answers, gone, pageOf } from '../answers.ts'
import { idGiven, AgentParams, PageQuery, pageQuery, readPage, wellFormed, writePage, writeTime, writeTimeOrNull } from '../fields.ts'
import { receiveUploads } from './document-upload.ts'
import { Type } from '../../edge/schema.ts'
import type { TypedRoutes } from '../../edge/typed-routes.ts'

type Document = Awaited<ReturnType<AdminCalls['findDocument']>>
type Part = Awaited<ReturnType<AdminCalls['listChunks']>>['data'][number]
type Passage = Awaited<ReturnType<AdminCalls['searchDocuments']>>[number]
type Source = Parameters<AdminCalls['createDocument']>[1]

const closed = { additionalProperties: false } as const

const File = Type.String({
  format: 'binary',
  description: 'multipart/form-data only. One file of at most 20 MiB: md, txt, html, pdf or docx, recognized by its name or content type.',
})
const textExample = { title: 'Shipping and returns', text: '# Returns\n\nGoods may be returned within 30 days.' }
// A JSON body is at most 1 MiB, a file at most 20 MiB.
const DocumentBody = Type.Object(
  {
    title: Type.Optional(
      Type.String({
        ...wellFormed({ minLength: 1, maxLength: 500 }),
        description: 'Title shown in citations and search results. Required with `text`.',
      }),
    ),
    text: Type.Optional(
      Type.String({ ...wellFormed({ minLength: 1, maxLength: 1_000_000 }), description: 'JSON only. Markdown or plain text.' }),
    ),
    url: Type.Optional(
      Type.String({
        ...wellFormed({ minLength: 1, maxLength: 2000 }),
        description: 'JSON only. An https URL, which the service fetches once.',
      }),
    ),
    file: Type.Optional(File),
  },
  {
    ...closed,
    description: 'Exactly one of `text`, `url` and `file`.',
  },
)
const { file: _, ...ofJson } = DocumentBody.properties
/** For the description: the fields of each media type. One schema validates both, so that each wrong combination gets its own message. */
export const documentBodies = {
  content: {
    'application/json': { schema: Type.Object(ofJson, { ...closed, examples: [textExample], description: 'Either `text` or `url`.' }) },
    'multipart/form-data': {
      schema: Type.Object(
        { title: ofJson.title, file: File },
        { ...closed, examples: [{ title: 'Shipping and returns', file: '# Returns' }] },
      ),
    },
  },
}
const DocumentQuery = Type.Object(
  {
    ...pageQuery,
    status: Type.Optional(Type.Enum([...documentStatuses], { description: 'Only documents with this status.' })),
  },
  closed,
)
const DocumentParams = Type.Object({ ...AgentParams.properties, document_id: idGiven('doc', 'Id of the document.') })
// Several pages of text. A search is a question, a message or a few words.
const SearchBody = Type.Object(
  {
    query: wellFormed({ minLength: 1, maxLength: 32_000 }),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 50,
        description: 'Maximum number of passages. Default: what fits the `top_k` and `max_tokens` of the agent.',
      }),
    ),
  },
  { ...closed, examples: [{ query: 'How long may goods be returned?', limit: 3 }] },
)

const consumes = ['application/json', 'multipart/form-data']
const failures = ['validation_error', 'not_found', 'conflict', 'payload_too_large'] as const

/** The routes that accept a file. */
export const uploadRoutes: TypedRoutes = async (app) => {
  await receiveUploads(app)

  app.post(
    '/agents/:id/documents',
    {
      config: { takesFile: true },
      schema: {
        ...about(
          'Knowledge',
          'createDocument',
          'Add a document',
          'Send a file as multipart/form-data, or a text or URL as JSON. Returns immediately. Searches find the document when its `status` is `ready`.',
        ),
        consumes,
        params: AgentParams,
        body: DocumentBody,
        response: accepted(DocumentAnswer, ...failures),
      },
    },
    async (request, reply) => {
      const source = readSource(request.body, request)
      return reply.code(202).send(writeDocument(await request.admin.createDocument(request.params.id, source)))
    },
  )

  app.put(
    '/agents/:id/documents/:document_id',
    {
      config: { takesFile: true },
      schema: {
        ...about(
          'Knowledge',
          'replaceDocument',
          'Replace a document',
          'Takes the same body as adding a document. The id stays the same. Searches find the old content until the new content is ready.',
        ),
        consumes,
        params: DocumentParams,
        body: DocumentBody,
        response: accepted(DocumentAnswer, ...failures),
      },
    },
    async (request, reply) => {
      const { id, document_id: documentId } = request.params
      const source = readSource(request.body, request)
      return reply.code(202).send(writeDocument(await request.admin.replaceDocument(id, documentId, source)))
    },
  )
}

export const documentRoutes: TypedRoutes = async (app) => {
  app.get(
    '/agents/:id/documents',
    {
      schema: {
        ...about(
          'Knowledge',
          'listDocuments',
          'List the documents of an agent, newest first',
          'Each document includes its status, what was not read of it and, if indexing failed, the reason.',
        ),
        params: AgentParams,
        querystring: DocumentQuery,
        response: answers(pageOf(DocumentAnswer), 'not_found'),
      },
    },
    async ({ admin, params, query }) => writePage(await admin.listDocuments(params.id, readPage(query), query.status), writeDocument),
  )

  app.get(
    '/agents/:id/documents/:document_id',
    {
      schema: {
        ...about('Knowledge', 'findDocument', 'Get a document', 'The status is queued, indexing, ready, or failed with a reason.'),
        params: DocumentParams,
        response: answers(DocumentAnswer, 'not_found'),
      },
    },
    async ({ admin, params }) => writeDocument(await admin.findDocument(params.id, params.document_id)),
  )

  app.get(
    '/agents/:id/documents/:document_id/chunks',
    {
      schema: {
        ...about(
          'Knowledge',
          'listChunks',
          'List the chunks of a document',
          'Returns the text that searches can find, in the order of the document. The list is empty until the document is indexed.',
        ),
        params: DocumentParams,
        querystring: PageQuery,
        response: answers(pageOf(Chunk), 'not_found'),
      },
    },
    async ({ admin, params, query }) => writePage(await admin.listChunks(params.id, params.document_id, readPage(query)), writeChunk),
  )

  app.delete(
    '/agents/:id/documents/:document_id',
    {
      schema: {
        ...about(
          'Knowledge',
          'deleteDocument',
          'Delete a document',
          'Searches no longer find it. Deleting it again returns 404 `not_found`. Also works for an agent that was deleted, whose documents are deleted within minutes anyway.',
        ),
        params: DocumentParams,
        response: gone('not_found'),
      },
    },
    async ({ admin, params }, reply) => {
      await admin.deleteDocument(params.id, params.document_id)
      return reply.code(204).send()
    },
  )

  app.post(
    '/agents/:id/search',
    {
      schema: {
        ...about(
          'Knowledge',
          'searchDocuments',
          'Search the documents of an agent',
          'Returns the passages that the agent would get for this text, best first.',
        ),
        params: AgentParams,
        body: SearchBody,
        response: answers(Found, 'not_found'),
      },
    },
    async (request) => ({ data: (await request.admin.searchDocuments(request.params.id, request.body)).map(writePassage) }),
  )
}

/** Throws ApiError `validation_error` unless the body has exactly one source. */
function readSource({ title, text, url, file }: Static<typeof DocumentBody>, { upload }: Pick<FastifyRequest, 'upload'>): Source {
  if (upload) return { kind: 'file', ...upload, title }
  if (file !== undefined) throw invalid('file', 'Send a file as multipart/form-data.')
  if (text !== undefined && url !== undefined) throw invalid('url', 'Send either text or url, not both.')
  if (url !== undefined) return { kind: 'url', url, title }
  if (text === undefined) throw invalid('text', 'Send text or url, or a file as multipart/form-data.')
  if (title === undefined) throw invalid('title', 'title is required with text.')
  return { kind: 'text', title, text }
}

const writeDocument = (document: Document): Static<typeof DocumentAnswer.ref> => ({
  id: document.id,
  agent_id: document.agentId,
  title: document.title,
  source: document.source,
  file_name: document.fileName,
  media_type: document.mediaType,
  url: document.url,
  status: document.status,
  reason: document.reason,
  progress: document.progress,
  chunks: document.chunks,
  warnings: document.warnings.map(writeWarning),
  bytes: document.bytes,
  source_sha256: document.sha256,
  created_at: writeTime(document.createdAt),
  updated_at: writeTime(document.updatedAt),
  indexed_at: writeTimeOrNull(document.indexedAt),
  waits_until: writeTimeOrNull(document.waitsUntil),
})

const writeWarning = (warning: Document['warnings'][number]): Static<typeof DocumentAnswer.ref>['warnings'][number] => ({
  kind: warning.kind,
  count: warning.count,
  message: warningMessage(warning),
})

const writeChunk = ({ position, section, text }: Part): Static<typeof Chunk.ref> => ({
  position,
  ...(section === '' ? {} : { section }),
  text,
})

/** Includes `section` only if the passage is under a heading. */
const writePassage = ({ documentId, title, section, text, score }: Passage): Static<typeof Found.ref>['data'][number] => ({
  document_id: documentId,
  title,
  ...(section === '' ? {} : { section }),
  text,
  score,
})
