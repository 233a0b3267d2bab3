/** Every write outside the turn path, by name. Each runs in one transaction. operation.ts says what is declared of each. */
import { webhookFields } from '../../resources/webhook.ts'
import { accessWrites } from './access-writes.ts'
import { changeAgent, createAgent, deleteAgent, findAgent } from './agents.ts'
import { changeApiKey, createApiKey, findApiKeyRecord, revokeApiKey, rotateApiKey, touchApiKeys } from './api-key-records.ts'
import { recordReading, recordTrial, wasReadRecently } from './audit.ts'
import { ofAdmin, serviceWrite, write } from './operation.ts'
import type { OfAdmin, Runs } from './operation.ts'
import { ofAgent, ofKey, ofOwner, ofTurn, instead, unrestricted } from './scope.ts'
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
  limitFields,
  noFeedback,
  when,
} from './audited-fields.ts'
import { clearExpired, eraseConversations } from './erasure.ts'
import { clearKnowledge } from './knowledge/clearing.ts'
import { deleteDocument, findDocument, putContentPart, putDocument, requeueDocuments } from './knowledge/documents.ts'
import { addChunks, claimDocument, failDocument, finishDocument, indexDocument, reportProgress } from './knowledge/indexing.ts'
import { spendIndexing } from './knowledge/indexing-queue.ts'
import { renewTerms } from './knowledge/renew-terms.ts'
import { createPlaygroundKey } from './playground.ts'
import { findFeedback, putFeedback, removeFeedback } from './feedback.ts'
import { deleteEndUserLimits, findEndUserLimits, putEndUserLimits } from './spend-limits.ts'
import { clearTraces } from './traces.ts'
import { requestCancel } from './turn-status.ts'
import { claimDeliveries, endAttempts, replayDeliveries, retryDelivery } from './webhooks/deliveries.ts'
import { clearEvents } from './webhooks/events.ts'
import { changeWebhook, createWebhook, deleteWebhook, disableWebhook, findWebhook, rotateWebhookSecret } from './webhooks/webhooks.ts'
import { ownerWrites } from './owners.ts'
import { ledgerWrites } from './ledger.ts'
import { providerWrites } from './providers.ts'

const webhookAudit = auditedOf(webhookFields)

