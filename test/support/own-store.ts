/** A separate real store, on SQLite or PostgreSQL by TEST_STORE, empty at the start of the test. */
import type { TestContext } from 'node:test'
import type { Store } from '../../src/store/store.ts'
import { openEmptyStore } from './pooled-store.ts'
import { storeKind } from './store-under-test.ts'

/** `moveClock` moves the store's clock forward: expiry and leases follow immediately. */
export type OwnStore = Store & { moveClock(milliseconds: number): Promise<void> }

export async function openOwnStore(t: TestContext): Promise<OwnStore> {
  const { store, close } = await openEmptyStore(storeKind)
  t.after(close)
  return store
}
