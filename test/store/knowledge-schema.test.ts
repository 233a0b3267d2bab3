/** Invalid states of a document are rejected by a named constraint, whoever writes; on both databases. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { migrate, readMigrations } from '../../src/store/sqlite/migrate.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { noPostgres } from '../support/postgres-server.ts'

type Run = (text: string) => Promise<unknown>

const bytes = { sqlite: 'zeroblob(262145)', postgres: `decode(repeat('00', 262145), 'hex')` }

async function refused(engine: 'sqlite' | 'postgres', run: Run): Promise<void> {
  await run(`insert into owners (id, name, created_at) values ('own_a', 'x', 0)`)
  await run(`insert into agents (id, owner_id, version, created_at, updated_at) values ('agt_a', 'own_a', 1, 0, 0)`)
  await run(`insert into knowledge_bases (agent_id, number, documents, revision) values ('agt_a', 1, 10000, 5)`)
  await run(
    `insert into documents (id, agent_id, title, bytes, status, created_at, fence) values ('doc_a', 'agt_a', 't', 1, 'queued', 0, 3)`,
  )
  await run(`insert into contents (id, unused_since) values ('cnt_a', 0)`)
  for (const [name, text] of [
    ['knowledge_is_bounded', `update knowledge_bases set documents = documents + 1`],
    ['knowledge_revision_never_falls', `update knowledge_bases set revision = 4`],
    ['document_fence_never_falls', `update documents set fence = 2`],
    ['an_address_is_fetched', `update documents set source = 'url'`],
    ['three_attempts', `update documents set attempt = 4`],
    ['indexing_has_lease', `update documents set status = 'indexing', progress = 0, holder = 'a'`],
    ['progress_while_indexing', `update documents set progress = 10`],
    ['failed_has_reason', `update documents set status = 'failed'`],
    ['deleted_serves_nothing', `update documents set generation = 3, deleted_at = 1`],
    ['chunks_of_what_serves', `update documents set chunks = 1`],
    ['content_is_used_or_waits', `update contents set document_id = 'doc_a'`],
    ['content_parts_are_small', `insert into content_parts (content_id, part, bytes) values ('cnt_a', 0, ${bytes[engine]})`],
  ] as const)
    await assert.rejects(run(text), new RegExp(name), text)
  const chunk =
    engine === 'sqlite'
      ? `insert into chunks (document_id, agent_id, position, text) values ('doc_a', 'agt_a', 0, 'x')`
      : `insert into chunks (document_id, agent_id, position, text, terms) values ('doc_a', 'agt_a', 0, 'x', '')`
  await run(chunk)
  await assert.rejects(run(chunk), engine === 'sqlite' ? /chunks\.position/ : /one_chunk_per_place/)
}

void test('sqlite: knowledge: invalid states of a document are rejected by a constraint', async () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, readMigrations(), undefined)
  await refused('sqlite', async (text) => db.exec(text))
  db.close()
})

void test(
  'postgres: knowledge: invalid states of a document are rejected by a constraint',
  { skip: noPostgres() },
  async (t: TestContext) => {
    const database = await ownPostgres(t)
    await database.open()
    await refused('postgres', (text) => database.rows(text))
  },
)
