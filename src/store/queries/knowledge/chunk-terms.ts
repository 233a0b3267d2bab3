/**
 * Adds and deletes chunks together with their search terms: rows of FTS5 on SQLite, a tsvector and the count of chunks per word on
 * PostgreSQL. Does not know the states of documents.
 */
import type { Sql } from '../../sql.ts'
import { integer } from '../columns.ts'
import { marked, termsOf } from './terms.ts'

export type NewChunk = {
  position: number
  /** The headings above the chunk, such as `Returns › Deadlines`. Searched together with the title. */
  headings: string
  text: string
  /** Of unit length. */
  vector: Float32Array | null
}

export type ChunksOf = { documentId: string; agentId: string; generation: number; title: string; language: string | null }

/** A chunk that already exists at its position is left unchanged. */
export async function addToIndex(sql: Sql, base: number, of: ChunksOf, chunks: NewChunk[]): Promise<void> {
  const counted = new Map<string, number>()
  let [added, words] = [0, 0]
  for (const chunk of chunks) {
    const found = findBy(base, of, chunk)
    const id = await insertChunk(sql, of, chunk, found)
    if (id === undefined) continue
    added++
    words += found.heading.length + found.text.length
    countTerms(counted, found)
    if (chunk.vector) await sql.run('insert into chunk_vectors (chunk_id, vector) values ($1, $2)', id, bytesOf(chunk.vector))
  }
  if (sql.engine === 'postgres' && counted.size > 0) await countWords(sql, counted)
  if (added > 0)
    await sql.run('update knowledge_bases set chunks = chunks + $1, words = words + $2 where agent_id = $3', added, words, of.agentId)
}

function countTerms(counted: Map<string, number>, { heading, text }: FoundBy): void {
  for (const term of new Set([...heading, ...text])) counted.set(term, (counted.get(term) ?? 0) + 1)
}

/** The marked terms of a chunk. Those of its title and headings count twice in a search. */
export type FoundBy = { heading: string[]; text: string[] }

export function findBy(
  base: number,
  { title, language }: { title: string; language: string | null },
  chunk: Pick<NewChunk, 'headings' | 'text'>,
): FoundBy {
  const mark = (term: string): string => marked(base, term)
  return {
    heading: termsOf(`${title} ${chunk.headings}`, language).map(mark),
    text: termsOf(chunk.text, language).map(mark),
  }
}

/** The literal of a tsvector, for a cast. Headings have weight A. Terms contain only letters and digits, so nothing needs escaping. */
export function termsLiteral({ heading, text }: FoundBy): string {
  const places = new Map<string, string[]>()
  const place = (term: string, at: string): void => void (places.get(term)?.push(at) ?? places.set(term, [at]))
  heading.forEach((term, index) => place(term, `${Math.min(index + 1, lastPlace)}A`))
  text.forEach((term, index) => place(term, `${Math.min(heading.length + index + 1, lastPlace)}`))
  return [...places].map(([term, at]) => `'${term}':${at.slice(0, maxPlaces).join(',')}`).join(' ')
}

// Limits of tsvector. Terms beyond them count at this position.
const [lastPlace, maxPlaces] = [16_383, 255]

async function insertChunk(sql: Sql, of: ChunksOf, chunk: NewChunk, found: FoundBy): Promise<number | undefined> {
  const made =
    sql.engine === 'postgres' ? { names: ', terms', values: ', cast($9 as tsvector)', given: [termsLiteral(found)] } : nothingMade
  const [row] = await sql.all(
    `insert into chunks (document_id, agent_id, generation, position, headings, text, words${made.names})
     values ($1, $2, $3, $4, $5, $6, cast($7 as bigint) + $8${made.values})
     on conflict (document_id, generation, position) do nothing returning id`,
    of.documentId,
    of.agentId,
    of.generation,
    chunk.position,
    chunk.headings,
    chunk.text,
    found.heading.length,
    found.text.length,
    ...made.given,
  )
  if (!row) return undefined
  const id = integer(row, 'id')
  if (sql.engine === 'sqlite') await insertTerms(sql, id, found)
  return id
}

const insertTerms = (sql: Sql, id: number, { heading, text }: FoundBy): Promise<number> =>
  sql.run('insert into chunk_terms (rowid, title, text) values ($1, $2, $3)', id, heading.join(' '), text.join(' '))

