/**
 * Every write outside the turn path, by name. Each runs in one transaction. One entry says all there is to know about a write: its function,
 * its audit entries, whether processes must reload what they cache, and the failpoints around its commit.
 */
import type { FailpointName } from '../../failpoints.ts'
import type { Sql } from '../sql.ts'
import { agentVersion, changeAgent, createAgent, deleteAgent } from './agents.ts'
import { changeApiKey, createApiKey, revokeApiKey, rotateApiKey, touchApiKeys } from './api-key-records.ts'
import { addAuditEntries, differingFields } from './audit.ts'
import type { NewAuditEntry, Author } from './audit.ts'
import { clearExpired, eraseConversations } from './erasure.ts'
import { clearKnowledge } from './knowledge/clearing.ts'
import { deleteDocument, putContentPart, putDocument, requeueDocuments } from './knowledge/documents.ts'
import { addChunks, claimDocument, failDocument, finishDocument, indexDocument, reportProgress } from './knowledge/indexing.ts'
import { appendLedgerEntry } from './ledger.ts'
import { changeOwner, createOwner } from './owners.ts'
import { createAdminToken, revokeAdminToken, touchAdminToken } from './admin-tokens.ts'
import { changeOperator, createOperator, endSessions, inviteOperator, removeOperator } from './operators.ts'
import { acceptInvitation, recoverOperator, setPassword, signInWithCompany, upgradePasswordHash } from './operator-sign-in.ts'
import { addPasskey, removePasskey, usePasskey } from './passkeys.ts'
import { createPlaygroundKey } from './playground.ts'
import { changeProvider, createProvider, deleteProvider } from './providers.ts'
import { putFeedback } from './feedback.ts'
import { deleteEndUserLimits, putEndUserLimits } from './spend-limits.ts'
import { closeSession, openSession } from './sessions.ts'
import { clearTraces } from './traces.ts'
import { requestCancel } from './turn-status.ts'
import { claimDeliveries, endAttempts, replayDeliveries, retryDelivery } from './webhooks/deliveries.ts'
import { clearEvents } from './webhooks/events.ts'
import { changeWebhook, createWebhook, deleteWebhook, disableWebhook, rotateWebhookSecret } from './webhooks/webhooks.ts'

type Write<Args extends unknown[], Result> = {
  run: (sql: Sql, ...args: Args) => Result
  /** The audit entries of a write by an author, empty if nothing changed. Null: never in the audit log. */
  audit: ((result: Awaited<Result>, args: Args, sql: Sql) => NewAuditEntry[] | Promise<NewAuditEntry[]>) | null
  /** Whether it changes what processes cache: agents, keys, providers and what a search finds. */
  changesCaches: boolean
  failpoints: [beforeCommit: FailpointName, afterCommit: FailpointName]
}
type About<Args extends unknown[], Result> = Omit<Write<Args, Result>, 'run' | 'failpoints'> & Partial<Write<Args, Result>>

const write = <Args extends unknown[], Result>(
  run: (sql: Sql, ...args: Args) => Result,
  about: About<Args, Result>,
): Write<Args, Result> => ({ failpoints: ['write.before-commit', 'write.after-commit'], ...about, run })

/** `[entry]` if something changed. */
const when = (changed: unknown, verb: string, noun: string, subjectId: string, fields: string[] = []): NewAuditEntry[] =>
  changed ? [{ verb, noun, subjectId, fields }] : []

