/**
 * How a document comes to be found: claimed by one process at a time, written in chunks of a generation of its own, and shown in one
 * transaction when all of them are there. A generation is the fence of the claim that wrote it. Whoever was claimed past writes nothing more.
 */
import { createHash } from 'node:crypto'
import type { Row, Sql } from '../../sql.ts'
import { addToIndex } from './chunk-terms.ts'
import { integer, text, textOrNull } from '../columns.ts'
import { documentColumns, indexedAsNow, partsOf, putContentPart, putDocument, readDocument } from './documents.ts'
import type { IndexedAs, StoredDocument } from './documents.ts'
import { discardGenerations, openBase, touchBase } from './knowledge-state.ts'

export type ClaimedDocument = StoredDocument & {
  contentId: string | null
  fence: number
  /** Which try this is, 1 to 3. */
  attempt: number
  /** Of the agent's present version: what the chunks are to be made for. */
  knowledge: IndexedAs
}

/** `headings`: the way to the chunk, as `Returns › Deadlines`; `vector` is stored in unit length. */
export type NewChunk = { headings: string; text: string; vector: Float32Array | null }

export type ChunksToAdd = {
  documentId: string
  fence: number
  /** The place of the first of them in the document. */
  from: number
  chunks: NewChunk[]
}

export type FinishedDocument = {
  documentId: string
  fence: number
  title: string
  bytes: number
  /** How many were added. */
  chunks: number
} & IndexedAs

/** A small text that is indexed at once, for the first start and for tests. */
export type IndexedDocument = {
  documentId: string
  agentId: string
  title: string
  /** Kept as the document's content too, so that it can be indexed anew. */
  text: string
  chunks: { headings: string; text: string }[]
}

// A crash may be the machine's, a second one too; a document that ended three processes would end the next.
const maxAttempts = 3

/** The oldest that is queued, or whose indexing stopped being heard of; undefined where there is nothing to do. */
export async function claimDocument(
  sql: Sql,
  { holder, leaseMs }: { holder: string; leaseMs: number },
): Promise<ClaimedDocument | undefined> {
  const now = await sql.now()
  for (;;) {
    const [row] = await sql.all(
      `select ${documentColumns}, d.content_id, d.fence, d.attempt from documents d join agents a on a.id = d.agent_id
       where (d.status = 'queued' or (d.status = 'indexing' and d.lease_until <= $1)) and d.deleted_at is null and a.deleted_at is null
       order by d.updated_at, d.id limit 1 ${sql.engine === 'postgres' ? 'for update of d skip locked' : ''}`,
      now,
    )
    if (!row) return undefined
    const id = text(row, 'id')
    await discardGenerations(sql, id, 'unfinished')
    if (integer(row, 'attempt') === maxAttempts) {
      await endIndexing(sql, id, 'Indexing was begun three times and never came to its end.')
      continue
    }
    return takeDocument(sql, row, { holder, leaseUntil: now + leaseMs })
  }
}

async function takeDocument(sql: Sql, row: Row, { holder, leaseUntil }: { holder: string; leaseUntil: number }): Promise<ClaimedDocument> {
  const document = readDocument(row)
  const [fence, attempt] = [integer(row, 'fence') + 1, integer(row, 'attempt') + 1]
  const knowledge = (await indexedAsNow(sql, document.agentId)) ?? { language: null, embeddingModel: null }
  await sql.run(
    `update documents set status = 'indexing', progress = 0, reason = null, attempt = $1, fence = $2, holder = $3, lease_until = $4,
       next_language = $5, next_embedding_model = $6 where id = $7`,
    attempt,
    fence,
    holder,
    leaseUntil,
    knowledge.language,
    knowledge.embeddingModel,
    document.id,
  )
  return { ...document, status: 'indexing', progress: 0, reason: null, contentId: textOrNull(row, 'content_id'), fence, attempt, knowledge }
}

async function endIndexing(sql: Sql, id: string, reason: string): Promise<void> {
  await sql.run(
    `update documents set status = 'failed', reason = $1, progress = null, holder = null, lease_until = null, updated_at = $2 where id = $3`,
    reason,
    await sql.now(),
    id,
  )
}

/** Renews the lease; false where the document is no longer this claim's, and then nothing was written. */
export async function reportProgress(
  sql: Sql,
  { documentId, fence, progress, leaseMs }: { documentId: string; fence: number; progress: number; leaseMs: number },
): Promise<boolean> {
  const renewed = await sql.run(
    `update documents set progress = $1, lease_until = $2 where id = $3 and fence = $4 and status = 'indexing'`,
    Math.max(0, Math.min(100, Math.round(progress))),
    (await sql.now()) + leaseMs,
    documentId,
    fence,
  )
  return renewed === 1
}

