/**
 * Gives the chunks of documents that were indexed with previous rules the terms of this version of terms.ts: from the stored text, a few
 * chunks in each transaction, without reading the document again. Texts, vectors and generations stay as they are. Until a document is
 * finished, queries are made of the terms of both versions.
 */
import type { Row, Sql } from '../../sql.ts'
import { integer, text, textOrNull } from '../columns.ts'
import { replaceTerms } from './chunk-terms.ts'
import { hasPreviousTerms, openBase } from './knowledge-state.ts'
import { termsVersion } from './terms.ts'
import { serviceWrite } from '../operation.ts'

/** Gives at most `limit` chunks new terms. Returns how much it found, or 0 if nothing is left. */
async function renewTerms(sql: Sql, { limit }: { limit: number }): Promise<number> {
  const [document] = await sql.all(
    `select d.id, d.agent_id, d.generation, d.chunks, d.serving_title, d.language,
       case when d.terms_generation = d.generation and d.terms_version = $1 then d.terms_position else 0 end as position
     from documents d where ${hasPreviousTerms('d')} order by d.agent_id, d.id limit 1`,
    termsVersion,
  )
  if (!document) return 0
  const renewed = await renewChunks(sql, document, limit)
  // All of them, if there are fewer than the document counts.
  const position = renewed < limit ? integer(document, 'chunks') : integer(document, 'position') + renewed
  await sql.run(
    'update documents set terms_version = $1, terms_generation = generation, terms_position = $2 where id = $3',
    termsVersion,
    position,
    text(document, 'id'),
  )
  return renewed + 1
}

async function renewChunks(sql: Sql, document: Row, limit: number): Promise<number> {
  const [documentId, agentId] = [text(document, 'id'), text(document, 'agent_id')]
  const chunks = await sql.all(
    `select id, headings, text, words from chunks where document_id = $1 and generation = $2 and position >= $3 order by position limit $4`,
    documentId,
    integer(document, 'generation'),
    integer(document, 'position'),
    limit,
  )
  const { number } = await openBase(sql, agentId)
  const of = { title: text(document, 'serving_title'), language: textOrNull(document, 'language') }
  await replaceTerms(
    sql,
    number,
    { ...of, agentId },
    chunks.map((row) => ({
      id: integer(row, 'id'),
      headings: text(row, 'headings'),
      text: text(row, 'text'),
      words: integer(row, 'words'),
    })),
  )
  return chunks.length
}

export const termWrites = {
  renewTerms: serviceWrite(renewTerms, { audit: null, changesCaches: false }),
}
