/**
 * Searches an agent's knowledge base by words, ranked by BM25 on both engines, and reads chunks. Finds only what is served now: no chunk of
 * another agent, of a deleted document, or of a generation that is unfinished or was replaced.
 */
import type { Row, Sql } from '../../sql.ts'
import { amongGiven } from './chunk-terms.ts'
import { integer, text } from '../columns.ts'
import { findBase } from './knowledge-state.ts'
import type { KnowledgeBase } from './knowledge-state.ts'
import { previousQueryTerms } from './previous-terms.ts'
import { marked, queryTerms } from './terms.ts'
import { matchExpression, tsquery, weigh } from './weights.ts'
import type { Weighed } from './weights.ts'
import { read, serviceRead } from '../operation.ts'
import { ofAgent } from '../scope.ts'

export type ChunkSearch = {
  agentId: string
  /** Any text. */
  query: string
  limit: number
  /** The languages of the agent's indexed documents (`knowledgeState`). Words are searched by the stems of each. */
  languages: (string | null)[]
}

/** `score`: higher is better, and comparable only within one search. */
export type FoundChunk = { chunkId: number; documentId: string; title: string; section: string; text: string; score: number }

/** The agent's chunks that share words with the text, best first. A word in a title or heading counts twice. Any text is accepted. */
async function searchChunks(sql: Sql, { agentId, query, limit, languages }: ChunkSearch): Promise<FoundChunk[]> {
  const base = await findBase(sql, agentId)
  if (!base) return []
  const previous = base.hasPreviousTerms ? previousQueryTerms(query, languages) : []
  const terms = [...new Set([...queryTerms(query, languages), ...previous])].map((term) => marked(base.number, term))
  if (terms.length === 0) return []
  const weighed = weigh(await countChunks(sql, terms), base.chunks).slice(0, maxRanked)
  if (weighed.length === 0) return []
  const rank = (some: Weighed[]): Promise<Row[]> =>
    (sql.engine === 'postgres' ? rankInPostgres : rankInSqlite)(sql, { agentId, weighed: some, base, limit })
  const rows = await rank(weighed)
  return (rows.length > 0 || weighed.length === 1 ? rows : await rankEach(weighed, rank, limit)).map((row) =>
    readChunk(row, Number(row['score'])),
  )
}

// Several times the words of a question. The rarest ones: of a pasted text, the others say little.
const maxRanked = 64
// Each ranks all chunks with a frequent word, which takes a while.
const rankedAlone = 3

/** Frequent terms are searched in pairs, and no chunk may have two of them: then the best chunks of each of the rarest terms, in turn. */
async function rankEach(weighed: Weighed[], rank: (terms: Weighed[]) => Promise<Row[]>, limit: number): Promise<Row[]> {
  const lists: Row[][] = []
  for (const one of weighed.slice(0, rankedAlone)) lists.push(await rank([one]))
  const inTurn = lists.flatMap((rows) => rows.map((row, place) => ({ row, place }))).toSorted((a, b) => a.place - b.place)
  return [...new Map(inTurn.map(({ row }) => [integer(row, 'id'), row])).values()].slice(0, limit)
}

/** Those of the given chunks that are served now, in no particular order. */
async function readChunks(sql: Sql, { agentId, chunkIds }: { agentId: string; chunkIds: number[] }): Promise<FoundChunk[]> {
  const rows = await sql.all(
    `select ${chunkColumns} from ${serving} where c.id ${amongGiven(sql)} and c.agent_id = $2`,
    JSON.stringify(chunkIds),
    agentId,
  )
  return rows.map((row) => readChunk(row, 0))
}

/** A passage of a document as a search can return it. `position` counts from 0. */
export type DocumentChunk = { position: number; section: string; text: string }

/** The chunks of a document that are served now, in their order in the document: at most `limit` of them after position `after`. */
async function listChunks(
  sql: Sql,
  { agentId, documentId, after, limit }: { agentId: string; documentId: string; after: number; limit: number },
): Promise<DocumentChunk[]> {
  const rows = await sql.all(
    `select c.position, c.headings, c.text from ${serving}
     where c.document_id = $1 and c.agent_id = $2 and c.position > $3 order by c.position limit $4`,
    documentId,
    agentId,
    after,
    limit,
  )
  return rows.map((row) => ({ position: integer(row, 'position'), section: text(row, 'headings'), text: text(row, 'text') }))
}

