/** The store as this room asks it: cold reads and writes alone, and one that cannot answer is 503 `service_unavailable` (rulings, Additions to the error table). */
import { ApiError } from '../errors.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'

export type AdminStore = Pick<Store, 'read' | 'write'>

export function adminStore(store: AdminStore): AdminStore {
  return {
    read: (name, ...args) => store.read(name, ...args).catch(refuseUnavailable),
    write: (name, ...args) => store.write(name, ...args).catch(refuseUnavailable),
  }
}

function refuseUnavailable(error: unknown): never {
  throw error instanceof StoreUnavailable ? new ApiError('service_unavailable') : error
}
