/**
 * The documents of an agent's knowledge base as an operator adds and sees them: rows and states. content.ts stores what they contain, and indexing.ts makes them
 * searchable. A replaced document serves its old text until the new one is ready. A deleted document is hidden from every search
 * immediately, and its rows are deleted later in small batches.
 */
import { readWarnings } from '../../../document-warnings.ts'
import type { DocumentWarning } from '../../../document-warnings.ts'
import type { Row, Sql } from '../../sql.ts'
import { integer, integerOrNull, text, textOrNull } from '../columns.ts'
import { discardGenerations, openBase, touchBase } from './knowledge-state.ts'
import type { PageRequest } from '../paging.ts'
import { read, write } from '../operation.ts'
import { ofAgent } from '../scope.ts'
import { deleted, differing } from '../audited-fields.ts'
import type { AuditedFields } from '../audited-fields.ts'

export type DocumentStatus = 'queued' | 'indexing' | 'ready' | 'failed'
export type DocumentSource = 'file' | 'text' | 'url'

export type StoredDocument = {
  id: string
  agentId: string
  title: string
  source: DocumentSource
  mediaType: string | null
  fileName: string | null
  url: string | null
  status: DocumentStatus
  /** Why it failed, for the operator; otherwise null. */
  reason: string | null
  /** 0 to 100 while it is indexed; otherwise null. */
  progress: number | null
  /** Of the text that is served now. */
  chunks: number
  /** What was not read of the text that is served now. */
  warnings: DocumentWarning[]
  /** The size of the file, or of the text in UTF-8. */
  bytes: number
  /** SHA-256 of the content in hex. Null for a URL, and for content that was added before digests were stored. */
  sha256: string | null
  createdAt: number
  updatedAt: number
  indexedAt: number | null
  /** When documents of this owner are indexed again, if it is queued and they have used up their CPU time; otherwise null. */
  waitsUntil: number | null
}

/** The settings of an agent's version that its documents are indexed with. See terms.ts for the languages. */
export type IndexedAs = { language: string | null; embeddingModel: string | null }

export type NewDocument = Pick<StoredDocument, 'id' | 'agentId' | 'title' | 'source' | 'mediaType' | 'fileName' | 'url' | 'bytes'> & {
  /** Undefined: not known. */
  sha256?: string | null
  /** What `putContentPart` stored. Null if the document is fetched from its URL. */
  contentId: string | null
  /** How many documents of one owner may be queued. Default: any number. */
  maxQueued?: number
}

/**
 * `document_not_found`: the ID belongs to another agent. `limit`: the agent has the maximum number of documents. `queue_full`: the owner has
 * the maximum number of queued ones.
 */
export type PutDocumentOutcome = 'put' | 'agent_not_found' | 'document_not_found' | 'limit' | 'queue_full'

/** With this many documents, a search of one agent is still fast. The schema has the same number, as `knowledge_is_bounded`. */
export const maxDocuments = 10_000

/** Adds a document, or queues a new text for an existing one, whose old text is served until the new one is ready. */
export async function putDocument(sql: Sql, document: NewDocument): Promise<PutDocumentOutcome> {
  const { id, agentId, title, source, mediaType, fileName, url, contentId, bytes, sha256 = null, maxQueued } = document
  const [agent] = await sql.all('select 1 as one from agents where id = $1 and deleted_at is null', agentId)
  if (!agent) return 'agent_not_found'
  const [present] = await sql.all('select agent_id, content_id, status, fence, deleted_at from documents where id = $1', id)
  // The rows of a deleted document are still being deleted, so its ID is not used again.
  if (present && (text(present, 'agent_id') !== agentId || present['deleted_at'] !== null)) return 'document_not_found'
  const base = await openBase(sql, agentId)
  if (!present && base.documents >= maxDocuments) return 'limit'
  // `knowledge.bounded`: writes of the admin API run one after another, so that the count is exact. A queued document that is replaced keeps
  // its place.
  const isNew = !present || text(present, 'status') !== 'queued'
  if (maxQueued !== undefined && isNew && (await countQueued(sql, agentId, maxQueued)) >= maxQueued) return 'queue_full'
  const now = await sql.now()
  await sql.run(
    `insert into documents (id, agent_id, title, source, media_type, file_name, url, content_id, bytes, status, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'queued', $10, $10)
     on conflict (id) do update set title = excluded.title, source = excluded.source, media_type = excluded.media_type,
       file_name = excluded.file_name, url = excluded.url, content_id = excluded.content_id, bytes = excluded.bytes, updated_at = excluded.updated_at`,
    id,
    agentId,
    title,
    source,
    mediaType,
    fileName,
    url,
    contentId,
    bytes,
    now,
  )
  if (present) await queueAgain(sql, id)
  else await touchBase(sql, agentId, { documents: 1 })
  const previous = present ? textOrNull(present, 'content_id') : null
  if (previous !== null && previous !== contentId) await letGo(sql, previous)
  if (contentId !== null)
    await sql.run('update contents set document_id = $1, unused_since = null, sha256 = $2 where id = $3', id, sha256, contentId)
  return 'put'
}

