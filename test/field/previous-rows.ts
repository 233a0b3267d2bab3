/**
 * What the previous version of the search by words left in a database: its terms of every chunk instead of those of today, on either store.
 * Its queries are in src/store/queries/knowledge/previous-terms.ts; this is how it indexed.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { termsLiteral } from '../../src/store/queries/knowledge/chunk-terms.ts'
import type { FoundBy } from '../../src/store/queries/knowledge/chunk-terms.ts'
import { stemmerOf } from '../../src/store/queries/knowledge/stems.ts'
import { withClient } from '../support/postgres-server.ts'

const unspaced = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]\p{M}*/gu
const isUnspaced = (part: string): boolean => part.search(unspaced) === 0

export function previousTermsOf(text: string, language: string | null): string[] {
  const stem = stemmerOf(language)
  const words =
    text
      .normalize('NFC')
      .toLowerCase()
      .match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu) ?? []
  return words.flatMap((word) => {
    if (/^[a-z0-9]+$/.test(word)) return word.length <= 64 ? [stem(word)] : []
    const parts = word.replace(unspaced, ' $& ').split(' ').filter(Boolean)
    return parts.flatMap((part, index) => {
      if (!isUnspaced(part)) return [withoutAccents(stem(part))].filter((term) => term !== '' && part.length <= 64)
      const next = parts[index + 1]
      return next !== undefined && isUnspaced(next) ? [part, part + next] : [part]
    })
  })
}

const withoutAccents = (term: string): string =>
  term
    .normalize('NFD')
    .replace(/[\u0300-\u036f\u064b-\u065f]/g, '')
    .normalize('NFC')

type Chunk = { id: unknown; number: unknown; title: string; language: string | null; headings: string; text: string }

const chunks = `select c.id, k.number, d.serving_title as title, d.language, c.headings, c.text
  from chunks c join documents d on d.id = c.document_id and d.generation = c.generation join knowledge_bases k on k.agent_id = c.agent_id order by c.id`
/** `upgraded`: as the migration leaves them. `beside`: as a process of the previous version leaves one that this version had indexed before. */
const documentsOf = {
  upgraded: 'update documents set terms_version = 1, terms_generation = 0, terms_position = 0',
  beside: 'update documents set terms_generation = generation - 1',
}
const baseWords = 'update knowledge_bases set words = (select sum(words) from chunks c where c.agent_id = knowledge_bases.agent_id)'

function foundBy({ number, title, language, headings, text }: Chunk): FoundBy {
  const marked = (from: string): string[] => previousTermsOf(from, language).map((term) => `${String(number)}:${term}`)
  return { heading: marked(`${title} ${headings}`), text: marked(text) }
}

/** The store must be closed. Every generation of its documents must be the one that is served. */
export async function makePrevious(at: { folder: string } | { url: string }, how: keyof typeof documentsOf = 'upgraded'): Promise<void> {
  const documents = documentsOf[how]
  if ('url' in at) return makePreviousInPostgres(at.url, documents)
  const db = new DatabaseSync(join(at.folder, 'turnkeep.db'))
  for (const chunk of db.prepare(chunks).all() as unknown as Chunk[]) {
    const { heading, text } = foundBy(chunk)
    db.prepare('delete from chunk_terms where rowid = ?').run(Number(chunk.id))
    db.prepare('insert into chunk_terms (rowid, title, text) values (?, ?, ?)').run(Number(chunk.id), heading.join(' '), text.join(' '))
    db.prepare('update chunks set words = ? where id = ?').run(heading.length + text.length, Number(chunk.id))
  }
  db.exec(`${documents}; ${baseWords}`)
  db.close()
}

function makePreviousInPostgres(url: string, documents: string): Promise<void> {
  return withClient(url, async (client) => {
    for (const chunk of (await client.query<Chunk>(chunks)).rows) {
      const found = foundBy(chunk)
      const words = found.heading.length + found.text.length
      await client.query('update chunks set terms = cast($1 as tsvector), words = $2 where id = $3', [termsLiteral(found), words, chunk.id])
    }
    await client.query(`${documents}; ${baseWords}; delete from chunk_words;
      insert into chunk_words (word, chunks) select lexeme, count(*) from chunks, unnest(terms) group by lexeme`)
  })
}

/** In how many chunks each term is, and how many words the bases count: all that the index says about words. */
export async function readIndex(at: { folder: string } | { url: string }): Promise<Record<string, number>> {
  const counts = 'select word as name, chunks as n from chunk_words'
  const words = 'select agent_id as name, words as n from knowledge_bases'
  const rows =
    'url' in at
      ? await withClient(at.url, async (client) => (await client.query(`${counts} union all ${words} order by 1`)).rows)
      : readSqlite(at.folder, `${counts.replace('word as', 'term as').replace('chunks as', 'doc as')} union all ${words} order by 1`)
  return Object.fromEntries((rows as { name: string; n: unknown }[]).map(({ name, n }) => [name, Number(n)]))
}

function readSqlite(folder: string, text: string): unknown[] {
  const db = new DatabaseSync(join(folder, 'turnkeep.db'))
  try {
    return db.prepare(text).all()
  } finally {
    db.close()
  }
}
