/**
 * The store for the admin API: reads and writes outside the turn path. Every write has an author, so that none is missing in the audit log.
 * An unavailable store becomes a 503 `service_unavailable`.
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
import type { Scope } from '../operators/principal.ts'

export type AdminStore = Pick<Store, 'read' | 'write'>

/** The only place where the admin API writes (`audit`). */
export function adminStore(store: Pick<Store, 'read' | 'writeAs'>, newAuthor: () => Author, _scope: Scope | null): AdminStore {
  return {
    read: methodsOf<Reads>(reads, (name, args) => callMethod<Reads>(store.read, name, args).catch(refuseUnavailable)),
    write: methodsOf<Writes>(writes, (name, args) => callMethod<Writes>(store.writeAs(newAuthor()), name, args).catch(refuseUnavailable)),
  }
}

function refuseUnavailable(error: unknown): never {
  throw error instanceof StoreUnavailable ? new ApiError('service_unavailable') : error
}