/** Returns how many documents of the owner of this agent wait or are in work, at most `limit`. */
async function countQueued(sql: Sql, agentId: string, limit: number): Promise<number> {
  const [row] = await sql.all(
    `select count(*) as queued from (
       select 1 as one from agents o join agents a on a.owner_id = o.owner_id join documents d on d.agent_id = a.id
       where o.id = $1 and a.deleted_at is null and d.deleted_at is null and d.status = 'queued' limit $2
     ) as waiting`,
    agentId,
    limit,
  )
  return integer(row!, 'queued')
}

/** The process that indexes it is fenced off, and its chunks so far are deleted. */
async function queueAgain(sql: Sql, id: string): Promise<void> {
  await discardGenerations(sql, id, 'unfinished')
  await sql.run(
    `update documents set status = 'queued', reason = null, progress = null, attempt = 0, fence = fence + 1, holder = null, lease_until = null
     where id = $1`,
    id,
  )
}

async function letGo(sql: Sql, contentId: string): Promise<void> {
  await sql.run('update contents set document_id = null, unused_since = $1 where id = $2', await sql.now(), contentId)
}

/** Returns whether it existed. No search that starts after this finds it. `clearKnowledge` deletes its rows. */
export async function deleteDocument(sql: Sql, { agentId, id }: { agentId: string; id: string }): Promise<boolean> {
  const [present] = await sql.all('select content_id from documents where id = $1 and agent_id = $2 and deleted_at is null', id, agentId)
  if (!present) return false
  await queueAgain(sql, id)
  await discardGenerations(sql, id, 'serving')
  const revision = await touchBase(sql, agentId, { documents: -1 })
  const contentId = textOrNull(present, 'content_id')
  if (contentId !== null) await letGo(sql, contentId)
  await sql.run(
    'update documents set deleted_at = $1, content_id = null, generation = 0, chunks = 0, revision = $2 where id = $3',
    await sql.now(),
    revision,
    id,
  )
  return true
}

/** Newest first. */
/** Without `status`, of every status. */
async function listDocuments(
  sql: Sql,
  agentId: string,
  { limit, before }: PageRequest,
  status?: DocumentStatus,
): Promise<StoredDocument[]> {
  const rows = await sql.all(
    `select ${documentColumns} from documents d
     where d.agent_id = $1 and (d.created_at, d.id) < ($2, $3) and d.deleted_at is null and d.status = coalesce($4, d.status)
     order by d.created_at desc, d.id desc limit $5`,
    agentId,
    before.createdAt,
    before.id,
    status ?? null,
    limit,
  )
  const now = await sql.now()
  return rows.map((row) => withoutPast(readDocument(row), now))
}

async function findDocument(sql: Sql, agentId: string, id: string): Promise<StoredDocument | undefined> {
  const [row] = await sql.all(
    `select ${documentColumns} from documents d where d.id = $1 and d.agent_id = $2 and d.deleted_at is null`,
    id,
    agentId,
  )
  return row && withoutPast(readDocument(row), await sql.now())
}

const withoutPast = (document: StoredDocument, now: number): StoredDocument =>
  document.waitsUntil !== null && document.waitsUntil <= now ? { ...document, waitsUntil: null } : document

/**
 * Queues the documents that were indexed with other settings than those of the agent's current version. Returns how many. They are served
 * meanwhile.
 */
