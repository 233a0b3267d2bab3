/**
 * The knowledge base's full text, made anew for PostgreSQL while its chunks are copied. A chunk's text and its document's title are stored; its
 * headings stand in the embedded index alone, as the stems of their words, and are read from there.
 */
import type { DatabaseSync } from 'node:sqlite'
import { text } from '../cold/columns.ts'
import { postgresTerms } from '../cold/knowledge.ts'
import { agentLexeme, indexedWords } from '../cold/terms.ts'
import type { Row } from '../store.ts'

/** What a chunk is found by, as columns of its row. */
const words = ['agent_word', 'heading_words', 'text_words'] as const
export type ChunkWords = Record<(typeof words)[number], string>

/** The column of the copy that the source does not have. */
export const termsColumn = { table: 'chunks', name: 'terms', madeOf: words, sql: postgresTerms(...words) }

/** For a row of `chunks`. Reads the index once; begins no transaction. */
export function openIndex(db: DatabaseSync): (chunk: Row) => ChunkWords {
  // The connection itself cannot write; this lets it have tables of its own, which end with it.
  db.exec(`pragma query_only = off;
    create virtual table temp.index_words using fts5vocab ('main', 'chunk_terms', 'instance');
    create table temp.chunk_headings as
      select doc as chunk_id, group_concat(term, ' ' order by offset) as stems from temp.index_words where col = 'title' group by doc;
    create unique index temp.heading_of_chunk on chunk_headings (chunk_id);
    drop table temp.index_words;
    pragma query_only = on`)
  const find = db.prepare(
    'select d.title, h.stems from chunks c join documents d on d.id = c.document_id left join chunk_headings h on h.chunk_id = c.id where c.id = ?',
  )
  return (chunk) => {
    const { title, stems } = find.get(chunk['id']!) as { title: string; stems: string | null }
    const titleWords = indexedWords(title)
    // The index has the title's words first, then those of the headings.
    const headings = (stems ?? '').split(' ').slice(titleWords === '' ? 0 : titleWords.split(' ').length)
    return {
      agent_word: agentLexeme(text(chunk, 'agent_id')),
      heading_words: [titleWords, indexedWords(headings.join(' '))].join(' '),
      text_words: indexedWords(text(chunk, 'text')),
    }
  }
}
