/** A separate real store, on SQLite or PostgreSQL by TEST_STORE, empty at the start of the test. */
import type { TestContext } from 'node:test'
import type { Store } from '../../src/store/store.ts'
import { takeStore } from './pooled-store.ts'

/** `moveClock` moves the store's clock forward: expiry and leases follow immediately. */
export type OwnStore = Store & { moveClock(milliseconds: number): Promise<void> }

export async function openOwnStore(t: TestContext): Promise<OwnStore> {
  const { store, data } = await takeStore()
  t.after(() => store.close())
  return { ...store, moveClock: (milliseconds) => data.moveClock(store, milliseconds) }
}
