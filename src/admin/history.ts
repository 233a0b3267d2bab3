/** Conversations and their messages, turns and their steps, feedback. Read-only but for the feedback of a turn. */
import { ApiError, invalid } from '../errors.ts'
import type { MessageOfTurn } from '../store/queries/conversations.ts'
import type { AnyConversation } from '../store/queries/any-conversations.ts'
import type { FoundConversation, TurnConditions } from '../store/queries/conversation-search.ts'
import type { Feedback, FeedbackFilter, FeedbackOfTurn, GivenFeedback } from '../store/queries/feedback.ts'
import { boundedPageOf, boundedRequest, encodeCursor, pageOf, pageRequest } from '../store/queries/paging.ts'
import type { Page, PageWanted } from '../store/queries/paging.ts'
import type { TurnFilter, TurnRecord } from '../store/queries/turns.ts'
import type { PerRequest } from './admin-store.ts'
import { explainCharge } from './explained-charge.ts'
import type { ExplainedCharge } from './explained-charge.ts'
import { showSteps, toolCallsOf } from './agents/tool-activity.ts'
import type { ShownStep, ToolCall } from './agents/tool-activity.ts'

export type ConversationFilter = {
  agentId?: string | undefined
  /** The key's ID, or the public part of the API key. */
  keyId?: string | undefined
  externalUserId?: string | undefined
  /** Started at or after this time, and before `to`. Epoch milliseconds. */
  from?: number | undefined
  to?: number | undefined
} & Partial<TurnConditions>

/** A reply with its citations and tool calls. A user's message has neither. */
export type Message = Omit<MessageOfTurn, 'steps'> & { toolCalls: ToolCall[] }

/** All lists are newest first. */
export type HistoryAdmin = {
  /**
   * `conversation.search`: with a condition or with excerpts, each has its newest turn that matches, and a page may have fewer conversations
   * than wanted although more follow. Throws ApiError `validation_error` for an empty time range.
   */
  listConversations(filter: ConversationFilter, page: PageWanted): Promise<Page<FoundConversation>>
  /** Throws ApiError `not_found`. */
  findConversation(id: string): Promise<AnyConversation>
  /** Throws ApiError `not_found`. */
  listMessages(conversationId: string, page: PageWanted): Promise<Page<Message>>
  listTurns(filter: TurnFilter, page: PageWanted): Promise<Page<TurnRecord>>
  /** Throws ApiError `not_found`. */
  findTurn(requestId: string): Promise<TurnRecord & { steps: ShownStep[]; feedback: Feedback | null; charge: ExplainedCharge | null }>
  /** Call it before a text of the turn is returned that was not read here (`audit.reads`). Throws ApiError `service_unavailable`. */
  recordTurnReading(requestId: string): Promise<void>
  /** The newest changes first. */
  listFeedback(filter: FeedbackFilter, page: PageWanted): Promise<Page<FeedbackOfTurn>>
  /** Replaces the feedback of the turn, whoever gave it. Throws ApiError `not_found`, `validation_error` if the turn still runs. */
  putFeedback(requestId: string, feedback: GivenFeedback): Promise<Feedback>
  /** Has no effect on a turn without feedback. Throws ApiError `not_found`. */
  removeFeedback(requestId: string): Promise<void>
}

export const historyAdmin: PerRequest<HistoryAdmin> = {
  async listConversations({ store }, { agentId, keyId, externalUserId, from, to, ...conditions }, page) {
    if (from !== undefined && to !== undefined && from >= to) throw invalid('from', 'from must be before to.')
    // An unknown key has no conversations, and its own text matches no ID.
    const apiKeyId = keyId === undefined ? undefined : ((await store.read.findApiKeyId(keyId)) ?? keyId)
    const filter = { agentId, apiKeyId, externalUserId, from, to }
    const { text, state, rating, excerpts = false } = conditions
    if (text === undefined && state === undefined && rating === undefined && !excerpts) {
      const { data, nextCursor } = pageOf(await store.read.listAllConversations({ ...pageRequest(page), ...filter }), page)
      return { data: data.map((conversation) => ({ ...conversation, turn: null })), nextCursor }
    }
    const wanted = { ...boundedRequest(page), ...filter, text, state, rating, excerpts }
    const { items, next } = await store.read.searchConversations(wanted)
    return { data: items, nextCursor: next && encodeCursor(next) }
  },
  async findConversation({ store }, id) {
    const conversation = await store.read.findConversation(id)
    if (!conversation) throw new ApiError('not_found', 'This conversation does not exist.')
    return conversation
  },
  async listMessages({ store }, conversationId, page) {
    const messages = await store.read.listAllMessages({ ...boundedRequest(page), conversationId })
    if (!messages) throw new ApiError('not_found', 'This conversation does not exist.')
    const { data, nextCursor } = boundedPageOf(messages)
    return { data: data.map(({ steps, ...message }) => ({ ...message, toolCalls: toolCallsOf(steps) })), nextCursor }
  },
  async listTurns({ store }, filter, page) {
    if (filter.externalUserId !== undefined && filter.agentId === undefined)
      throw invalid('external_user_id', 'external_user_id needs agent_id: the same ID can be another end user of another agent.')
    return pageOf(await store.read.listTurns(filter, pageRequest(page)), page)
  },
  async findTurn({ store }, requestId) {
    const [turn, feedback] = await Promise.all([store.read.findTurn(requestId), store.read.findFeedback(requestId)])
    if (!turn) throw noSuchTurn()
    const charge = turn.usage && (await explainCharge(store, turn))
    return { ...turn, steps: showSteps(turn.steps), feedback: feedback ?? null, charge }
  },
  recordTurnReading: ({ store }, requestId) => store.write.recordReading({ verb: 'read', noun: 'turn', subjectId: requestId }),
  async listFeedback({ store }, filter, page) {
    const rows = await store.read.listFeedback(filter, pageRequest(page))
    // The order of the list is that of the last change.
    const placed = rows.map((feedback) => ({ feedback, createdAt: feedback.updatedAt, id: feedback.requestId }))
    const { data, nextCursor } = pageOf(placed, page)
    return { data: data.map(({ feedback }) => feedback), nextCursor }
  },
  async putFeedback({ store }, requestId, feedback) {
    const given = await store.write.putFeedback({ requestId, apiKeyId: undefined, ...feedback })
    if (given) return given
    const turn = await store.read.findTurnStatus(requestId)
    throw turn?.state === 'running' ? stillRunning() : noSuchTurn()
  },
  async removeFeedback({ store }, requestId) {
    if ((await store.write.removeFeedback(requestId)) === 'not_found') throw noSuchTurn()
  },
}

const noSuchTurn = (): ApiError => new ApiError('not_found', 'This turn does not exist.')
const stillRunning = (): ApiError => invalid(null, 'This turn is still running. Give feedback when it has ended.')
