/** Every cold write, by name; each runs in one transaction. */
import { clearKnowledge } from './clearing.ts'
import { deleteDocument, putContentPart, putDocument, requeueDocuments } from './documents.ts'
import { addChunks, claimDocument, failDocument, finishDocument, indexDocument, reportProgress } from './indexing.ts'
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
  putContentPart,
  putDocument,
  claimDocument,
  reportProgress,
  addChunks,
  finishDocument,
  failDocument,
  deleteDocument,
  requeueDocuments,
  clearKnowledge,
  indexDocument,
}
export type Writes = typeof writes

/** After these nobody need read anew what is kept in memory: agents, keys, providers, what a search finds. */
export const unseen: ReadonlySet<keyof Writes> = new Set<keyof Writes>([
  'touchApiKeys',
  'clearExpired',
  'eraseConversations',
  'appendLedgerEntry',
  'createOwner',
  'renameOwner',
  'putContentPart',
  'claimDocument',
  'reportProgress',
  'addChunks',
  'failDocument',
  'clearKnowledge',
])
