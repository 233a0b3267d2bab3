/** Every cold write, by name; each runs in one transaction. */
import type { FailpointName } from '../../failpoints.ts'
import { clearKnowledge } from './knowledge/clearing.ts'
import { deleteDocument, putContentPart, putDocument, requeueDocuments } from './knowledge/documents.ts'
import { addChunks, claimDocument, failDocument, finishDocument, indexDocument, reportProgress } from './knowledge/indexing.ts'
import { changeAgent, createAgent, deleteAgent } from './agents.ts'
import { changeApiKey, createApiKey, revokeApiKey, rotateApiKey, touchApiKeys } from './api-key-records.ts'
import { clearExpired, eraseConversations } from './erasure.ts'
import { appendLedgerEntry } from './ledger.ts'
import { createOwner, renameOwner } from './owners.ts'
import { createPlaygroundKey } from './playground.ts'
import { changeProvider, createProvider, deleteProvider } from './providers.ts'
import { closeSession, openSession } from './sessions.ts'

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
  openSession,
  closeSession,
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

/** The failpoints around the commit of a write. */
export const writePoints = (name: keyof Writes): [before: FailpointName, after: FailpointName] =>
  ownPoints[name] ?? ['write.before-commit', 'write.after-commit']

const ownPoints: Partial<Record<keyof Writes, [FailpointName, FailpointName]>> = {
  touchApiKeys: ['touch-keys.before-commit', 'touch-keys.after-commit'],
  eraseConversations: ['erase.before-commit', 'erase.after-commit'],
  claimDocument: ['claim-document.before-commit', 'claim-document.after-commit'],
  addChunks: ['add-chunks.before-commit', 'add-chunks.after-commit'],
  finishDocument: ['finish-document.before-commit', 'finish-document.after-commit'],
}

/** After these nobody need read anew what is kept in memory: agents, keys, providers, what a search finds. */
export const unseen: ReadonlySet<keyof Writes> = new Set<keyof Writes>([
  'touchApiKeys',
  'clearExpired',
  'eraseConversations',
  'appendLedgerEntry',
  'createOwner',
  'renameOwner',
  'openSession',
  'closeSession',
  'putContentPart',
  'claimDocument',
  'reportProgress',
  'addChunks',
  'failDocument',
  'clearKnowledge',
])
