/**
 * Reads the vectors of an agent's chunks in pages, for a copy of them in memory: what changed since a revision, and the vectors of
 * documents. Does not compare vectors.
 */
import type { Sql } from '../../sql.ts'
import { bytes, integer, text, textOrNull } from '../columns.ts'
import { serviceRead } from '../operation.ts'

/** The generation of a document that is served now; 0 for none. */
export type IndexChange = { documentId: string; revision: number; generation: number; chunks: number; embeddingModel: string | null }

/** `clearedRevision`: a copy with an older revision has missed deletions and must be rebuilt. */
export type IndexChanges = { changes: IndexChange[]; clearedRevision: number }

/** Documents whose served generation changed after a revision, in the order of the changes. */
async function listIndexChanges(
  sql: Sql,
  { agentId, after, limit }: { agentId: string; after: number; limit: number },
): Promise<IndexChanges> {
  const [base] = await sql.all('select cleared_revision from knowledge_bases where agent_id = $1', agentId)
  const rows = await sql.all(
    `select id, revision, generation, chunks, embedding_model from documents
     where agent_id = $1 and revision > $2 order by revision, id limit $3`,
    agentId,
    after,
    limit,
  )
  const changes = rows.map((row) => ({
    documentId: text(row, 'id'),
    revision: integer(row, 'revision'),
    generation: integer(row, 'generation'),
    chunks: integer(row, 'chunks'),
    embeddingModel: textOrNull(row, 'embedding_model'),
  }))
  return { changes, clearedRevision: base ? integer(base, 'cleared_revision') : 0 }
}

export type VectorsWanted = {
  agentId: string
  /** As listed by `listIndexChanges`. Documents that have changed since are omitted; the next listing contains them. */
  documents: { documentId: string; generation: number }[]
  /** Vectors of another length belong to another model, even if it has the same name. */
  dimensions: number
  /** The positions of chunks in each of the documents. */
  from: number
  to: number
}

/** `vectors` are Float32 of unit length, little-endian, one after the other. Chunks without a vector are omitted. */
export type VectorPage = { chunkIds: number[]; documentIds: string[]; vectors: Uint8Array }

/** Chunks from position `from` (inclusive) to `to` (exclusive), by document and position. */
async function readVectors(sql: Sql, { agentId, documents, dimensions, from, to }: VectorsWanted): Promise<VectorPage> {
  const asked =
    sql.engine === 'postgres'
      ? 'json_to_recordset(cast($1 as json)) as w ("documentId" text, generation bigint)'
      : `(select value ->> '$.documentId' as documentId, value ->> '$.generation' as generation from json_each($1)) as w`
  // In this order, because SQLite would otherwise start with the vectors of all agents.
  const rows = await sql.all(
    `select c.id, c.document_id, v.vector
     from ${asked} cross join documents d cross join chunks c cross join chunk_vectors v
     where d.id = w."documentId" and d.generation = w.generation and d.deleted_at is null and d.agent_id = $2
       and c.document_id = d.id and c.generation = d.generation and c.position >= $4 and c.position < $5
       and v.chunk_id = c.id and length(v.vector) = $3
     order by c.document_id, c.position`,
    JSON.stringify(documents),
    agentId,
    dimensions * 4,
    from,
    to,
  )
  return {
    chunkIds: rows.map((row) => integer(row, 'id')),
    documentIds: rows.map((row) => text(row, 'document_id')),
    vectors: Buffer.concat(rows.map((row) => bytes(row, 'vector'))),
  }
}

export const vectorReads = {
  listIndexChanges: serviceRead(listIndexChanges, 'search'),
  readVectors: serviceRead(readVectors, 'search'),
}
