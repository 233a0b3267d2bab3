/**
 * The knowledge base as full text on SQLite FTS5: documents, their chunks, and the index over them. An agent finds its own chunks alone:
 * its id is a term of the match, and compared once more in the statement.
 */
import type { Sql } from '../store.ts'
import { text } from './columns.ts'
import { agentTerm, indexedText, matchExpression } from './terms.ts'

export type IndexedDocument = {
  documentId: string
  agentId: string
  title: string
  /** Of the whole text, UTF-8. */
  bytes: number
  /** `headings` is searched with the title; `text` is what is found. */
  chunks: { headings: string; text: string }[]
}

/** `score` is higher for the better one, and comparable within one search only. */
export type FoundChunk = { documentId: string; title: string; text: string; score: number }

/** Writes a document and its chunks, in place of what was there under its id. Throws where the id belongs to another agent. */
export async function indexDocument(sql: Sql, { documentId, agentId, title, bytes, chunks }: IndexedDocument): Promise<void> {
  const written = await sql.run(
    `insert into documents (id, agent_id, title, bytes, status, created_at) values ($1, $2, $3, $4, 'ready', $5)
     on conflict (id) do update set title = excluded.title, bytes = excluded.bytes, status = excluded.status
       where documents.agent_id = excluded.agent_id`,
    documentId,
    agentId,
    title,
    bytes,
    await sql.now(),
  )
  if (written === 0) throw new Error(`document ${documentId} belongs to another agent`)
  await sql.run('delete from chunk_terms where rowid in (select id from chunks where document_id = $1)', documentId)
  await sql.run('delete from chunks where document_id = $1', documentId)
  for (const [position, chunk] of chunks.entries()) {
    const [row] = await sql.all(
      'insert into chunks (document_id, agent_id, position, text) values ($1, $2, $3, $4) returning id',
      documentId,
      agentId,
      position,
      chunk.text,
    )
    await sql.run(
      'insert into chunk_terms (rowid, agent, title, text) values ($1, $2, $3, $4)',
      row!.id!,
      agentTerm(agentId),
      indexedText(`${title} ${chunk.headings}`),
      indexedText(chunk.text),
    )
  }
}

export async function hasDocuments(sql: Sql, agentId: string): Promise<boolean> {
  return (await sql.all('select 1 as one from documents where agent_id = $1 limit 1', agentId)).length > 0
}

/** The agent's chunks that share words with the text, best first by BM25; a word in a title or heading counts twice. Any text is accepted. */
export async function searchChunks(
  sql: Sql,
  { agentId, query, limit }: { agentId: string; query: string; limit: number },
): Promise<FoundChunk[]> {
  const expression = matchExpression(agentId, query)
  if (expression === undefined) return []
  const rows = await sql.all(
    `select c.document_id, d.title, c.text, -bm25(chunk_terms, 0.0, 2.0, 1.0) as score
     from chunk_terms join chunks c on c.id = chunk_terms.rowid join documents d on d.id = c.document_id
     where chunk_terms match $1 and c.agent_id = $2
     order by score desc, c.id limit $3`,
    expression,
    agentId,
    limit,
  )
  return rows.map((row) => ({
    documentId: text(row, 'document_id'),
    title: text(row, 'title'),
    text: text(row, 'text'),
    score: Number(row.score),
  }))
}