/** A few dozen at once; nobody finds them before `finishDocument`. False as for `reportProgress`. */
export async function addChunks(sql: Sql, { documentId, fence, from, chunks }: ChunksToAdd): Promise<boolean> {
  const [held] = await findHeld(sql, documentId, fence)
  if (!held) return false
  const agentId = text(held, 'agent_id')
  const of = { documentId, agentId, generation: fence, title: text(held, 'title'), language: textOrNull(held, 'next_language') }
  const { number } = await openBase(sql, agentId)
  const placed = chunks.map((chunk, index) => ({ ...chunk, position: from + index, vector: chunk.vector && unitLength(chunk.vector) }))
  await addToIndex(sql, number, of, placed)
  return true
}

const findHeld = (sql: Sql, documentId: string, fence: number): Promise<Row[]> =>
  sql.all(
    `select agent_id, title, generation, next_language, next_embedding_model from documents
     where id = $1 and fence = $2 and status = 'indexing' and deleted_at is null`,
    documentId,
    fence,
  )

/**
 * The document is ready: what was added is found from now on, and what served before no more, both at once. `language` and `embeddingModel` are
 * what the chunks were made with: the claim's, or no model where none was to be had. False as for `reportProgress`.
 */
export async function finishDocument(sql: Sql, finished: FinishedDocument): Promise<boolean> {
  const { documentId, fence, title, bytes, chunks, language, embeddingModel } = finished
  const [held] = await findHeld(sql, documentId, fence)
  // Asked again after an answer that was lost: it is done.
  if (!held)
    return (await sql.all(`select 1 as one from documents where id = $1 and generation = $2 and fence = $2`, documentId, fence)).length > 0
  if (language !== textOrNull(held, 'next_language')) throw new Error(`document ${documentId} was claimed for another language`)
  const agentId = text(held, 'agent_id')
  await discardGenerations(sql, documentId, 'serving')
  const revision = await touchBase(sql, agentId, { documents: 0 })
  const now = await sql.now()
  await sql.run(
    `update documents set status = 'ready', title = $1, serving_title = $1, bytes = $2, chunks = $3, generation = $4, language = $5, embedding_model = $6,
       progress = null, reason = null, holder = null, lease_until = null, indexed_at = $7, updated_at = $7, revision = $8 where id = $9`,
    title,
    bytes,
    chunks,
    fence,
    language,
    embeddingModel,
    now,
    revision,
    documentId,
  )
  return true
}

/** What served before goes on serving. False as for `reportProgress`. */
export async function failDocument(
  sql: Sql,
  { documentId, fence, reason }: { documentId: string; fence: number; reason: string },
): Promise<boolean> {
  const [held] = await findHeld(sql, documentId, fence)
  if (!held) return false
  await discardGenerations(sql, documentId, 'unfinished')
  await endIndexing(sql, documentId, reason)
  return true
}

/** Writes a document and its chunks at once, in place of what was there under its id. Throws where the id belongs to another agent. */
export async function indexDocument(sql: Sql, { documentId, agentId, title, text: content, chunks }: IndexedDocument): Promise<void> {
  const bytes = Buffer.byteLength(content)
  const contentId = contentOf(documentId)
  await putContent(sql, contentId, Buffer.from(content))
  const given = {
    id: documentId,
    agentId,
    title,
    bytes,
    source: 'text',
    mediaType: null,
    fileName: null,
    url: null,
    contentId,
    sha256: createHash('sha256').update(content).digest('hex'),
  } as const
  const outcome = await putDocument(sql, given)
  if (outcome === 'document_not_found') throw new Error(`document ${documentId} belongs to another agent`)
  if (outcome !== 'put') throw new Error(`document ${documentId} cannot be put in: ${outcome}`)
  const [row] = await sql.all(`select ${documentColumns}, d.content_id, d.fence, d.attempt from documents d where d.id = $1`, documentId)
  const { fence, knowledge } = await takeDocument(sql, row!, { holder: 'indexed at once', leaseUntil: 0 })
  await addChunks(sql, { documentId, fence, from: 0, chunks: chunks.map((chunk) => ({ ...chunk, vector: null })) })
  const made = { documentId, fence, title, bytes, chunks: chunks.length, language: knowledge.language, embeddingModel: null }
  await finishDocument(sql, made)
}

/** The same for the same document, so that the same text put in again is stored once. */
const contentOf = (documentId: string): string => `cnt_${documentId.slice(documentId.indexOf('_') + 1)}`

async function putContent(sql: Sql, contentId: string, content: Buffer): Promise<void> {
  await sql.run('delete from content_parts where content_id = $1', contentId)
  for (const part of partsOf(contentId, content)) await putContentPart(sql, part)
}

/** Of length 1, so that a product of two is the cosine of their angle; null where there is no direction. */
function unitLength(vector: Float32Array): Float32Array | null {
  const length = Math.hypot(...vector)
  return Number.isFinite(length) && length > 0 ? vector.map((value) => value / length) : null
}
