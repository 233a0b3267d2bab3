/**
 * The knowledge base's full text, made anew for PostgreSQL while its chunks are copied: by the same terms as the embedded index has, from the
 * chunk's text and headings and its document's title.
 */
import type { DatabaseSync } from 'node:sqlite'
import { findBy, termsLiteral } from '../../queries/knowledge/chunk-terms.ts'
import { integer, text, textOrNull } from '../../queries/columns.ts'
import type { Row } from '../../sql.ts'

/** What a chunk is found by, as a column of its row. */
const literal = 'terms_literal'
export type ChunkWords = Record<typeof literal, string>

/** The column of the copy that the source does not have. */
export const termsColumn = { table: 'chunks', name: 'terms', madeOf: [literal], sql: `cast(${literal} as tsvector)` }

/** How many chunks have each word: of the copied ones, whatever was counted before. */
export const countAllWords = `delete from chunk_words;
  insert into chunk_words (word, chunks) select lexeme, count(*) from chunks, unnest(terms) group by lexeme`

/** For a row of `chunks`. */
export function openIndex(db: DatabaseSync): (chunk: Row) => ChunkWords {
  // What is still being made is under the title and in the language of its claim.
  const find = db.prepare(
    `select k.number, case when d.generation = ?1 then d.serving_title else d.title end as title,
       case when d.generation = ?1 then d.language else d.next_language end as language
     from documents d join knowledge_bases k on k.agent_id = d.agent_id where d.id = ?2`,
  )
  return (chunk) => {
    const document = find.get(integer(chunk, 'generation'), text(chunk, 'document_id')) as Row
    const of = { title: text(document, 'title'), language: textOrNull(document, 'language') }
    return {
      [literal]: termsLiteral(findBy(integer(document, 'number'), of, { headings: text(chunk, 'headings'), text: text(chunk, 'text') })),
    }
  }
}
