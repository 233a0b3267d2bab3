/**
 * What the operator does: owners and their ledger, providers, agents, API keys, and what was said. The room's front door; a file per noun
 * stands behind it. Knows no SQL and no HTTP. Every function may throw ApiError, also `service_unavailable` where the store cannot answer.
 */
import type { RandomBytes } from '../access/api-key.ts'
import type { Models } from '../agent/models.ts'
import type { Sealer } from '../secrets.ts'
import { adminStore } from './admin-store.ts'
import type { AdminStore } from './admin-store.ts'
import { createAgentsAdmin } from './agents.ts'
import type { AgentsAdmin } from './agents.ts'
import { createApiKeysAdmin } from './api-keys.ts'
import type { ApiKeysAdmin } from './api-keys.ts'
import { createHistoryAdmin } from './history.ts'
import type { HistoryAdmin } from './history.ts'
import { createLedgerAdmin } from './ledger-entries.ts'
import type { LedgerAdmin } from './ledger-entries.ts'
import { createOwnersAdmin } from './owners.ts'
import type { OwnersAdmin } from './owners.ts'
import { createProvidersAdmin } from './providers.ts'
import type { ProvidersAdmin } from './providers.ts'
import type { Ids } from '../ids.ts'

export type Admin = OwnersAdmin & LedgerAdmin & ProvidersAdmin & AgentsAdmin & ApiKeysAdmin & HistoryAdmin

export type AdminOptions = {
  store: AdminStore
  sealer: Sealer
  models: Models
  /** A new id, `<prefix>_<lower-case ULID>`. */
  newId: Ids['newId']
  randomBytes: RandomBytes
}

export function createAdmin(options: AdminOptions): Admin {
  const rooms = { ...options, store: adminStore(options.store) }
  return {
    ...createOwnersAdmin(rooms),
    ...createLedgerAdmin(rooms),
    ...createProvidersAdmin(rooms),
    ...createAgentsAdmin(rooms),
    ...createApiKeysAdmin(rooms),
    ...createHistoryAdmin(rooms),
  }
}
