/** How each read is restricted (`operator.scope`). */
import type { Reads } from '../../store/queries/reads.ts'
import { ofAgent, ofConversation, ofKey, ofOwner, ofTurn, refused, unrestricted, within } from './rules.ts'
import type { Rules } from './rules.ts'

export const scopedReads: Rules<Reads> = {
  listAgents: ({ scope }, filter, page) => ({ args: [within(scope, filter), page] }),
  findAgent: ofAgent((id) => id, undefined),
  agentVersion: ofAgent((id) => id, undefined),
  listAgentVersions: ofAgent((id) => id, []),
  listPriceChanges: ofAgent((id) => id, []),
  findPlaygroundKey: ofAgent((id) => id, { kind: 'agent_not_found' }),
  listSpending: ofAgent((id) => id, undefined),
  findEndUserLimits: ofAgent(({ agentId }) => agentId, undefined),
  listEndUsers: ofAgent(({ agentId }) => agentId, []),
  findEndUser: ofAgent(({ agentId }) => agentId, undefined),
  findConversationsOfEndUser: ofAgent((agentId) => agentId, undefined),
  listDocuments: ofAgent((agentId) => agentId, []),
  findDocument: ofAgent((agentId) => agentId, undefined),
  listChunks: ofAgent(({ agentId }) => agentId, []),

  listApiKeys: ofAgent((agentId) => agentId, []),
  findApiKeyRecord: ofKey((id) => id, undefined),
  // By its ID or its public part, so it is known only when it is found.
  findApiKeyId: ({ sees }, given) => ({
    args: [given],
    show: async (id) => (id !== undefined && (await sees('api_key', id)) ? id : undefined),
  }),

  listOwners: ({ scope }, filter, page) =>
    scope.agentId === null ? { args: [{ ...filter, ownerId: scope.ownerId }, page] } : { answer: [] },
  findOwner: ofOwner((id) => id, undefined),
  listHolds: ofOwner((ownerId) => ownerId, []),
  findOwnerIndexing: ofOwner((ownerId) => ownerId, undefined),
  listLedger: ({ scope }, filter, page) => (scope.agentId === null ? { args: [within(scope, filter), page] } : { answer: [] }),
  // mutant: operator.scope-3
  usageByBucket: ({ scope }, wanted) => ({ args: [within(scope, wanted)] }),
  listUsageLines: ({ scope }, wanted) => ({
    args: [within(scope, wanted)],
    // One that is restricted to an agent does not see its owner.
    show: (lines) => (scope.agentId === null ? lines : lines.map((line) => ({ ...line, ownerName: null }))),
  }),

  listAllConversations: ({ scope }, wanted) => ({ args: [within(scope, wanted)] }),
  searchConversations: ({ scope }, wanted) => ({ args: [within(scope, wanted)] }),
  findConversation: ofConversation((id) => id, undefined),
  conversationExists: ofConversation((id) => id, false),
  listAllMessages: ofConversation(({ conversationId }) => conversationId, undefined),
  listHistoryBefore: ofConversation(({ conversationId }) => conversationId, []),
  listNewestMessages: ofConversation(({ conversationId }) => conversationId, []),
  listExportedTurns: ofConversation(({ conversationId }) => conversationId, []),
  // mutant: operator.scope-2
  listTurns: ({ scope }, filter, page) => ({ args: [within(scope, filter), page] }),
  // mutant: operator.scope
  findTurn: ofTurn((requestId) => requestId, undefined),
  findTurnStatus: ofTurn((requestId) => requestId, undefined),
  findTracedTurn: ofTurn((requestId) => requestId, undefined),
  listFeedback: ({ scope }, filter, page) => ({ args: [within(scope, filter), page] }),
  findFeedback: ofTurn((requestId) => requestId, undefined),

  listAttention: ({ scope }, filter) => ({ args: [{ ...filter, within: scope }] }),
  listWebhooks: ({ scope }, filter, page) => ({ args: [{ ...filter, within: scope }, page] }),
  findWebhook: ({ scope }, id) => ({ args: [id, scope] }),
  listDeliveries: ({ scope }, wanted, page) => ({ args: [{ ...wanted, within: scope }, page] }),
  readDeliveredEvent: ({ scope }, wanted) => ({ args: [{ ...wanted, within: scope }] }),

  // To save an agent, which names its provider. Everyone who saves an agent must know the name.
  findProvider: unrestricted,
  storeTime: unrestricted,

  // What concerns the installation, and what only the server itself reads.
  findProviderById: refused,
  listProviders: refused,
  modelOnProvider: refused,
  listAudit: refused,
  verify: refused,
  findOperator: refused,
  findOperatorByEmail: refused,
  findOperatorByIdentity: refused,
  listOperators: refused,
  // Asked before an entry of the audit log is added.
  wasReadRecently: unrestricted,
  findInvitation: refused,
  isTokenUnused: refused,
  findPasskey: refused,
  listPasskeys: refused,
  findAdminToken: refused,
  findValidAdminTokens: refused,
  listAdminTokens: refused,
  findSession: refused,
  findSessions: refused,
  listSessions: refused,
  findScopeOf: refused,
  findApiKeys: refused,
  findReplies: refused,
  findTurnMessage: refused,
  findNewestTurn: refused,
  findTurnOfKey: refused,
  findTurnStatusOfKey: refused,
  findRunningTurn: refused,
  listEnded: refused,
  listCancelRequests: refused,
  listConversations: refused,
  findConversationId: refused,
  listMessages: refused,
  findIdleConversations: refused,
  readContentPart: refused,
  knowledgeState: refused,
  searchChunks: refused,
  readChunks: refused,
  listIndexChanges: refused,
  readVectors: refused,
  listDueWebhooks: refused,
  readEvents: refused,
  deliveryBacklog: refused,
  documentBacklog: refused,
}