async function requeueDocuments(sql: Sql, { agentId }: { agentId: string }): Promise<number> {
  const wanted = await indexedAsNow(sql, agentId)
  if (!wanted) return 0
  // The settings of its newest claim, even if that failed: with the same settings it would fail again.
  const rows = await sql.all(
    `select id, next_language, next_embedding_model from documents
     where agent_id = $1 and deleted_at is null and status <> 'queued'`,
    agentId,
  )
  const others = rows.filter(
    (row) => textOrNull(row, 'next_language') !== wanted.language || textOrNull(row, 'next_embedding_model') !== wanted.embeddingModel,
  )
  const now = await sql.now()
  for (const row of others) {
    await queueAgain(sql, text(row, 'id'))
    await sql.run('update documents set updated_at = $1 where id = $2', now, text(row, 'id'))
  }
  return others.length
}

/** Returns the settings of the agent's current version. Undefined for a deleted agent. */
export async function indexedAsNow(sql: Sql, agentId: string): Promise<IndexedAs | undefined> {
  const [row] = await sql.all(
    `select v.config from agents a join agent_versions v on v.agent_id = a.id and v.version = a.version
     where a.id = $1 and a.deleted_at is null`,
    agentId,
  )
  if (!row) return undefined
  const { language, embeddingModel } = JSON.parse(text(row, 'config')) as Partial<IndexedAs>
  return { language: language ?? null, embeddingModel: embeddingModel ?? null }
}

export const documentColumns = `d.id, d.agent_id, d.title, d.source, d.media_type, d.file_name, d.url, d.status, d.reason, d.progress,
  d.chunks, d.warnings, d.bytes, (select c.sha256 from contents c where c.id = d.content_id) as sha256, d.created_at, d.updated_at, d.indexed_at,
  case when d.status = 'queued' then (select i.waits_until from indexing_windows i join agents o on o.owner_id = i.owner_id where o.id = d.agent_id) end as waits_until`

export const readDocument = (row: Row): StoredDocument => ({
  id: text(row, 'id'),
  agentId: text(row, 'agent_id'),
  title: text(row, 'title'),
  source: sourceOf(text(row, 'source')),
  mediaType: textOrNull(row, 'media_type'),
  fileName: textOrNull(row, 'file_name'),
  url: textOrNull(row, 'url'),
  status: statusOf(text(row, 'status')),
  reason: textOrNull(row, 'reason'),
  progress: integerOrNull(row, 'progress'),
  chunks: integer(row, 'chunks'),
  warnings: readWarnings(JSON.parse(text(row, 'warnings'))),
  bytes: integer(row, 'bytes'),
  sha256: textOrNull(row, 'sha256'),
  createdAt: integer(row, 'created_at'),
  updatedAt: integer(row, 'updated_at'),
  indexedAt: integerOrNull(row, 'indexed_at'),
  waitsUntil: integerOrNull(row, 'waits_until'),
})

const sources: readonly DocumentSource[] = ['file', 'text', 'url']
const statuses: readonly DocumentStatus[] = ['queued', 'indexing', 'ready', 'failed']
const sourceOf = (stored: string): DocumentSource => oneOf(sources, stored)
const statusOf = (stored: string): DocumentStatus => oneOf(statuses, stored)

function oneOf<Value extends string>(known: readonly Value[], stored: string): Value {
  const found = known.find((value) => value === stored)
  if (found === undefined) throw new Error(`a document holds ${stored}`)
  return found
}

const documentFields = (document: Pick<StoredDocument, 'agentId' | 'title'>): AuditedFields => ({
  agent_id: document.agentId,
  title: document.title,
})

export const documentReads = {
  listDocuments: read(listDocuments, { scope: ofAgent((agentId) => agentId, []), readings: null }),
  findDocument: read(findDocument, { scope: ofAgent((agentId) => agentId, undefined), readings: null }),
}

export const documentWrites = {
  putDocument: write(putDocument, {
    scope: ofAgent(({ agentId }) => agentId, 'agent_not_found'),
    before: (sql, [{ agentId, id }]) => findDocument(sql, agentId, id),
    audit: (outcome, [document], before) =>
      outcome === 'put' ? differing('put', 'document', document.id, before ? documentFields(before) : {}, documentFields(document)) : [],
    changesCaches: true,
  }),
  deleteDocument: write(deleteDocument, {
    scope: ofAgent(({ agentId }) => agentId, false),
    before: (sql, [{ agentId, id }]) => findDocument(sql, agentId, id),
    audit: (found, [{ id }], before) => deleted('document', id, documentFields, found && before),
    changesCaches: true,
  }),
  requeueDocuments: write(requeueDocuments, { scope: ofAgent(({ agentId }) => agentId, 0), audit: null, changesCaches: true }),
}
