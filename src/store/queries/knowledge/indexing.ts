/**
 * Indexes documents: one process at a time claims a document, writes its chunks as a new generation, and makes all of them searchable in
 * one transaction. A generation is the fence of the claim that wrote it. A process whose claim was taken over can no longer write.
 */
import { createHash } from 'node:crypto'
import type { DocumentWarning } from '../../../document-warnings.ts'
import type { Row, Sql } from '../../sql.ts'
import { addToIndex } from './chunk-terms.ts'
import { integer, text, textOrNull } from '../columns.ts'
import { documentColumns, indexedAsNow, putDocument, readDocument } from './documents.ts'
import { partsOf, putContentPart } from './content.ts'
import type { IndexedAs, StoredDocument } from './documents.ts'
import { findNext } from './indexing-queue.ts'
import { discardGenerations, openBase, touchBase } from './knowledge-state.ts'
import { termsVersion } from './terms.ts'
import { recordEvent } from '../webhooks/events.ts'
import { serviceWrite } from '../operation.ts'

export type ClaimedDocument = StoredDocument & {
  contentId: string | null
  ownerId: string
  fence: number
  /** The number of this attempt, 1 to 3. */
  attempt: number
  /** From the agent's current version: the settings for the new chunks. */
  knowledge: IndexedAs
}

/** `headings`: the headings above the chunk, such as `Returns › Deadlines`. `vector` is stored with unit length. */
export type NewChunk = { headings: string; text: string; vector: Float32Array | null }

export type ChunksToAdd = {
  documentId: string
  fence: number
  /** As `finishDocument` will store it: its words count as headings of each chunk. */
  title: string
  /** The position of the first one in the document. */
  from: number
  chunks: NewChunk[]
}

export type FinishedDocument = {
  documentId: string
  fence: number
  title: string
  bytes: number
  /** The number of chunks that were added. */
  chunks: number
  /** What was not read. Default: nothing was left out. */
  warnings?: DocumentWarning[]
} & IndexedAs

/** A small text that is indexed immediately, for the first start and for tests. */
export type IndexedDocument = {
  documentId: string
  agentId: string
  title: string
  /** Also stored as the document's content, so that it can be indexed again. */
  text: string
  chunks: { headings: string; text: string }[]
}

// A crash may be caused by the machine, even a second one. A document that has crashed three processes would crash the next one.
const maxAttempts = 3

/**
 * Claims a document that is queued or whose lease has expired. Owners take turns: first an owner with the fewest documents in work, then the
 * one that was served longest ago, then the one whose document has waited longest. An owner that has used up its CPU time is left out. `served`: the owners whose documents the caller claimed,
 * the latest last. Undefined if there is nothing to index.
 */
