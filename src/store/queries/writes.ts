/** Every write outside the turn path, by name. Each runs in one transaction. operation.ts says what is declared of each. */
import { webhookFields } from '../../resources/webhook.ts'
import { ofAdmin, serviceWrite, write } from './operation.ts'
import type { OfAdmin, Runs } from './operation.ts'
import { instead } from './scope.ts'
import { auditedOf, changed, created, deleted, differing, when } from './audited-fields.ts'
import { claimDeliveries, endAttempts, replayDeliveries, retryDelivery } from './webhooks/deliveries.ts'
import { clearEvents } from './webhooks/events.ts'
import { changeWebhook, createWebhook, deleteWebhook, disableWebhook, findWebhook, rotateWebhookSecret } from './webhooks/webhooks.ts'
import { ownerWrites } from './owners.ts'
import { ledgerWrites } from './ledger.ts'
import { providerWrites } from './providers.ts'
import { agentWrites } from './agents.ts'
import { endUserLimitWrites } from './spend-limits.ts'
import { apiKeyRecordWrites } from './api-key-records.ts'
import { playgroundWrites } from './playground.ts'
import { operatorWrites } from './operators.ts'
import { operatorSignInWrites } from './operator-sign-in.ts'
import { passkeyWrites } from './passkeys.ts'
import { sessionWrites } from './sessions.ts'
import { signInSecretWrites } from './sign-in-secrets.ts'
import { adminTokenWrites } from './admin-tokens.ts'
import { feedbackWrites } from './feedback.ts'
import { turnStatusWrites } from './turn-status.ts'
import { traceWrites } from './traces.ts'
import { erasureWrites } from './erasure.ts'
import { auditLogWrites } from './audit-log.ts'
import { documentWrites } from './knowledge/documents.ts'
import { contentWrites } from './knowledge/content.ts'
import { indexingQueueWrites } from './knowledge/indexing-queue.ts'
import { indexingWrites } from './knowledge/indexing.ts'
import { clearingWrites } from './knowledge/clearing.ts'
import { termWrites } from './knowledge/renew-terms.ts'

const webhookAudit = auditedOf(webhookFields)

export const writes = {
  ...ownerWrites,
  ...ledgerWrites,
  ...providerWrites,
  ...agentWrites,
  ...endUserLimitWrites,
  ...apiKeyRecordWrites,
  ...playgroundWrites,
  ...operatorWrites,
  ...operatorSignInWrites,
  ...passkeyWrites,
  ...sessionWrites,
  ...signInSecretWrites,
  ...adminTokenWrites,
  ...feedbackWrites,
  ...turnStatusWrites,
  ...traceWrites,
  ...erasureWrites,
  ...auditLogWrites,
  ...documentWrites,
  ...contentWrites,
  ...indexingQueueWrites,
  ...indexingWrites,
  ...clearingWrites,
  ...termWrites,
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
}
export type Writes = Runs<typeof writes>

/** Those that the admin API can call. */
export const adminWrites = ofAdmin(writes)
export type AdminWrites = Runs<OfAdmin<typeof writes>>
