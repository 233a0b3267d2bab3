/**
 * The knowledge base as full text, on SQLite by FTS5 and on PostgreSQL by tsvector: documents, their chunks, and the index over them. An agent
 * finds its own chunks alone: its id is a term of the match, and compared once more in the statement.
 */
import type { Row, Sql } from '../store.ts'
import { text } from './columns.ts'
import { agentLexeme, agentTerm, indexedText, indexedWords, matchExpression, wordsQuery } from './terms.ts'

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
  if (sql.engine === 'sqlite')
    await sql.run('delete from chunk_terms where rowid in (select id from chunks where document_id = $1)', documentId)
  await sql.run('delete from chunks where document_id = $1', documentId)
  for (const [position, { headings, text: chunk }] of chunks.entries()) {
    await insertChunk(sql, { documentId, agentId, position, heading: `${title} ${headings}`, text: chunk })
  }
}

export type NewChunk = { documentId: string; agentId: string; position: number; heading: string; text: string }

/** A chunk and what it is found by. */
async function insertChunk(sql: Sql, { documentId, agentId, position, heading, text: chunk }: NewChunk): Promise<void> {
  if (sql.engine === 'postgres') {
    await sql.run(
      `insert into chunks (document_id, agent_id, position, text, terms) values ($1, $2, $3, $4, ${postgresTerms('$5', '$6', '$7')})`,
      documentId,
      agentId,
      position,
      chunk,
      agentLexeme(agentId),
      indexedWords(heading),
      indexedWords(chunk),
    )
    return
  }
  const [row] = await sql.all(
    'insert into chunks (document_id, agent_id, position, text) values ($1, $2, $3, $4) returning id',
    documentId,
    agentId,
    position,
    chunk,
  )
  await sql.run(
    'insert into chunk_terms (rowid, agent, title, text) values ($1, $2, $3, $4)',
    row!.id!,
    agentTerm(agentId),
    indexedText(heading),
    indexedText(chunk),
  )
}

/** What PostgreSQL finds a chunk by: SQL of `agentLexeme` of its agent and `indexedWords` of its heading and text. */
export function postgresTerms(agent: string, heading: string, chunk: string): string {
  return `array_to_tsvector(array[${agent}]) || setweight(to_tsvector('turnkeep', ${heading}), 'A') || to_tsvector('turnkeep', ${chunk})`
}

export async function hasDocuments(sql: Sql, agentId: string): Promise<boolean> {
  return (await sql.all('select 1 as one from documents where agent_id = $1 limit 1', agentId)).length > 0
}

/** The agent's chunks that share words with the text, best first; a word in a title or heading counts twice. Any text is accepted. */
export async function searchChunks(
  sql: Sql,
  { agentId, query, limit }: { agentId: string; query: string; limit: number },
): Promise<FoundChunk[]> {
  const found = sql.engine === 'postgres' ? rankedByTerms(sql, agentId, query, limit) : rankedByBm25(sql, agentId, query, limit)
  return (await found).map((row) => ({
    documentId: text(row, 'document_id'),
    title: text(row, 'title'),
    text: text(row, 'text'),
    score: Number(row.score),
  }))
}

async function rankedByBm25(sql: Sql, agentId: string, query: string, limit: number): Promise<Row[]> {
  const expression = matchExpression(agentId, query)
  if (expression === undefined) return []
  return sql.all(
    `select c.document_id, d.title, c.text, -bm25(chunk_terms, 0.0, 2.0, 1.0) as score
     from chunk_terms join chunks c on c.id = chunk_terms.rowid join documents d on d.id = c.document_id
     where chunk_terms match $1 and c.agent_id = $2
     order by score desc, c.id limit $3`,
    expression,
    agentId,
    limit,
  )
}

/** `ts_rank` knows no rarity of a word; by length (1) it does weigh. */
async function rankedByTerms(sql: Sql, agentId: string, query: string, limit: number): Promise<Row[]> {
  const words = wordsQuery(query)
  if (words === undefined) return []
  return sql.all(
    `select c.document_id, d.title, c.text, ts_rank('{0.5, 0.5, 0.5, 1}', c.terms, q.words, 1) as score
     from (select to_tsquery('turnkeep', $1) as words) as q, chunks c join documents d on d.id = c.document_id
     where c.terms @@ (cast($2 as tsquery) && q.words) and c.agent_id = $3
     order by score desc, c.id limit $4`,
    words,
    `'${agentLexeme(agentId)}'`,
    agentId,
    limit,
  )
}
