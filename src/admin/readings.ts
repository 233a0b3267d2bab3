/**
 * `audit.reads`: what the audit log says of each read of the store that returns texts of end users. The admin API reads through
 * `recordingReads`, so no route returns a text that is not in the log: the entry is stored before the text is returned.
 */
import { callMethod, methodsOf } from '../store/methods.ts'
import type { Actor, Reading } from '../store/queries/audit.ts'
import { reads } from '../store/queries/reads.ts'
import type { Reads } from '../store/queries/reads.ts'
import type { AdminStore } from './admin-store.ts'

type ReadingsOf<Name extends keyof Reads> = Reads[Name] extends (sql: never, ...args: infer Args) => infer Result
  ? (result: Awaited<Result>, ...args: Args) => Reading[]
  : never

export const reading = (noun: string, subjectId: string): Reading => ({ verb: 'read', noun, subjectId })
const turn = (requestId: string): Reading => reading('turn', requestId)
const conversation = (id: string): Reading => reading('conversation', id)
const onlyIf = (found: unknown, ...readings: Reading[]): Reading[] => (found ? readings : [])

/** Of the feedback on turns, or the excerpts of conversations, of all agents. */
const allAgents = 'all'

/**
 * Null: returns no message, reply, step of a turn or comment. Names of end users and the causes of failures are not texts of theirs. A new
 * read needs an answer here.
 */
const readingsOf: { [Name in keyof Reads]: ReadingsOf<Name> | null } = {
  findTurn: (found, requestId) => onlyIf(found && found.steps.length > 0, turn(requestId)),
  findTracedTurn: (found, requestId) => onlyIf(found, turn(requestId)),
  listHistoryBefore: (messages, { requestId }) => onlyIf(messages.length > 0, turn(requestId)),
  listNewestMessages: (messages, { conversationId }) => onlyIf(messages.length > 0, conversation(conversationId)),
  findFeedback: (found, requestId) => onlyIf(typeof found?.comment === 'string', turn(requestId)),
  listFeedback: (rows, { agentId = allAgents }) =>
    onlyIf(
      rows.some(({ comment, message, reply }) => comment !== null || message !== null || reply !== null),
      reading('feedback', agentId),
    ),
  // Also without a result, which says that no message has the text. Not if there was nothing to examine, as of another owner's agent.
  searchConversations: ({ examined }, { text, excerpts, agentId = allAgents }) =>
    onlyIf(examined > 0 && (text !== undefined || excerpts), reading('conversations', agentId)),
  listMessages: (page, { conversationId }) => onlyIf(page && page.items.length > 0, conversation(conversationId)),
  // mutant: audit.reads
  listAllMessages: (page, { conversationId }) => onlyIf(page && page.items.length > 0, conversation(conversationId)),
  listExportedTurns: (turns, { conversationId }) => onlyIf(turns.length > 0, conversation(conversationId)),
  findTurnStatus: (status, requestId) => onlyIf(status?.reply, turn(requestId)),
  findTurnStatusOfKey: (status) => (status?.reply ? [turn(status.requestId)] : []),
  findTurnMessage: (message, requestId) => onlyIf(message !== undefined, turn(requestId)),
  findReplies: (replies) => [...replies.keys()].map(turn),
  listEnded: (ended) => ended.filter(({ reply }) => reply !== null).map(({ requestId }) => turn(requestId)),
  readDeliveredEvent: (found, { eventId, withTexts }) => onlyIf(withTexts && found?.event, reading('event', eventId)),
  readEvents: ({ events }) => events.map(({ id }) => reading('event', id)),

  findInvitation: null,
  isTokenUnused: null,
  findPasskey: null,
  listPasskeys: null,
  findScopeOf: null,
  agentVersion: null,
  findAgent: null,
  listAgents: null,
  listAgentVersions: null,
  listPriceChanges: null,
  findApiKeyId: null,
  findApiKeyRecord: null,
  findApiKeys: null,
  listApiKeys: null,
  listLedger: null,
  findOwner: null,
  findOwnerIndexing: null,
  listOwners: null,
  findEndUserLimits: null,
  listSpending: null,
  findProvider: null,
  findProviderById: null,
  listProviders: null,
  modelOnProvider: null,
  listHolds: null,
  listTurns: null,
  findNewestTurn: null,
  findTurnOfKey: null,
  findRunningTurn: null,
  listCancelRequests: null,
  findWebhook: null,
  listWebhooks: null,
  listDueWebhooks: null,
  listDeliveries: null,
  deliveryBacklog: null,
  documentBacklog: null,
  listConversations: null,
  listAllConversations: null,
  findConversation: null,
  findConversationId: null,
  conversationExists: null,
  findConversationsOfEndUser: null,
  findIdleConversations: null,
  listEndUsers: null,
  findEndUser: null,
  listDocuments: null,
  findDocument: null,
  readContentPart: null,
  knowledgeState: null,
  searchChunks: null,
  readChunks: null,
  listChunks: null,
  listIndexChanges: null,
  readVectors: null,
  listAudit: null,
  wasReadRecently: null,
  findPlaygroundKey: null,
  findSession: null,
  findSessions: null,
  listSessions: null,
  findOperator: null,
  findOperatorByEmail: null,
  findOperatorByIdentity: null,
  listOperators: null,
  findAdminToken: null,
  findValidAdminTokens: null,
  listAdminTokens: null,
  storeTime: null,
  usageByBucket: null,
  listUsageLines: null,
  listAttention: null,
  verify: null,
}

/** The same store. Each text that it returns has an entry of `actor` in the audit log. */
export const recordingReads = (store: AdminStore, actor: Actor): AdminStore => ({
  ...store,
  read: methodsOf<Reads>(reads, async (name, args) => {
    const result = await callMethod<Reads>(store.read, name, args)
    const readings = readingsOf[name] as ((result: unknown, ...args: unknown[]) => Reading[]) | null
    for (const one of readings?.(result, ...args) ?? []) await recordReading(store, actor, one)
    return result
  }),
})

/** Throws ApiError `service_unavailable` if it cannot be recorded. */
async function recordReading(store: AdminStore, actor: Actor, one: Reading): Promise<void> {
  // Most readings are another page or poll, and a read waits for no other write.
  if (!(await store.read.wasReadRecently(one, actor))) await store.write.recordReading(one)
}
