/**
 * Every write outside the turn path, by name. Each runs in one transaction. One entry says all there is to know about a write: its function,
 * its audit entries, whether processes must reload what they cache, and the failpoints around its commit.
 */
import { webhookFields } from '../../resources/webhook.ts'
import { accessWrites } from './access-writes.ts'
import { changeAgent, createAgent, deleteAgent, findAgent } from './agents.ts'
import { changeApiKey, createApiKey, findApiKeyRecord, revokeApiKey, rotateApiKey, touchApiKeys } from './api-key-records.ts'
import { recordReading, recordTrial, wasReadRecently } from './audit.ts'
import { when, write } from './write.ts'
import {
  agentFields,
  apiKeyFields,
  auditedOf,
  changed,
  created,
  deleted,
  differing,
  documentFields,
  feedbackFields,
  ledgerEntryFields,
  limitFields,
  newOwnerFields,
  noFeedback,
  ownerFields,
  providerFields,
} from './audited-fields.ts'
import { clearExpired, eraseConversations } from './erasure.ts'
import { clearKnowledge } from './knowledge/clearing.ts'
import { deleteDocument, findDocument, putContentPart, putDocument, requeueDocuments } from './knowledge/documents.ts'
import { addChunks, claimDocument, failDocument, finishDocument, indexDocument, reportProgress } from './knowledge/indexing.ts'
import { spendIndexing } from './knowledge/indexing-queue.ts'
import { renewTerms } from './knowledge/renew-terms.ts'
import { appendLedgerEntry } from './ledger.ts'
import { changeOwner, createOwner, findOwner } from './owners.ts'
import { createPlaygroundKey } from './playground.ts'
import { changeProvider, createProvider, deleteProvider, findProviderById } from './providers.ts'
import { findFeedback, putFeedback, removeFeedback } from './feedback.ts'
import { deleteEndUserLimits, findEndUserLimits, putEndUserLimits } from './spend-limits.ts'
import { clearTraces } from './traces.ts'
import { requestCancel } from './turn-status.ts'
import { claimDeliveries, endAttempts, replayDeliveries, retryDelivery } from './webhooks/deliveries.ts'
import { clearEvents } from './webhooks/events.ts'
import { changeWebhook, createWebhook, deleteWebhook, disableWebhook, findWebhook, rotateWebhookSecret } from './webhooks/webhooks.ts'

const webhookAudit = auditedOf(webhookFields)

