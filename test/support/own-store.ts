/** A separate real store, on SQLite or PostgreSQL by TEST_STORE; closed and removed when the test ends. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { makeMigratedDatabase, ownPostgres } from './own-postgres.ts'
import { storeKind } from './store-under-test.ts'

/** `moveClock` moves the store's clock forward: expiry and leases follow immediately. */
export type OwnStore = Store & { moveClock(milliseconds: number): Promise<void> }

export async function openOwnStore(t: TestContext): Promise<OwnStore> {
  if (storeKind === 'postgres') return (await ownPostgres(t, await makeMigratedDatabase())).open()
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-test-'))
  const store = await openSqliteStore({ folder })
  t.after(async () => {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  })
  return { ...store, moveClock: async (milliseconds) => store.moveClock(milliseconds) }
}
