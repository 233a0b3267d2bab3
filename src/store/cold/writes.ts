/** Every cold write, by name; each runs in one transaction. */
import { indexDocument } from './knowledge.ts'
import { changeAgent, createAgent, deleteAgent } from './agents.ts'
import { changeApiKey, createApiKey, revokeApiKey, rotateApiKey, touchApiKeys } from './api-key-records.ts'
import { clearExpired, eraseConversations } from './erasure.ts'
import { appendLedgerEntry } from './ledger.ts'
import { createOwner, renameOwner } from './owners.ts'
import { createPlaygroundKey } from './playground.ts'
import { changeProvider, createProvider, deleteProvider } from './providers.ts'

export const writes = {
  changeAgent,
  createAgent,
  deleteAgent,
  changeApiKey,
  createApiKey,
  revokeApiKey,
  rotateApiKey,
  touchApiKeys,
  createPlaygroundKey,
  clearExpired,
  eraseConversations,
  appendLedgerEntry,
  createOwner,
  renameOwner,
  changeProvider,
  createProvider,
  deleteProvider,
  indexDocument,
}
export type Writes = typeof writes