const chunkColumns = 'c.id, c.document_id, d.serving_title as title, c.headings, c.text'
/** `knowledge.serving`: a search shows only the generation that is served, of a document that is not deleted. */
const serving = 'chunks c join documents d on d.id = c.document_id and d.generation = c.generation and d.deleted_at is null'

const readChunk = (row: Row, score: number): FoundChunk => ({
  chunkId: integer(row, 'id'),
  documentId: text(row, 'document_id'),
  title: text(row, 'title'),
  section: text(row, 'headings'),
  text: text(row, 'text'),
  score,
})

/** Counts in how many chunks each term occurs, including those that are being deleted. Terms that occur nowhere are omitted. */
async function countChunks(sql: Sql, terms: string[]): Promise<Map<string, number>> {
  const rows =
    sql.engine === 'postgres'
      ? await sql.all(
          'select word, chunks from chunk_words where word = any (array(select value from json_array_elements_text(cast($1 as json))))',
          JSON.stringify(terms),
        )
      : await sql.all(
          'select w.term as word, w.doc as chunks from json_each($1) t cross join chunk_words w on w.term = t.value',
          JSON.stringify(terms),
        )
  return new Map(rows.map((row) => [text(row, 'word'), integer(row, 'chunks')]))
}

// The full text also finds chunks that are being deleted, which are removed afterwards. So search for a few more, and again if that was not
// enough.
const spare = 32

type Ranking = { agentId: string; weighed: Weighed[]; base: KnowledgeBase; limit: number }

async function rankInSqlite(sql: Sql, { agentId, weighed, base, limit }: Ranking): Promise<Row[]> {
  const [everywhere] = await sql.all('select sum(chunks) as chunks from knowledge_bases')
  const expression = matchExpression(weighed, base.chunks, integer(everywhere!, 'chunks'))
  for (let wide = limit + spare; ; wide *= 8) {
    const found = await sql.all(
      `select rowid as id, rank from chunk_terms where chunk_terms match $1 and rank match 'bm25(2.0, 1.0)' order by rank limit $2`,
      expression,
      wide,
    )
    const rows = await sql.all(
      `select ${chunkColumns}, -cast(value ->> '$[1]' as real) as score
       from json_each($1) f cross join chunks c on c.id = f.value ->> '$[0]'
         join documents d on d.id = c.document_id and d.generation = c.generation and d.deleted_at is null
       where c.agent_id = $2 order by score desc, c.id limit $3`,
      JSON.stringify(found.map((row) => [integer(row, 'id'), Number(row['rank'])])),
      agentId,
      limit,
    )
    if (rows.length === limit || found.length < wide) return rows
  }
}

/** `terms || ''` reads a stored tsvector once instead of once for each word. */
async function rankInPostgres(sql: Sql, { agentId, weighed, base, limit }: Ranking): Promise<Row[]> {
  return sql.all(
    `with words as materialized (
       select cast(word as tsquery) as word, weight from json_to_recordset(cast($1 as json)) as w (word text, weight double precision)
     ), found as materialized (
       select c.id, c.document_id, c.generation, c.terms || '' as terms, c.words from chunks c where c.terms @@ cast($2 as tsquery) and c.agent_id = $3 limit $4
     )
     select ${chunkColumns}, f.score from (
       select f.id, (select sum(w.weight * ts_rank('{0.5, 0.5, 0.5, 1}', f.terms, w.word)) from words w) / (0.5 + 0.5 * f.words / b.mean) as score
       from found f join documents d on d.id = f.document_id and d.generation = f.generation and d.deleted_at is null
         cross join (select cast(words as double precision) / greatest(chunks, 1) as mean from knowledge_bases where agent_id = $3) as b
       order by score desc, f.id limit $5
     ) as f join chunks c on c.id = f.id join documents d on d.id = c.document_id order by f.score desc, c.id`,
    JSON.stringify(weighed.map(({ term, weight }) => ({ word: `'${term}'`, weight }))),
    tsquery(weighed, base.chunks),
    agentId,
    maxRankedChunks,
    limit,
  )
}

// Stricter than `tsquery`: words that occur together more often than by chance would make a search slow.
const maxRankedChunks = 2_000

export const knowledgeReads = {
  searchChunks: serviceRead(searchChunks, 'search'),
  readChunks: serviceRead(readChunks, 'search'),
  listChunks: read(listChunks, { scope: ofAgent(({ agentId }) => agentId, []), readings: null }),
}