const nothingMade = { names: '', values: '', given: [] }

async function countWords(sql: Sql, counted: Map<string, number>): Promise<void> {
  await sql.run(
    `insert into chunk_words (word, chunks)
     select word, chunks from json_to_recordset(cast($1 as json)) as counted (word text, chunks bigint) order by word collate "C"
     on conflict (word) do update set chunks = chunk_words.chunks + excluded.chunks`,
    JSON.stringify([...counted].map(([word, chunks]) => ({ word, chunks }))),
  )
}

export type IndexedChunk = { id: number; headings: string; text: string; words: number }

/** Gives chunks of one document the terms that they have in this version. */
export async function replaceTerms(
  sql: Sql,
  base: number,
  of: { agentId: string; title: string; language: string | null },
  chunks: IndexedChunk[],
): Promise<void> {
  if (chunks.length === 0) return
  if (sql.engine === 'postgres') await uncountWords(sql, JSON.stringify(chunks.map(({ id }) => id)))
  const counted = new Map<string, number>()
  let more = 0
  for (const chunk of chunks) {
    const found = findBy(base, of, chunk)
    const words = found.heading.length + found.text.length
    more += words - chunk.words
    countTerms(counted, found)
    if (sql.engine === 'postgres')
      await sql.run('update chunks set terms = cast($1 as tsvector), words = $2 where id = $3', termsLiteral(found), words, chunk.id)
    else {
      await sql.run('update chunks set words = $1 where id = $2', words, chunk.id)
      await sql.run('delete from chunk_terms where rowid = $1', chunk.id)
      await insertTerms(sql, chunk.id, found)
    }
  }
  if (sql.engine === 'postgres') await countWords(sql, counted)
  await sql.run('update knowledge_bases set words = words + $1 where agent_id = $2', more, of.agentId)
}

/** A condition for IDs in `$1`, a JSON list. An array, because with a subquery PostgreSQL expects a long list and scans the whole table. */
export const amongGiven = ({ engine }: Sql): string =>
  engine === 'postgres'
    ? '= any (array(select cast(value as bigint) from json_array_elements_text(cast($1 as json))))'
    : 'in (select value from json_each($1))'

/** Deletes up to `limit` chunks of a generation. Returns how many there were. */
export async function dropFromIndex(
  sql: Sql,
  { documentId, agentId, generation, limit }: { documentId: string; agentId: string; generation: number; limit: number },
): Promise<number> {
  const rows = await sql.all(
    'select id, words from chunks where document_id = $1 and generation = $2 order by position limit $3',
    documentId,
    generation,
    limit,
  )
  if (rows.length === 0) return 0
  const ids = JSON.stringify(rows.map((row) => integer(row, 'id')))
  const words = rows.reduce((sum, row) => sum + integer(row, 'words'), 0)
  const among = amongGiven(sql)
  await sql.run(`delete from chunk_vectors where chunk_id ${among}`, ids)
  if (sql.engine === 'sqlite') await sql.run(`delete from chunk_terms where rowid ${among}`, ids)
  else await uncountWords(sql, ids)
  await sql.run(`delete from chunks where id ${among}`, ids)
  await sql.run('update knowledge_bases set chunks = chunks - $1, words = words - $2 where agent_id = $3', rows.length, words, agentId)
  return rows.length
}

async function uncountWords(sql: Sql, ids: string): Promise<void> {
  const going = `select lexeme, count(*) as chunks from chunks, unnest(terms)
    where id ${amongGiven(sql)} group by lexeme`
  await sql.run(
    `with going as (${going}) delete from chunk_words w using going where w.word = going.lexeme and w.chunks = going.chunks`,
    ids,
  )
  await sql.run(
    `with going as (${going}) update chunk_words w set chunks = w.chunks - going.chunks from going where w.word = going.lexeme`,
    ids,
  )
}

/** Returns the vector as it is stored: little-endian on every machine. */
function bytesOf(vector: Float32Array): Uint8Array {
  const bytes = Buffer.alloc(vector.length * 4)
  vector.forEach((value, index) => bytes.writeFloatLE(value, index * 4))
  return bytes
}