export const writes = {
  ...ownerWrites,
  ...ledgerWrites,
  ...providerWrites,
  createAgent: write(createAgent, {
    scope: ofOwner(({ ownerId }) => ownerId, { kind: 'owner_not_found' }),
    audit: (outcome) => (outcome.kind === 'created' ? created('agent', outcome.agent.id, agentFields, outcome.agent) : []),
    changesCaches: true,
  }),
  changeAgent: write(changeAgent, {
    scope: ofAgent(({ id }) => id, { kind: 'not_found' }),
    before: (sql, [{ id }]) => findAgent(sql, id),
    audit: (outcome, [{ id }], before) => changed('agent', id, agentFields, before, outcome.kind === 'changed' && outcome.agent),
    changesCaches: true,
  }),
  deleteAgent: write(deleteAgent, {
    scope: ofAgent((id) => id, false),
    before: (sql, [id]) => findAgent(sql, id),
    audit: (found, [id], before) => deleted('agent', id, agentFields, found && before),
    changesCaches: true,
  }),
  putEndUserLimits: write(putEndUserLimits, {
    scope: ofAgent(({ agentId }) => agentId, undefined),
    // Without the end user's name, because an entry of the audit log is never erased.
    before: (sql, [endUser]) => findEndUserLimits(sql, endUser),
    audit: (own, [{ agentId }], before) =>
      own ? differing('change', 'end_user_limits', agentId, before ? limitFields(before) : {}, limitFields(own)) : [],
    changesCaches: false,
  }),
  deleteEndUserLimits: write(deleteEndUserLimits, {
    scope: ofAgent(({ agentId }) => agentId, false),
    before: (sql, [endUser]) => findEndUserLimits(sql, endUser),
    audit: (found, [{ agentId }], before) => deleted('end_user_limits', agentId, limitFields, found && before),
    changesCaches: false,
  }),
  createApiKey: write(createApiKey, {
    scope: ofAgent(({ agentId }) => agentId, undefined),
    audit: (apiKey, [{ id }]) => created('key', id, apiKeyFields, apiKey),
    changesCaches: true,
  }),
  changeApiKey: write(changeApiKey, {
    scope: ofKey((id) => id, { kind: 'not_found' }),
    before: (sql, [id]) => findApiKeyRecord(sql, id),
    audit: (outcome, [id], before) => changed('key', id, apiKeyFields, before, outcome.kind === 'changed' && outcome.apiKey),
    changesCaches: true,
  }),
  revokeApiKey: write(revokeApiKey, {
    scope: ofKey((id) => id, 'not_found'),
    audit: (outcome, [id]) => when(outcome === 'revoked', 'revoke', 'key', id),
    changesCaches: true,
  }),
  rotateApiKey: write(rotateApiKey, {
    scope: ofKey((id) => id, { kind: 'not_found' }),
    audit: (outcome, [id]) => when(outcome.kind === 'changed', 'rotate', 'key', id),
    changesCaches: true,
  }),
  createPlaygroundKey: write(createPlaygroundKey, {
    scope: ofAgent(({ agentId }) => agentId, undefined),
    audit: null,
    changesCaches: true,
  }),
  touchApiKeys: serviceWrite(touchApiKeys, {
    audit: null,
    changesCaches: false,
    failpoints: ['touch-keys.before-commit', 'touch-keys.after-commit'],
  }),
  requestCancel: serviceWrite(requestCancel, {
    audit: (run, [{ requestId }]) => when(run, 'cancel', 'turn', requestId),
    changesCaches: false,
    failpoints: ['cancel.before-commit', 'cancel.after-commit'],
  }),
  putFeedback: write(putFeedback, {
    scope: ofTurn(({ requestId }) => requestId, undefined),
    before: (sql, [{ requestId }]) => findFeedback(sql, requestId),
    audit: (given, [{ requestId }], before) => changed('turn', requestId, feedbackFields, before ?? noFeedback, given),
    changesCaches: false,
  }),
  removeFeedback: write(removeFeedback, {
    scope: ofTurn((requestId) => requestId, 'not_found'),
    before: (sql, [requestId]) => findFeedback(sql, requestId),
    audit: (outcome, [requestId], before) => changed('turn', requestId, feedbackFields, before, outcome === 'removed' && noFeedback),
    changesCaches: false,
  }),
  eraseConversations: serviceWrite(eraseConversations, {
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
  clearExpired: serviceWrite(clearExpired, { audit: null, changesCaches: false }),
  clearTraces: serviceWrite(clearTraces, { audit: null, changesCaches: false }),
  putContentPart: write(putContentPart, {
    // Content of a document that does not exist yet. Its ID is new, and never one that a caller sends.
    scope: unrestricted,
    audit: null,
    changesCaches: false,
  }),
  putDocument: write(putDocument, {
    scope: ofAgent(({ agentId }) => agentId, 'agent_not_found'),
    before: (sql, [{ agentId, id }]) => findDocument(sql, agentId, id),
    audit: (outcome, [document], before) =>
      outcome === 'put' ? differing('put', 'document', document.id, before ? documentFields(before) : {}, documentFields(document)) : [],
    changesCaches: true,
  }),
  deleteDocument: write(deleteDocument, {
    scope: ofAgent(({ agentId }) => agentId, false),
    before: (sql, [{ agentId, id }]) => findDocument(sql, agentId, id),
    audit: (found, [{ id }], before) => deleted('document', id, documentFields, found && before),
    changesCaches: true,
  }),
  requeueDocuments: write(requeueDocuments, { scope: ofAgent(({ agentId }) => agentId, 0), audit: null, changesCaches: true }),
  claimDocument: serviceWrite(claimDocument, {
    audit: null,
    changesCaches: false,
    failpoints: ['claim-document.before-commit', 'claim-document.after-commit'],
  }),
  reportProgress: serviceWrite(reportProgress, { audit: null, changesCaches: false }),
  addChunks: serviceWrite(addChunks, {
    audit: null,
    changesCaches: false,
    failpoints: ['add-chunks.before-commit', 'add-chunks.after-commit'],
  }),
  spendIndexing: serviceWrite(spendIndexing, { audit: null, changesCaches: false }),
  finishDocument: serviceWrite(finishDocument, {
    audit: null,
    changesCaches: true,
    failpoints: ['finish-document.before-commit', 'finish-document.after-commit'],
  }),
  failDocument: serviceWrite(failDocument, { audit: null, changesCaches: false }),
  renewTerms: serviceWrite(renewTerms, { audit: null, changesCaches: false }),
  clearKnowledge: serviceWrite(clearKnowledge, { audit: null, changesCaches: false }),
  indexDocument: serviceWrite(indexDocument, { audit: null, changesCaches: true }),
  createWebhook: write(createWebhook, {
    scope: ({ scope }, given) => instead(given, scope),
    audit: (outcome, [{ id }]) => created('webhook', id, webhookAudit, outcome.kind === 'stored' && outcome.webhook),
    changesCaches: true,
  }),
  changeWebhook: write(changeWebhook, {
    scope: ({ scope }, id, change) => instead(id, change, scope),
    before: (sql, [id]) => findWebhook(sql, id),
    audit: (outcome, [id], before) => changed('webhook', id, webhookAudit, before, outcome.kind === 'stored' && outcome.webhook),
    changesCaches: true,
  }),
  disableWebhook: serviceWrite(disableWebhook, {
    audit: (disabled, [id]) => (disabled ? differing('change', 'webhook', id, { enabled: true }, { enabled: false }) : []),
    changesCaches: true,
  }),
  rotateWebhookSecret: write(rotateWebhookSecret, {
    scope: ({ scope }, id, next) => instead(id, next, scope),
    audit: (outcome, [id]) => when(outcome.kind === 'rotated', 'rotate', 'webhook', id),
    changesCaches: true,
  }),
  deleteWebhook: write(deleteWebhook, {
    scope: ({ scope }, id) => instead(id, scope),
    before: (sql, [id]) => findWebhook(sql, id),
    audit: (found, [id], before) => deleted('webhook', id, webhookAudit, found && before),
    changesCaches: true,
  }),
  retryDelivery: write(retryDelivery, {
    scope: ({ scope }, given) => instead({ ...given, within: scope }),
    audit: ({ kind }, [{ eventId }]) => when(kind === 'retried', 'retry', 'delivery', eventId),
    changesCaches: true,
  }),
  replayDeliveries: write(replayDeliveries, {
    scope: ({ scope }, given) => instead({ ...given, within: scope }),
    audit: (outcome, [{ webhookId }]) => when(outcome.kind === 'replayed', 'replay', 'webhook', webhookId),
    changesCaches: true,
  }),
  claimDeliveries: serviceWrite(claimDeliveries, {
    audit: null,
    changesCaches: false,
    failpoints: ['claim-deliveries.before-commit', 'claim-deliveries.after-commit'],
  }),
  endAttempts: serviceWrite(endAttempts, {
    audit: null,
    changesCaches: false,
    failpoints: ['end-attempts.before-commit', 'end-attempts.after-commit'],
  }),
  clearEvents: serviceWrite(clearEvents, { audit: null, changesCaches: false }),
  // `audit.reads`: its entry is all that it writes. Writes of all processes run one after the other, so two at once add one entry.
  recordReading: write(recordReading, {
    // After the text was found within the scope.
    scope: unrestricted,
    before: (sql, [reading], author) => wasReadRecently(sql, reading, author),
    audit: (_, [reading], isRecent) => (isRecent ? [] : [reading]),
    changesCaches: false,
  }),
  // `audit.trials`, in the same way.
  recordTrial: write(recordTrial, {
    scope: ofAgent(({ agentId }) => agentId, undefined),
    audit: (_, [{ agentId: subjectId, tool }]) => [
      { verb: 'try', noun: 'agent', subjectId, fields: tool === null ? [] : [`tools.${tool}`] },
    ],
    changesCaches: false,
  }),
  ...accessWrites,
}
export type Writes = Runs<typeof writes>

/** Those that the admin API can call. */
export const adminWrites = ofAdmin(writes)
export type AdminWrites = Runs<OfAdmin<typeof writes>>
