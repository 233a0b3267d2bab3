/** A real store in a folder of its own, closed and removed when the test ends. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import type { SqliteStore } from '../../src/store/sqlite/sqlite.ts'

export async function openOwnStore(t: TestContext): Promise<SqliteStore> {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-test-'))
  const store = await openSqliteStore({ folder })
  t.after(async () => {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  })
  return store
}
