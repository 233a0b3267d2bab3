/**
 * The vectors of an agent's chunks, in pages, for whoever keeps a copy of them in memory: what changed since a revision, and the vectors of
 * documents. Never compares vectors.
 */
import type { Sql } from '../../sql.ts'
import { bytes, integer, text, textOrNull } from '../columns.ts'

/** What serves of a document now; `generation` 0: nothing. */
export type IndexChange = { documentId: string; revision: number; generation: number; chunks: number; embeddingModel: string | null }

/** `clearedRevision`: who knows an older state has missed deletions, and must begin with nothing. */
export type IndexChanges = { changes: IndexChange[]; clearedRevision: number }

/** Documents that came to serve otherwise after a revision, in the order in which they did. */
export async function listIndexChanges(
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
  /** As `listIndexChanges` told of them; what serves otherwise by now is left out, and told of by the next listing. */
  documents: { documentId: string; generation: number }[]
  /** Vectors of another length are another model's, whatever its name. */
  dimensions: number
  /** The places of chunks in each of the documents. */
  from: number
  to: number
}

/** `vectors` are Float32 of unit length, little-endian, one after the other. Chunks without a vector are left out. */
export type VectorPage = { chunkIds: number[]; documentIds: string[]; vectors: Uint8Array }

/** Of the chunks from the place `from` on and before `to`, by document and place. */
export async function readVectors(sql: Sql, { agentId, documents, dimensions, from, to }: VectorsWanted): Promise<VectorPage> {
  const asked =
    sql.engine === 'postgres'
      ? 'json_to_recordset(cast($1 as json)) as w ("documentId" text, generation bigint)'
      : `(select value ->> '$.documentId' as documentId, value ->> '$.generation' as generation from json_each($1)) as w`
  // In this order: SQLite would begin with the vectors of all agents otherwise.
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
