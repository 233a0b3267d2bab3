/**
 * The store as this room asks it: cold reads and writes alone, every write with its author, so that none is left out of the audit. One that
 * cannot answer is 503 `service_unavailable` (rulings, Additions to the error table).
 */
import { ApiError } from '../errors.ts'
import type { Author } from '../store/queries/audit.ts'
import { reads } from '../store/queries/reads.ts'
import type { Reads } from '../store/queries/reads.ts'
import { writes } from '../store/queries/writes.ts'
import type { Writes } from '../store/queries/writes.ts'
import { callMethod, methodsOf } from '../store/methods.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'

export type AdminStore = Pick<Store, 'read' | 'write'>

/** The only place of this room that writes: rule `audit`. */
export function adminStore(store: Pick<Store, 'read' | 'writeAs'>, newAuthor: () => Author): AdminStore {
  return {
    read: methodsOf<Reads>(reads, (name, args) => callMethod<Reads>(store.read, name, args).catch(refuseUnavailable)),
    write: methodsOf<Writes>(writes, (name, args) => callMethod<Writes>(store.writeAs(newAuthor()), name, args).catch(refuseUnavailable)),
  }
}

function refuseUnavailable(error: unknown): never {
  throw error instanceof StoreUnavailable ? new ApiError('service_unavailable') : error
}