async function claimDocument(
  sql: Sql,
  { holder, leaseMs, served = [] }: { holder: string; leaseMs: number; served?: string[] },
): Promise<ClaimedDocument | undefined> {
  const now = await sql.now()
  for (;;) {
    const row = await findNext(sql, now, served)
    if (!row) return undefined
    const id = text(row, 'id')
    await discardGenerations(sql, id, 'unfinished')
    if (integer(row, 'attempt') === maxAttempts) {
      await endIndexing(sql, id, 'Indexing was started three times and never finished.')
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
  const [contentId, ownerId] = [textOrNull(row, 'content_id'), text(row, 'owner_id')]
  return { ...document, status: 'indexing', progress: 0, reason: null, contentId, ownerId, fence, attempt, knowledge }
}

async function endIndexing(sql: Sql, id: string, reason: string): Promise<void> {
  await sql.run(
    `update documents set status = 'failed', reason = $1, progress = null, holder = null, lease_until = null, updated_at = $2 where id = $3`,
    reason,
    await sql.now(),
    id,
  )
  await recordIndexed(sql, 'document.failed', id)
}

/** The end of one indexing: a document that is replaced or indexed again has another fence. */
async function recordIndexed(sql: Sql, type: 'document.ready' | 'document.failed', id: string): Promise<void> {
  const [row] = await sql.all('select d.fence, a.id, a.owner_id from documents d join agents a on a.id = d.agent_id where d.id = $1', id)
  const subject = `${id}_${integer(row!, 'fence')}`
  await recordEvent(sql, { type, subject, ownerId: text(row!, 'owner_id'), agentId: text(row!, 'id') })
}

/** Renews the lease. Returns false, without writing, if the claim was lost. */
async function reportProgress(
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

/** A few dozen at once. They are not found before `finishDocument`. Returns false as `reportProgress`. */
async function addChunks(sql: Sql, { documentId, fence, title, from, chunks }: ChunksToAdd): Promise<boolean> {
  const [held] = await findHeld(sql, documentId, fence)
  if (!held) return false
  const agentId = text(held, 'agent_id')
  const of = { documentId, agentId, generation: fence, title, language: textOrNull(held, 'next_language') }
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
 * Finishes a document: from now on the added chunks are found and the previous ones are not, in one step. `language` and `embeddingModel`
 * are what the chunks were made with: those of the claim, or no model if none was available. Returns false as `reportProgress`.
 */
async function finishDocument(sql: Sql, finished: FinishedDocument): Promise<boolean> {
  const { documentId, fence, title, bytes, chunks, warnings = [], language, embeddingModel } = finished
  const [held] = await findHeld(sql, documentId, fence)
  // Repeated after a lost answer: it was already done.
  if (!held)
    return (await sql.all(`select 1 as one from documents where id = $1 and generation = $2 and fence = $2`, documentId, fence)).length > 0
  if (language !== textOrNull(held, 'next_language')) throw new Error(`document ${documentId} was claimed for another language`)
  const agentId = text(held, 'agent_id')
  await discardGenerations(sql, documentId, 'serving')
  const revision = await touchBase(sql, agentId, { documents: 0 })
  const now = await sql.now()
  await sql.run(
    `update documents set status = 'ready', title = $1, serving_title = $1, bytes = $2, chunks = $3, generation = $4, language = $5, embedding_model = $6,
       progress = null, reason = null, holder = null, lease_until = null, indexed_at = $7, updated_at = $7, revision = $8, warnings = $9,
       terms_version = $10, terms_generation = $4, terms_position = $3 where id = $11`,
    title,
    bytes,
    chunks,
    fence,
    language,
    embeddingModel,
    now,
    revision,
    JSON.stringify(warnings),
    termsVersion,
    documentId,
  )
  await recordIndexed(sql, 'document.ready', documentId)
  return true
}

/** The previous text is still served. Returns false as `reportProgress`. */
async function failDocument(
  sql: Sql,
  { documentId, fence, reason }: { documentId: string; fence: number; reason: string },
): Promise<boolean> {
  const [held] = await findHeld(sql, documentId, fence)
  if (!held) return false
  await discardGenerations(sql, documentId, 'unfinished')
  await endIndexing(sql, documentId, reason)
  return true
}

/** Writes a document and its chunks at once and replaces an existing document with its ID. Throws if the ID belongs to another agent. */
async function indexDocument(sql: Sql, { documentId, agentId, title, text: content, chunks }: IndexedDocument): Promise<void> {
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
  const [row] = await sql.all(
    `select ${documentColumns}, d.content_id, d.fence, d.attempt, a.owner_id from documents d join agents a on a.id = d.agent_id where d.id = $1`,
    documentId,
  )
  const { fence, knowledge } = await takeDocument(sql, row!, { holder: 'indexed at once', leaseUntil: 0 })
  await addChunks(sql, { documentId, fence, title, from: 0, chunks: chunks.map((chunk) => ({ ...chunk, vector: null })) })
  const made = { documentId, fence, title, bytes, chunks: chunks.length, language: knowledge.language, embeddingModel: null }
  await finishDocument(sql, made)
}

/** The same ID for the same document, so that the same text is stored once. */
const contentOf = (documentId: string): string => `cnt_${documentId.slice(documentId.indexOf('_') + 1)}`

async function putContent(sql: Sql, contentId: string, content: Buffer): Promise<void> {
  await sql.run('delete from content_parts where content_id = $1', contentId)
  for (const part of partsOf(contentId, content)) await putContentPart(sql, part)
}

/** Scaled to length 1, so that a dot product is the cosine of the angle. Null if all components are 0. */
function unitLength(vector: Float32Array): Float32Array | null {
  const length = Math.hypot(...vector)
  return Number.isFinite(length) && length > 0 ? vector.map((value) => value / length) : null
}

export const indexingWrites = {
  claimDocument: serviceWrite(claimDocument, {
    audit: null,
    changesCaches: false,
    failpoints: ['claim-document.before-commit', 'claim-document.after-commit'],
  }),
  reportProgress: serviceWrite(reportProgress, { audit: null, changesCaches: false }),
  addChunks: serviceWrite(addChunks, {
    audit: null,
    changesCaches: false,
    failpoints: ['add-chunks.before-commit', 'add-chunks.after-commit'],
  }),
  finishDocument: serviceWrite(finishDocument, {
    audit: null,
    changesCaches: true,
    failpoints: ['finish-document.before-commit', 'finish-document.after-commit'],
  }),
  failDocument: serviceWrite(failDocument, { audit: null, changesCaches: false }),
  indexDocument: serviceWrite(indexDocument, { audit: null, changesCaches: true }),
}
