/** Every read outside the turn path, by name. Each runs in one read snapshot. */
import { findApiKeys } from './api-keys.ts'
import { findConversation, listAllConversations, listAllMessages, listConversations, listMessages } from './conversations.ts'
import { searchConversations } from './conversation-search.ts'
import { findDocument, listDocuments, readContentPart } from './knowledge/documents.ts'
import { knowledgeState } from './knowledge/knowledge-state.ts'
import { listChunks, readChunks, searchChunks } from './knowledge/knowledge.ts'
import { listIndexChanges, readVectors } from './knowledge/vectors.ts'
import { verify } from './invariants.ts'
import { listAudit, wasReadRecently } from './audit.ts'
import { conversationExists, findConversationsOfEndUser, findIdleConversations } from './erasure.ts'
import { findPlaygroundKey } from './playground.ts'
import { storeTime, usageByBucket } from './usage.ts'
import { listUsageLines } from './usage-lines.ts'
import { listAttention } from './attention.ts'
import { findEndUser, listEndUsers } from './end-users.ts'
import { listExportedTurns } from './end-user-export.ts'
import { agentVersion, findAgent, listAgents, listAgentVersions, listPriceChanges } from './agents.ts'
import { findApiKeyId, findApiKeyRecord, listApiKeys } from './api-key-records.ts'
import { listLedger } from './ledger.ts'
import { findOwner, listOwners } from './owners.ts'
import { findScopeOf } from './scope-of.ts'
import { findProvider, findProviderById, listProviders, modelOnProvider } from './providers.ts'
import { findEndUserLimits, listSpending } from './spend-limits.ts'
import { findAdminToken, findValidAdminTokens, listAdminTokens } from './admin-tokens.ts'
import { findOperator, findOperatorByEmail, findOperatorByIdentity, listOperators } from './operators.ts'
import { findPasskey, listPasskeys } from './passkeys.ts'
import { findInvitation, isTokenUnused } from './sign-in-secrets.ts'
import { findSession, findSessions, listSessions } from './sessions.ts'
import { documentBacklog, findOwnerIndexing } from './knowledge/indexing-queue.ts'
import { findReplies, findTurn, listHolds, listTurns } from './turns.ts'
import { findFeedback, listFeedback } from './feedback.ts'
import { findTracedTurn, listHistoryBefore, listNewestMessages } from './traces.ts'
import { findRunningTurn, findTurnStatus, findTurnStatusOfKey, listCancelRequests, listEnded } from './turn-status.ts'
import { findConversationId, findNewestTurn, findTurnMessage, findTurnOfKey } from './openai-look-ups.ts'
import { deliveryBacklog, listDeliveries, listDueWebhooks, readDeliveredEvent } from './webhooks/deliveries.ts'
import { readEvents } from './webhooks/event-data.ts'
import { findWebhook, listWebhooks } from './webhooks/webhooks.ts'

export const reads = {
  findInvitation,
  isTokenUnused,
  findPasskey,
  listPasskeys,
  agentVersion,
  findAgent,
  listAgents,
  listAgentVersions,
  listPriceChanges,
  findApiKeyId,
  findApiKeyRecord,
  listApiKeys,
  listLedger,
  findOwner,
  findOwnerIndexing,
  findEndUserLimits,
  listSpending,
  listOwners,
  findProvider,
  findProviderById,
  listProviders,
  modelOnProvider,
  findTurn,
  findReplies,
  listHolds,
  listTurns,
  findTurnStatus,
  findTurnMessage,
  findNewestTurn,
  findTurnOfKey,
  findTurnStatusOfKey,
  findRunningTurn,
  listEnded,
  listCancelRequests,
  findWebhook,
  listWebhooks,
  listDueWebhooks,
  readEvents,
  listDeliveries,
  readDeliveredEvent,
  deliveryBacklog,
  documentBacklog,
  findTracedTurn,
  listHistoryBefore,
  listNewestMessages,
  findFeedback,
  listFeedback,
  findApiKeys,
  listConversations,
  listMessages,
  listAllConversations,
  searchConversations,
  findConversation,
  findConversationId,
  listAllMessages,
  listDocuments,
  findDocument,
  readContentPart,
  knowledgeState,
  searchChunks,
  readChunks,
  listChunks,
  listIndexChanges,
  readVectors,
  conversationExists,
  findConversationsOfEndUser,
  findIdleConversations,
  listAudit,
  wasReadRecently,
  findPlaygroundKey,
  findSession,
  findSessions,
  listSessions,
  findOperator,
  findOperatorByEmail,
  findOperatorByIdentity,
  listOperators,
  findAdminToken,
  findValidAdminTokens,
  listAdminTokens,
  findScopeOf,
  storeTime,
  usageByBucket,
  listUsageLines,
  listAttention,
  listEndUsers,
  findEndUser,
  listExportedTurns,
  verify,
}
export type Reads = typeof reads

/** Reads that may scan millions of rows: separated from look-ups, which callers wait for. */
export const reports: ReadonlySet<keyof Reads> = new Set<keyof Reads>([
  'usageByBucket',
  'listUsageLines',
  'listAttention',
  'listLedger',
  'listAudit',
  'listEndUsers',
  'findEndUser',
  'verify',
  'listTurns',
  'listFeedback',
  'listAllConversations',
  'searchConversations',
  'findIdleConversations',
  'deliveryBacklog',
])

/** Searches of knowledge bases, large replies, traces and pages of messages, some milliseconds of work each: also separated from look-ups. */
export const searches: ReadonlySet<keyof Reads> = new Set<keyof Reads>([
  'searchChunks',
  'readChunks',
  'listIndexChanges',
  'readVectors',
  'findReplies',
  'listMessages',
  'listAllMessages',
  'findTracedTurn',
  'listHistoryBefore',
  'listNewestMessages',
  'readEvents',
  'listExportedTurns',
])
