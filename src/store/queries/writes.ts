/** Every write outside the turn path, by name. Each runs in one transaction. operation.ts says what is declared of each. */
import { ofAdmin } from './operation.ts'
import type { OfAdmin, Runs } from './operation.ts'
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

import { webhookWrites } from './webhooks/webhooks.ts'
import { deliveryWrites } from './webhooks/deliveries.ts'
import { replayWrites } from './webhooks/replay.ts'
import { eventWrites } from './webhooks/events.ts'

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
  ...webhookWrites,
  ...deliveryWrites,
  ...replayWrites,
  ...eventWrites,
}
export type Writes = Runs<typeof writes>

/** Those that the admin API can call. */
export const adminWrites = ofAdmin(writes)
export type AdminWrites = Runs<OfAdmin<typeof writes>>