export const writes = {
  createOwner: write(createOwner, { audit: (owner) => when(owner, 'create', 'owner', owner.id), changesCaches: false }),
  changeOwner: write(changeOwner, {
    audit: (owner, [id, change]) => when(owner, 'change', 'owner', id, Object.keys(change)),
    changesCaches: false,
  }),
  appendLedgerEntry: write(appendLedgerEntry, {
    // A repeated idempotency key returns the first entry and changes nothing.
    audit: (outcome, [given]) =>
      outcome.kind === 'appended' ? when(outcome.entry.id === given.id, 'append', 'ledger_entry', outcome.entry.id) : [],
    changesCaches: false,
  }),

  createProvider: write(createProvider, {
    audit: (provider, [{ id }]) => when(provider, 'create', 'provider', id),
    changesCaches: true,
  }),
  changeProvider: write(changeProvider, {
    audit: (outcome, [id, change]) => when(outcome.kind === 'changed', 'change', 'provider', id, Object.keys(change)),
    changesCaches: true,
  }),
  deleteProvider: write(deleteProvider, {
    audit: (outcome, [id]) => when(outcome.kind === 'deleted', 'delete', 'provider', id),
    changesCaches: true,
  }),

  createAgent: write(createAgent, {
    audit: (outcome) => (outcome.kind === 'created' ? when(true, 'create', 'agent', outcome.agent.id) : []),
    changesCaches: true,
  }),
  changeAgent: write(changeAgent, {
    async audit(outcome, [{ id, enabled, spendLimits, next }], sql) {
      if (outcome.kind !== 'changed') return []
      const before = next && (await agentVersion(sql, id, next.after))
      const content = next && before ? differingFields(before, next.content) : []
      const others = { ...(enabled !== undefined && { enabled }), ...(spendLimits && { spendLimits }) }
      return when(true, 'change', 'agent', id, [...content, ...Object.keys(others)])
    },
    changesCaches: true,
  }),
  deleteAgent: write(deleteAgent, { audit: (found, [id]) => when(found, 'delete', 'agent', id), changesCaches: true }),

  putEndUserLimits: write(putEndUserLimits, {
    // Without the end user's name, because an entry of the audit log is never erased.
    audit: (limits, [{ agentId }]) => when(limits, 'change', 'end_user_limits', agentId, ['spend_limits']),
    changesCaches: false,
  }),
  deleteEndUserLimits: write(deleteEndUserLimits, {
    audit: (found, [{ agentId }]) => when(found, 'delete', 'end_user_limits', agentId),
    changesCaches: false,
  }),

  createApiKey: write(createApiKey, { audit: (apiKey, [{ id }]) => when(apiKey, 'create', 'key', id), changesCaches: true }),
  changeApiKey: write(changeApiKey, {
    audit: (outcome, [id, change]) => when(outcome.kind === 'changed', 'change', 'key', id, Object.keys(change)),
    changesCaches: true,
  }),
  revokeApiKey: write(revokeApiKey, { audit: (outcome, [id]) => when(outcome === 'revoked', 'revoke', 'key', id), changesCaches: true }),
  rotateApiKey: write(rotateApiKey, {
    audit: (outcome, [id]) => when(outcome.kind === 'changed', 'rotate', 'key', id),
    changesCaches: true,
  }),
  createPlaygroundKey: write(createPlaygroundKey, { audit: null, changesCaches: true }),
  touchApiKeys: write(touchApiKeys, {
    audit: null,
    changesCaches: false,
    failpoints: ['touch-keys.before-commit', 'touch-keys.after-commit'],
  }),

  requestCancel: write(requestCancel, {
    audit: (run, [{ requestId }]) => when(run, 'cancel', 'turn', requestId),
    changesCaches: false,
    failpoints: ['cancel.before-commit', 'cancel.after-commit'],
  }),
  putFeedback: write(putFeedback, { audit: null, changesCaches: false }),

  eraseConversations: write(eraseConversations, {
    audit: (outcome) => (outcome.kind === 'erased' ? outcome.conversationIds.flatMap((id) => when(true, 'erase', 'conversation', id)) : []),
    changesCaches: false,
    failpoints: ['erase.before-commit', 'erase.after-commit'],
  }),
  clearExpired: write(clearExpired, { audit: null, changesCaches: false }),
  clearTraces: write(clearTraces, { audit: null, changesCaches: false }),

  putContentPart: write(putContentPart, { audit: null, changesCaches: false }),
  putDocument: write(putDocument, {
    audit: (outcome, [{ id }]) => when(outcome === 'put', 'put', 'document', id),
    changesCaches: true,
  }),
  deleteDocument: write(deleteDocument, { audit: (found, [{ id }]) => when(found, 'delete', 'document', id), changesCaches: true }),
  requeueDocuments: write(requeueDocuments, { audit: null, changesCaches: true }),
  claimDocument: write(claimDocument, {
    audit: null,
    changesCaches: false,
    failpoints: ['claim-document.before-commit', 'claim-document.after-commit'],
  }),
  reportProgress: write(reportProgress, { audit: null, changesCaches: false }),
  addChunks: write(addChunks, {
    audit: null,
    changesCaches: false,
    failpoints: ['add-chunks.before-commit', 'add-chunks.after-commit'],
  }),
  finishDocument: write(finishDocument, {
    audit: null,
    changesCaches: true,
    failpoints: ['finish-document.before-commit', 'finish-document.after-commit'],
  }),
  failDocument: write(failDocument, { audit: null, changesCaches: false }),
  clearKnowledge: write(clearKnowledge, { audit: null, changesCaches: false }),
  indexDocument: write(indexDocument, { audit: null, changesCaches: true }),

  createWebhook: write(createWebhook, {
    audit: (outcome, [{ id }]) => when(outcome.kind === 'stored', 'create', 'webhook', id),
    changesCaches: true,
  }),
  changeWebhook: write(changeWebhook, {
    audit: (outcome, [id, change]) => when(outcome.kind === 'stored', 'change', 'webhook', id, Object.keys(change)),
    changesCaches: true,
  }),
  disableWebhook: write(disableWebhook, {
    audit: (disabled, [id]) => when(disabled, 'change', 'webhook', id, ['enabled']),
    changesCaches: true,
  }),
  rotateWebhookSecret: write(rotateWebhookSecret, {
    audit: (webhook, [id]) => when(webhook, 'rotate', 'webhook', id),
    changesCaches: true,
  }),
  deleteWebhook: write(deleteWebhook, { audit: (found, [id]) => when(found, 'delete', 'webhook', id), changesCaches: true }),
  retryDelivery: write(retryDelivery, {
    audit: (delivery, [{ eventId }]) => when(delivery, 'retry', 'delivery', eventId),
    changesCaches: true,
  }),
  replayDeliveries: write(replayDeliveries, {
    audit: (outcome, [{ webhookId }]) => when(outcome.kind === 'replayed', 'replay', 'webhook', webhookId),
    changesCaches: true,
  }),
  claimDeliveries: write(claimDeliveries, {
    audit: null,
    changesCaches: false,
    failpoints: ['claim-deliveries.before-commit', 'claim-deliveries.after-commit'],
  }),
  endAttempts: write(endAttempts, {
    audit: null,
    changesCaches: false,
    failpoints: ['end-attempts.before-commit', 'end-attempts.after-commit'],
  }),
  clearEvents: write(clearEvents, { audit: null, changesCaches: false }),

  createOperator: write(createOperator, {
    audit: (outcome) => (outcome.kind === 'created' ? when(true, 'create', 'operator', outcome.operator.id) : []),
    changesCaches: false,
  }),
  inviteOperator: write(inviteOperator, { audit: (operator, [id]) => when(operator, 'invite', 'operator', id), changesCaches: false }),
  changeOperator: write(changeOperator, {
    audit: (outcome, [id, change]) => when(outcome.kind === 'changed', 'change', 'operator', id, Object.keys(change)),
    changesCaches: false,
  }),
  removeOperator: write(removeOperator, {
    audit: (outcome, [id]) => when(outcome.kind === 'removed', 'remove', 'operator', id),
    changesCaches: false,
  }),
  endSessions: write(endSessions, { audit: (ended, [id]) => when(ended, 'end_sessions', 'operator', id), changesCaches: false }),
  createAdminToken: write(createAdminToken, {
    audit: (outcome, [{ id }]) => when(outcome.kind === 'created', 'create', 'token', id),
    changesCaches: false,
  }),
  revokeAdminToken: write(revokeAdminToken, { audit: (token, [id]) => when(token, 'revoke', 'token', id), changesCaches: false }),
  touchAdminToken: write(touchAdminToken, { audit: null, changesCaches: false }),

  acceptInvitation: write(acceptInvitation, {
    audit: (operator) => (operator ? when(true, 'accept', 'invitation', operator.id) : []),
    changesCaches: false,
  }),
  recoverOperator: write(recoverOperator, {
    audit: (outcome) => (outcome.kind === 'recovered' ? when(true, 'recover', 'operator', outcome.operator.id) : []),
    changesCaches: false,
  }),
  setPassword: write(setPassword, {
    audit: (changed, [{ operatorId }]) => when(changed, 'change', 'operator', operatorId, ['password']),
    changesCaches: false,
  }),
  upgradePasswordHash: write(upgradePasswordHash, { audit: null, changesCaches: false }),
  signInWithCompany: write(signInWithCompany, {
    audit(outcome) {
      if (outcome.kind === 'no_role') return outcome.operator ? when(true, 'end_sessions', 'operator', outcome.operator.id) : []
      if (outcome.kind !== 'accepted' || outcome.change === null) return []
      return when(true, outcome.change === 'created' ? 'create' : 'change', 'operator', outcome.operator.id, outcome.fields)
    },
    changesCaches: false,
  }),
  addPasskey: write(addPasskey, {
    audit: (outcome) => (outcome.kind === 'added' ? when(true, 'create', 'passkey', outcome.passkey.id) : []),
    changesCaches: false,
  }),
  usePasskey: write(usePasskey, { audit: null, changesCaches: false }),
  removePasskey: write(removePasskey, {
    audit: (outcome, [, id]) => when(outcome === 'removed', 'delete', 'passkey', id),
    changesCaches: false,
  }),
  openSession: write(openSession, { audit: (session) => (session ? when(true, 'open', 'session', session.id) : []), changesCaches: false }),
  closeSession: write(closeSession, { audit: (found, [id]) => when(found, 'close', 'session', id), changesCaches: false }),
}
export type Writes = { [Name in keyof typeof writes]: (typeof writes)[Name]['run'] }

export type WriteCall = { name: keyof Writes; args: unknown[]; author: Author | undefined }

/** Runs a write and adds its audit entries if it has an author. Call it inside one transaction. */
export async function performWrite(sql: Sql, { name, args, author }: WriteCall): Promise<unknown> {
  const { run, audit } = writes[name] as unknown as Write<unknown[], unknown>
  const result = await run(sql, ...args)
  if (author && audit) await addAuditEntries(sql, author, await audit(result, args, sql))
  return result
}
