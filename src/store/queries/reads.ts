/** Every read outside the turn path, by name. Each runs in one read snapshot. operation.ts says what is declared of each. */

import { ofAdmin } from './operation.ts'
import type { OfAdmin, Runs } from './operation.ts'
import { ownerReads } from './owners.ts'
import { ledgerReads } from './ledger.ts'
import { providerReads } from './providers.ts'
import { agentVersionReads } from './agent-versions.ts'
import { agentReads } from './agents.ts'
import { endUserLimitReads } from './spend-limits.ts'
import { spendingReads } from './spending.ts'
import { apiKeyRecordReads } from './api-key-records.ts'
import { apiKeyReads } from './api-keys.ts'
import { playgroundReads } from './playground.ts'
import { operatorReads } from './operators.ts'
import { passkeyReads } from './passkeys.ts'
import { sessionReads } from './sessions.ts'
import { signInSecretReads } from './sign-in-secrets.ts'
import { adminTokenReads } from './admin-tokens.ts'
import { conversationReads } from './conversations.ts'
import { anyConversationReads } from './any-conversations.ts'
import { conversationSearchReads } from './conversation-search.ts'
import { feedbackReads } from './feedback.ts'
import { turnReads } from './turns.ts'
import { turnStatusReads } from './turn-status.ts'
import { traceReads } from './traces.ts'
import { openaiLookUpReads } from './openai-look-ups.ts'
import { endUserReads } from './end-users.ts'
import { endUserExportReads } from './end-user-export.ts'
import { erasureReads } from './erasure.ts'
import { usageReads } from './usage.ts'
import { usageLineReads } from './usage-lines.ts'
import { attentionReads } from './attention.ts'
import { auditLogReads } from './audit-log.ts'
import { invariantReads } from './invariants.ts'
import { scopeOfReads } from './scope-of.ts'
import { documentReads } from './knowledge/documents.ts'
import { contentReads } from './knowledge/content.ts'
import { indexingQueueReads } from './knowledge/indexing-queue.ts'
import { knowledgeBaseReads } from './knowledge/knowledge-state.ts'
import { knowledgeReads } from './knowledge/knowledge.ts'
import { vectorReads } from './knowledge/vectors.ts'
import { webhookReads } from './webhooks/webhooks.ts'
import { deliveryReads } from './webhooks/deliveries.ts'
import { eventDataReads } from './webhooks/event-data.ts'

export const reads = {
  ...ownerReads,
  ...ledgerReads,
  ...providerReads,
  ...agentVersionReads,
  ...agentReads,
  ...endUserLimitReads,
  ...spendingReads,
  ...apiKeyRecordReads,
  ...apiKeyReads,
  ...playgroundReads,
  ...operatorReads,
  ...passkeyReads,
  ...sessionReads,
  ...signInSecretReads,
  ...adminTokenReads,
  ...conversationReads,
  ...anyConversationReads,
  ...conversationSearchReads,
  ...feedbackReads,
  ...turnReads,
  ...turnStatusReads,
  ...traceReads,
  ...openaiLookUpReads,
  ...endUserReads,
  ...endUserExportReads,
  ...erasureReads,
  ...usageReads,
  ...usageLineReads,
  ...attentionReads,
  ...auditLogReads,
  ...invariantReads,
  ...scopeOfReads,
  ...documentReads,
  ...contentReads,
  ...indexingQueueReads,
  ...knowledgeBaseReads,
  ...knowledgeReads,
  ...vectorReads,
  ...webhookReads,
  ...deliveryReads,
  ...eventDataReads,
}
export type Reads = Runs<typeof reads>

/** Those that the admin API can call. */
export const adminReads = ofAdmin(reads)
export type AdminReads = Runs<OfAdmin<typeof reads>>