export const writes = {
  createOwner: write(createOwner, {
    audit: (owner) => created('owner', owner.id, newOwnerFields, owner),
    changesCaches: false,
  }),
  changeOwner: write(changeOwner, {
    before: (sql, [id]) => findOwner(sql, id),
    audit: (owner, [id], before) => changed('owner', id, ownerFields, before, owner),
    changesCaches: false,
  }),
  appendLedgerEntry: write(appendLedgerEntry, {
    // A repeated idempotency key returns the first entry and changes nothing.
    audit: (outcome, [{ id }]) =>
      outcome.kind === 'appended' && outcome.entry.id === id
        ? differing('append', 'ledger_entry', id, {}, ledgerEntryFields(outcome.entry))
        : [],
    changesCaches: false,
  }),

  createProvider: write(createProvider, {
    audit: (provider, [{ id }]) => created('provider', id, providerFields, provider),
    changesCaches: true,
  }),
  changeProvider: write(changeProvider, {
    before: (sql, [id]) => findProviderById(sql, id),
    audit: (outcome, [id], before) => changed('provider', id, providerFields, before, outcome.kind === 'changed' && outcome.provider),
    changesCaches: true,
  }),
  deleteProvider: write(deleteProvider, {
    before: (sql, [id]) => findProviderById(sql, id),
    audit: (outcome, [id], before) => deleted('provider', id, providerFields, outcome.kind === 'deleted' && before),
    changesCaches: true,
  }),

  createAgent: write(createAgent, {
    audit: (outcome) => (outcome.kind === 'created' ? created('agent', outcome.agent.id, agentFields, outcome.agent) : []),
    changesCaches: true,
  }),
  changeAgent: write(changeAgent, {
    before: (sql, [{ id }]) => findAgent(sql, id),
    audit: (outcome, [{ id }], before) => changed('agent', id, agentFields, before, outcome.kind === 'changed' && outcome.agent),
    changesCaches: true,
  }),
  deleteAgent: write(deleteAgent, {
    before: (sql, [id]) => findAgent(sql, id),
    audit: (found, [id], before) => deleted('agent', id, agentFields, found && before),
    changesCaches: true,
  }),

  putEndUserLimits: write(putEndUserLimits, {
    // Without the end user's name, because an entry of the audit log is never erased.
    before: (sql, [endUser]) => findEndUserLimits(sql, endUser),
    audit: (own, [{ agentId }], before) =>
      own ? differing('change', 'end_user_limits', agentId, before ? limitFields(before) : {}, limitFields(own)) : [],
    changesCaches: false,
  }),
  deleteEndUserLimits: write(deleteEndUserLimits, {
    before: (sql, [endUser]) => findEndUserLimits(sql, endUser),
    audit: (found, [{ agentId }], before) => deleted('end_user_limits', agentId, limitFields, found && before),
    changesCaches: false,
  }),

  createApiKey: write(createApiKey, {
    audit: (apiKey, [{ id }]) => created('key', id, apiKeyFields, apiKey),
    changesCaches: true,
  }),
  changeApiKey: write(changeApiKey, {
    before: (sql, [id]) => findApiKeyRecord(sql, id),
    audit: (outcome, [id], before) => changed('key', id, apiKeyFields, before, outcome.kind === 'changed' && outcome.apiKey),
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
  putFeedback: write(putFeedback, {
    before: (sql, [{ requestId }]) => findFeedback(sql, requestId),
    audit: (given, [{ requestId }], before) => changed('turn', requestId, feedbackFields, before ?? noFeedback, given),
    changesCaches: false,
  }),
  removeFeedback: write(removeFeedback, {
    before: (sql, [requestId]) => findFeedback(sql, requestId),
    audit: (outcome, [requestId], before) => changed('turn', requestId, feedbackFields, before, outcome === 'removed' && noFeedback),
    changesCaches: false,
  }),

  eraseConversations: write(eraseConversations, {
    audit: (outcome) =>
      outcome.kind === 'erased'
        ? [
            ...outcome.conversationIds.flatMap((id) => when(true, 'erase', 'conversation', id)),
            ...when(outcome.limitsOf, 'erase', 'end_user_limits', outcome.limitsOf ?? ''),
          ]
        : [],
    changesCaches: false,
    failpoints: ['erase.before-commit', 'erase.after-commit'],
  }),
  clearExpired: write(clearExpired, { audit: null, changesCaches: false }),
  clearTraces: write(clearTraces, { audit: null, changesCaches: false }),

  putContentPart: write(putContentPart, { audit: null, changesCaches: false }),
  putDocument: write(putDocument, {
    before: (sql, [{ agentId, id }]) => findDocument(sql, agentId, id),
    audit: (outcome, [document], before) =>
      outcome === 'put' ? differing('put', 'document', document.id, before ? documentFields(before) : {}, documentFields(document)) : [],
    changesCaches: true,
  }),
  deleteDocument: write(deleteDocument, {
    before: (sql, [{ agentId, id }]) => findDocument(sql, agentId, id),
    audit: (found, [{ id }], before) => deleted('document', id, documentFields, found && before),
    changesCaches: true,
  }),
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
  spendIndexing: write(spendIndexing, { audit: null, changesCaches: false }),
  finishDocument: write(finishDocument, {
    audit: null,
    changesCaches: true,
    failpoints: ['finish-document.before-commit', 'finish-document.after-commit'],
  }),
  failDocument: write(failDocument, { audit: null, changesCaches: false }),
  renewTerms: write(renewTerms, { audit: null, changesCaches: false }),
  clearKnowledge: write(clearKnowledge, { audit: null, changesCaches: false }),
  indexDocument: write(indexDocument, { audit: null, changesCaches: true }),

  createWebhook: write(createWebhook, {
    audit: (outcome, [{ id }]) => created('webhook', id, webhookAudit, outcome.kind === 'stored' && outcome.webhook),
    changesCaches: true,
  }),
  changeWebhook: write(changeWebhook, {
    before: (sql, [id]) => findWebhook(sql, id),
    audit: (outcome, [id], before) => changed('webhook', id, webhookAudit, before, outcome.kind === 'stored' && outcome.webhook),
    changesCaches: true,
  }),
  disableWebhook: write(disableWebhook, {
    audit: (disabled, [id]) => (disabled ? differing('change', 'webhook', id, { enabled: true }, { enabled: false }) : []),
    changesCaches: true,
  }),
  rotateWebhookSecret: write(rotateWebhookSecret, {
    audit: (outcome, [id]) => when(outcome.kind === 'rotated', 'rotate', 'webhook', id),
    changesCaches: true,
  }),
  deleteWebhook: write(deleteWebhook, {
    before: (sql, [id]) => findWebhook(sql, id),
    audit: (found, [id], before) => deleted('webhook', id, webhookAudit, found && before),
    changesCaches: true,
  }),
  retryDelivery: write(retryDelivery, {
    audit: ({ kind }, [{ eventId }]) => when(kind === 'retried', 'retry', 'delivery', eventId),
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

  ...accessWrites,

  // `audit.reads`: its entry is all that it writes. Writes of all processes run one after the other, so two at once add one entry.
  recordReading: write(recordReading, {
    before: (sql, [reading], author) => wasReadRecently(sql, reading, author),
    audit: (_, [reading], isRecent) => (isRecent ? [] : [reading]),
    changesCaches: false,
  }),
  // `audit.trials`, in the same way.
  recordTrial: write(recordTrial, {
    audit: (_, [{ agentId: subjectId, tool }]) => [
      { verb: 'try', noun: 'agent', subjectId, fields: tool === null ? [] : [`tools.${tool}`] },
    ],
    changesCaches: false,
  }),
}
export type Writes = { [Name in keyof typeof writes]: (typeof writes)[Name]['run'] }
