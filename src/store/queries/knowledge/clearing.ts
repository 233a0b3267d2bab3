/**
 * Deletes what is no longer used: chunks of previous generations and of deleted documents, their rows, documents of deleted agents, and
 * unused content. In small
 * batches, so that no write waits long behind it. Never affects what is served or being built.
 */
import type { Sql } from '../../sql.ts'
import { dropFromIndex } from './chunk-terms.ts'
import { deleteDocument } from './documents.ts'
import { integer, text } from '../columns.ts'
import { serviceWrite } from '../operation.ts'

// An upload that was never completed. The parts of a normal upload arrive within minutes.
const unusedLifetimeMs = 60 * 60 * 1000
// Parts have 256 KiB each, two hundred times the size of a chunk.
const partsEach = 4

// Longer than a turn of a deleted agent may still run, even after two claims by other processes.
const lastTurnsMs = 10 * 60 * 1000
const documentsEach = 20

/** Deletes at most `limit` chunks and a few other rows. Returns how much it found, or 0 if nothing is left. */
async function clearKnowledge(sql: Sql, { limit }: { limit: number }): Promise<number> {
  for (const clear of [() => clearGenerations(sql, limit), () => deleteOfDeletedAgents(sql), () => clearContents(sql)]) {
    const done = await clear()
    if (done > 0) return done
  }
  return 0
}

async function clearGenerations(sql: Sql, limit: number): Promise<number> {
  const [row] = await sql.all(
    `select g.document_id, g.generation, d.agent_id from discarded_generations g join documents d on d.id = g.document_id
     order by g.document_id, g.generation limit 1`,
  )
  if (!row) return clearDocuments(sql)
  const [documentId, agentId, generation] = [text(row, 'document_id'), text(row, 'agent_id'), integer(row, 'generation')]
  const dropped = await dropFromIndex(sql, { documentId, agentId, generation, limit })
  if (dropped === limit) return dropped
  await sql.run('delete from discarded_generations where document_id = $1 and generation = $2', documentId, generation)
  return dropped + 1
}

/** Deleted documents whose chunks are gone. `clearedRevision` tells copies of the vectors that they have missed a deletion. */
async function clearDocuments(sql: Sql): Promise<number> {
  const rows = await sql.all('select id, agent_id, revision from documents where deleted_at is not null limit 100')
  for (const row of rows) {
    await sql.run(
      `update knowledge_bases set cleared_revision = case when cleared_revision < $1 then $1 else cleared_revision end where agent_id = $2`,
      integer(row, 'revision'),
      text(row, 'agent_id'),
    )
    await sql.run('delete from documents where id = $1', text(row, 'id'))
  }
  return rows.length
}

/** Deletes documents of an agent that was deleted, as an operator would have. The next calls delete their chunks and rows. */
async function deleteOfDeletedAgents(sql: Sql): Promise<number> {
  const rows = await sql.all(
    `select d.id, d.agent_id from agents a join documents d on d.agent_id = a.id and d.deleted_at is null
     where a.deleted_at <= $1 order by a.id, d.id limit $2`,
    (await sql.now()) - lastTurnsMs,
    documentsEach,
  )
  for (const row of rows) await deleteDocument(sql, { agentId: text(row, 'agent_id'), id: text(row, 'id') })
  return rows.length
}

async function clearContents(sql: Sql): Promise<number> {
  const [content] = await sql.all(
    'select id from contents where unused_since <= $1 order by unused_since limit 1',
    (await sql.now()) - unusedLifetimeMs,
  )
  if (!content) return 0
  const id = text(content, 'id')
  const parts = await sql.all('select part from content_parts where content_id = $1 order by part limit $2', id, partsEach)
  for (const row of parts) await sql.run('delete from content_parts where content_id = $1 and part = $2', id, integer(row, 'part'))
  if (parts.length < partsEach) await sql.run('delete from contents where id = $1', id)
  return parts.length + 1
}

export const clearingWrites = {
  clearKnowledge: serviceWrite(clearKnowledge, { audit: null, changesCaches: false }),
}
