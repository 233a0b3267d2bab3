/** Every read outside the turn path, by name. Each runs in one read snapshot. operation.ts says what is declared of each. */
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
import { findScopeOf } from './scope-of.ts'
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

import { allAgents, readingIf } from './audit.ts'
import { ofAdmin, read, serviceRead } from './operation.ts'
import type { OfAdmin, Runs } from './operation.ts'
import { byFilter, installation, ofAgent, ofConversation, ofKey, ofOwner, ofTurn, instead, unrestricted, within } from './scope.ts'
import { ownerReads } from './owners.ts'
import { ledgerReads } from './ledger.ts'
import { providerReads } from './providers.ts'

export const reads = {
  ...ownerReads,
  ...ledgerReads,
  ...providerReads,
  findInvitation: read(findInvitation, { scope: installation, readings: null }),
  isTokenUnused: read(isTokenUnused, { scope: installation, readings: null }),
  findPasskey: read(findPasskey, { scope: installation, readings: null }),
  listPasskeys: read(listPasskeys, { scope: installation, readings: null }),
  agentVersion: read(agentVersion, { scope: ofAgent((id) => id, undefined), readings: null }),
  findAgent: read(findAgent, { scope: ofAgent((id) => id, undefined), readings: null }),
  listAgents: read(listAgents, { scope: byFilter, readings: null }),
  listAgentVersions: read(listAgentVersions, { scope: ofAgent((id) => id, []), readings: null }),
  listPriceChanges: read(listPriceChanges, { scope: ofAgent((id) => id, []), readings: null }),
  findApiKeyId: read(findApiKeyId, {
    // By its ID or its public part, so it is known only when it is found.
    scope: ({ sees }, given) => ({
      ...instead(given),
      show: async (id) => (id !== undefined && (await sees('api_key', id)) ? id : undefined),
    }),
    readings: null,
  }),
  findApiKeyRecord: read(findApiKeyRecord, { scope: ofKey((id) => id, undefined), readings: null }),
  listApiKeys: read(listApiKeys, { scope: ofAgent((agentId) => agentId, []), readings: null }),
  findOwnerIndexing: read(findOwnerIndexing, { scope: ofOwner((ownerId) => ownerId, undefined), readings: null }),
  findEndUserLimits: read(findEndUserLimits, { scope: ofAgent(({ agentId }) => agentId, undefined), readings: null }),
  listSpending: read(listSpending, { scope: ofAgent((id) => id, undefined), readings: null }),
  findTurn: read(findTurn, {
    // mutant: operator.scope
    scope: ofTurn((requestId) => requestId, undefined),
    readings: (found, requestId) => readingIf(found && found.steps.length > 0, 'turn', requestId),
  }),
  findReplies: serviceRead(findReplies, 'search'),
  listHolds: read(listHolds, { scope: ofOwner((ownerId) => ownerId, []), readings: null }),
  listTurns: read(listTurns, {
    queue: 'report',
    // mutant: operator.scope-2
    scope: byFilter,
    readings: null,
  }),
  findTurnStatus: read(findTurnStatus, {
    scope: ofTurn((requestId) => requestId, undefined),
    readings: (status, requestId) => readingIf(status?.reply, 'turn', requestId),
  }),
  findTurnMessage: serviceRead(findTurnMessage),
  findNewestTurn: serviceRead(findNewestTurn),
  findTurnOfKey: serviceRead(findTurnOfKey),
  findTurnStatusOfKey: serviceRead(findTurnStatusOfKey),
  findRunningTurn: serviceRead(findRunningTurn),
  listEnded: serviceRead(listEnded),
  listCancelRequests: serviceRead(listCancelRequests),
  findWebhook: read(findWebhook, { scope: ({ scope }, id) => instead(id, scope), readings: null }),
  listWebhooks: read(listWebhooks, {
    scope: ({ scope }, filter, page) => instead({ ...filter, within: scope }, page),
    readings: null,
  }),
  listDueWebhooks: serviceRead(listDueWebhooks),
  readEvents: serviceRead(readEvents, 'search'),
  listDeliveries: read(listDeliveries, {
    scope: ({ scope }, wanted, page) => instead({ ...wanted, within: scope }, page),
    readings: null,
  }),
  readDeliveredEvent: read(readDeliveredEvent, {
    scope: ({ scope }, wanted) => instead({ ...wanted, within: scope }),
    readings: (found, { eventId, withTexts }) => readingIf(withTexts && found?.event, 'event', eventId),
  }),
  deliveryBacklog: serviceRead(deliveryBacklog, 'report'),
  documentBacklog: serviceRead(documentBacklog),
  findTracedTurn: read(findTracedTurn, {
    queue: 'search',
    scope: ofTurn((requestId) => requestId, undefined),
    readings: (found, requestId) => readingIf(found, 'turn', requestId),
  }),
  listHistoryBefore: read(listHistoryBefore, {
    queue: 'search',
    scope: ofConversation(({ conversationId }) => conversationId, []),
    readings: (messages, { requestId }) => readingIf(messages.length > 0, 'turn', requestId),
  }),
  listNewestMessages: read(listNewestMessages, {
    queue: 'search',
    scope: ofConversation(({ conversationId }) => conversationId, []),
    readings: (messages, { conversationId }) => readingIf(messages.length > 0, 'conversation', conversationId),
  }),
  findFeedback: read(findFeedback, {
    scope: ofTurn((requestId) => requestId, undefined),
    readings: (found, requestId) => readingIf(typeof found?.comment === 'string', 'turn', requestId),
  }),
  listFeedback: read(listFeedback, {
    queue: 'report',
    scope: byFilter,
    readings: (rows, { agentId = allAgents }) =>
      readingIf(
        rows.some(({ comment, message, reply }) => comment !== null || message !== null || reply !== null),
        'feedback',
        agentId,
      ),
  }),
  findApiKeys: serviceRead(findApiKeys, 'key'),
  listConversations: serviceRead(listConversations),
  listMessages: serviceRead(listMessages, 'search'),
  listAllConversations: read(listAllConversations, { queue: 'report', scope: byFilter, readings: null }),
  searchConversations: read(searchConversations, {
    queue: 'report',
    scope: byFilter,
    // Also without a result, which says that no message has the text. Not if there was nothing to examine, as of another owner's agent.
    readings: ({ examined }, { text, excerpts, agentId = allAgents }) =>
      readingIf(examined > 0 && (text !== undefined || excerpts), 'conversations', agentId),
  }),
  findConversation: read(findConversation, { scope: ofConversation((id) => id, undefined), readings: null }),
  findConversationId: read(findConversationId, { scope: ofKey((apiKeyId) => apiKeyId, undefined), readings: null }),
  listAllMessages: read(listAllMessages, {
    queue: 'search',
    scope: ofConversation(({ conversationId }) => conversationId, undefined),
    // mutant: audit.reads
    readings: (page, { conversationId }) => readingIf(page && page.items.length > 0, 'conversation', conversationId),
  }),
  listDocuments: read(listDocuments, { scope: ofAgent((agentId) => agentId, []), readings: null }),
  findDocument: read(findDocument, { scope: ofAgent((agentId) => agentId, undefined), readings: null }),
  readContentPart: serviceRead(readContentPart),
  knowledgeState: serviceRead(knowledgeState),
  searchChunks: serviceRead(searchChunks, 'search'),
  readChunks: serviceRead(readChunks, 'search'),
  listChunks: read(listChunks, { scope: ofAgent(({ agentId }) => agentId, []), readings: null }),
  listIndexChanges: serviceRead(listIndexChanges, 'search'),
  readVectors: serviceRead(readVectors, 'search'),
  conversationExists: serviceRead(conversationExists),
  findConversationsOfEndUser: serviceRead(findConversationsOfEndUser),
  findIdleConversations: serviceRead(findIdleConversations, 'report'),
  listAudit: read(listAudit, { queue: 'report', scope: installation, readings: null }),
  wasReadRecently: serviceRead(wasReadRecently),
  findPlaygroundKey: read(findPlaygroundKey, { scope: ofAgent((id) => id, { kind: 'agent_not_found' }), readings: null }),
  findSession: read(findSession, { scope: installation, readings: null }),
  findSessions: read(findSessions, { scope: installation, readings: null }),
  listSessions: read(listSessions, { scope: installation, readings: null }),
  findOperator: read(findOperator, { scope: installation, readings: null }),
  findOperatorByEmail: read(findOperatorByEmail, { scope: installation, readings: null }),
  findOperatorByIdentity: read(findOperatorByIdentity, { scope: installation, readings: null }),
  listOperators: read(listOperators, { scope: installation, readings: null }),
  findAdminToken: read(findAdminToken, { scope: installation, readings: null }),
  findValidAdminTokens: read(findValidAdminTokens, { scope: installation, readings: null }),
  listAdminTokens: read(listAdminTokens, { scope: installation, readings: null }),
  findScopeOf: serviceRead(findScopeOf),
  storeTime: read(storeTime, { scope: unrestricted, readings: null }),
  usageByBucket: read(usageByBucket, {
    queue: 'report',
    // mutant: operator.scope-3
    scope: byFilter,
    readings: null,
  }),
  listUsageLines: read(listUsageLines, {
    queue: 'report',
    scope: ({ scope }, wanted) => ({
      ...instead(within(scope, wanted)),
      // One that is restricted to an agent does not see its owner.
      show: (lines) => (scope.agentId === null ? lines : lines.map((line) => ({ ...line, ownerName: null }))),
    }),
    readings: null,
  }),
  listAttention: read(listAttention, {
    queue: 'report',
    scope: ({ scope }, filter) => instead({ ...filter, within: scope }),
    readings: null,
  }),
  listEndUsers: read(listEndUsers, { queue: 'report', scope: ofAgent(({ agentId }) => agentId, []), readings: null }),
  findEndUser: read(findEndUser, { queue: 'report', scope: ofAgent(({ agentId }) => agentId, undefined), readings: null }),
  listExportedTurns: read(listExportedTurns, {
    queue: 'search',
    scope: ofConversation(({ conversationId }) => conversationId, []),
    readings: (turns, { conversationId }) => readingIf(turns.length > 0, 'conversation', conversationId),
  }),
  verify: serviceRead(verify, 'report'),
}
export type Reads = Runs<typeof reads>

/** Those that the admin API can call. */
export const adminReads = ofAdmin(reads)
export type AdminReads = Runs<OfAdmin<typeof reads>>
