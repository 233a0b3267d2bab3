/** The shared store: the conformance suite, and what only PostgreSQL can get wrong. */
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import { makeDatabase, noPostgres, withClient } from '../support/postgres-server.ts'
import { conformance } from './conformance.ts'

const log = { warn: () => undefined, info: () => undefined }

const open = async () => {
  const database = await makeDatabase()
  const store = await openPostgresStore({ url: database.url, log })
  let offset = 0
  // The clock is a function of the database, and so it moves for every connection at once.
  const moveClock = async (milliseconds: number): Promise<void> => {
    offset += milliseconds
    await withClient(database.url, (client) =>
      client.query(`create or replace function now_ms() returns bigint language sql volatile as
        'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint + ${Math.round(offset)}'`),
    )
  }
  return {
    store: { ...store, moveClock },
    async close() {
      await store.close()
      await database.drop()
    },
  }
}

conformance('postgres', open, noPostgres())
