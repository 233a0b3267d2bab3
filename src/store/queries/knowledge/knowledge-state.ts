/**
 * What is known of an agent's knowledge base as a whole, in one row: the number that its words are marked with in the full text, how many
 * documents it has, and a revision that rises with whatever a search would find otherwise than before.
 */
import type { Sql } from '../../sql.ts'
import { integer, textOrNull } from '../columns.ts'

export type KnowledgeBase = {
  /** Stands before each of the agent's words in the full text; see terms.ts. */
  number: number
  documents: number
  /** Of the agent, those on their way out too. */
  chunks: number
}

/** `languages`: in which documents are indexed now; one, but while an agent changes it. */
export type KnowledgeState = { documents: number; revision: number; languages: (string | null)[] }

/** The base of an agent, begun where there is none. */
export async function openBase(sql: Sql, agentId: string): Promise<KnowledgeBase> {
  const known = await findBase(sql, agentId)
  if (known) return known
  await sql.run(`insert into knowledge_bases (agent_id, number) select $1, coalesce(max(number), 0) + 1 from knowledge_bases`, agentId)
  return (await findBase(sql, agentId))!
}

export async function findBase(sql: Sql, agentId: string): Promise<KnowledgeBase | undefined> {
  const [row] = await sql.all('select number, documents, chunks from knowledge_bases where agent_id = $1', agentId)
  return row && { number: integer(row, 'number'), documents: integer(row, 'documents'), chunks: integer(row, 'chunks') }
}

/** A search finds something else from now on; answers the new revision. */
export async function touchBase(sql: Sql, agentId: string, more: { documents: number }): Promise<number> {
  const [row] = await sql.all(
    'update knowledge_bases set revision = revision + 1, documents = documents + $1 where agent_id = $2 returning revision',
    more.documents,
    agentId,
  )
  return integer(row!, 'revision')
}

export async function knowledgeState(sql: Sql, agentId: string): Promise<KnowledgeState> {
  const [row] = await sql.all('select documents, revision from knowledge_bases where agent_id = $1', agentId)
  if (!row) return { documents: 0, revision: 0, languages: [] }
  const languages = await sql.all('select distinct language from documents where agent_id = $1 and generation > 0', agentId)
  return {
    documents: integer(row, 'documents'),
    revision: integer(row, 'revision'),
    languages: languages.map((one) => textOrNull(one, 'language')),
  }
}

/** The chunks of what was begun, or of what serves, are no longer anything; `clearKnowledge` takes them out. */
export async function discardGenerations(sql: Sql, documentId: string, which: 'unfinished' | 'serving'): Promise<void> {
  const generation = which === 'serving' ? 'generation' : 'fence'
  const isThere = which === 'serving' ? 'generation > 0' : `status = 'indexing'`
  await sql.run(
    `insert into discarded_generations (document_id, generation)
     select id, ${generation} from documents where id = $1 and ${isThere} on conflict do nothing`,
    documentId,
  )
}
