/** Changes stored rows past the server, which no user can do: for tests of what the server does with rows that it would not write. */
import { DatabaseSync } from 'node:sqlite'
import { databaseFile } from '../../src/store/sqlite/database.ts'
import { storeKind } from './store-under-test.ts'
import type { TestApp } from './test-app.ts'

export async function changeRows(app: TestApp, text: string): Promise<void> {
  if (storeKind === 'postgres') return void (await app.query(text))
  const db = new DatabaseSync(databaseFile(app.folder), { timeout: 5_000 })
  db.exec(text)
  db.close()
}
