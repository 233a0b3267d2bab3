/**
 * The state of an agent's knowledge base in one row: the number that marks its words in the full text, how many documents it has, and a
 * revision that rises with every change of what a search finds.
 */
import type { Sql } from '../../sql.ts'
import { integer, textOrNull } from '../columns.ts'
import { termsVersion } from './terms.ts'
import { serviceRead } from '../operation.ts'

export type KnowledgeBase = {
  /** The prefix of each of the agent's words in the full text. See terms.ts. */
  number: number
  documents: number
  /** Documents of the agent, including those that are being deleted. */
  chunks: number
  /** Whether some of them still have the terms of the previous version of terms.ts. */
  hasPreviousTerms: boolean
}

/** Documents whose served chunks do not all have the terms of this version. As in the index `documents_with_previous_terms`. */
export const hasPreviousTerms = (table: string): string =>
  `${table}.generation > 0 and
   (${table}.terms_version <> ${termsVersion} or ${table}.terms_generation <> ${table}.generation or ${table}.terms_position < ${table}.chunks)`

/** `languages`: those of the indexed documents. More than one only while an agent changes its language. */
export type KnowledgeState = { documents: number; revision: number; languages: (string | null)[] }

/** Returns the base of an agent, and creates it if it does not exist. */
export async function openBase(sql: Sql, agentId: string): Promise<KnowledgeBase> {
  const known = await findBase(sql, agentId)
  if (known) return known
  await sql.run(`insert into knowledge_bases (agent_id, number) select $1, coalesce(max(number), 0) + 1 from knowledge_bases`, agentId)
  return (await findBase(sql, agentId))!
}

export async function findBase(sql: Sql, agentId: string): Promise<KnowledgeBase | undefined> {
  const [row] = await sql.all(
    `select number, documents, chunks,
       case when exists (select 1 from documents d where d.agent_id = $1 and ${hasPreviousTerms('d')}) then 1 else 0 end as previous
     from knowledge_bases where agent_id = $1`,
    agentId,
  )
  return (
    row && {
      number: integer(row, 'number'),
      documents: integer(row, 'documents'),
      chunks: integer(row, 'chunks'),
      hasPreviousTerms: integer(row, 'previous') > 0,
    }
  )
}

/** Call when a search result changes. Returns the new revision. */
export async function touchBase(sql: Sql, agentId: string, more: { documents: number }): Promise<number> {
  const [row] = await sql.all(
    'update knowledge_bases set revision = revision + 1, documents = documents + $1 where agent_id = $2 returning revision',
    more.documents,
    agentId,
  )
  return integer(row!, 'revision')
}

async function knowledgeState(sql: Sql, agentId: string): Promise<KnowledgeState> {
  const [row] = await sql.all('select documents, revision from knowledge_bases where agent_id = $1', agentId)
  if (!row) return { documents: 0, revision: 0, languages: [] }
  const languages = await sql.all('select distinct language from documents where agent_id = $1 and generation > 0', agentId)
  return {
    documents: integer(row, 'documents'),
    revision: integer(row, 'revision'),
    languages: languages.map((one) => textOrNull(one, 'language')),
  }
}

/** The chunks of an unfinished or replaced generation are no longer used. `clearKnowledge` deletes them. */
export async function discardGenerations(sql: Sql, documentId: string, which: 'unfinished' | 'serving'): Promise<void> {
  const generation = which === 'serving' ? 'generation' : 'fence'
  const isThere = which === 'serving' ? 'generation > 0' : `status = 'indexing'`
  await sql.run(
    `insert into discarded_generations (document_id, generation)
     select id, ${generation} from documents where id = $1 and ${isThere} on conflict do nothing`,
    documentId,
  )
}

export const knowledgeBaseReads = {
  knowledgeState: serviceRead(knowledgeState),
}
