/**
 * Builds the full text of the knowledge base for PostgreSQL while its chunks are copied: from the same terms as the embedded index, taken
 * from the chunk's text and headings and its document's title.
 */
import type { DatabaseSync } from 'node:sqlite'
import { findBy, termsLiteral } from '../../queries/knowledge/chunk-terms.ts'
import { integer, text, textOrNull } from '../../queries/columns.ts'
import type { Row } from '../../sql.ts'

/** The terms that find a chunk, as a column of its row. */
const literal = 'terms_literal'
export type ChunkWords = Record<typeof literal, string>

/** The column of the copy that the source does not have. */
export const termsColumn = { table: 'chunks', name: 'terms', madeOf: [literal], sql: `cast(${literal} as tsvector)` }

/** How many of the copied chunks contain each word. Replaces earlier counts. */
export const countAllWords = `delete from chunk_words;
  insert into chunk_words (word, chunks) select lexeme, count(*) from chunks, unnest(terms) group by lexeme`

/** Returns a function that reads the indexed words of a row of `chunks`. */
export function openIndex(db: DatabaseSync): (chunk: Row) => ChunkWords {
  // Chunks of a document that is being indexed use the title and the language of its claim.
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
