/** What was said and what became of it: conversations, their messages, turns and their steps. Reads only. Surfaces: /conversations and /turns. */
import { ApiError } from '../errors.ts'
import type { AnyConversation, MessageOfTurn } from '../store/cold/conversations.ts'
import { pageOf, pageRequest } from '../store/cold/paging.ts'
import type { Page, PageWanted } from '../store/cold/paging.ts'
import type { TurnFilter, TurnRecord, TurnStep } from '../store/cold/turns.ts'
import type { AdminStore } from './admin-store.ts'

export type ConversationFilter = {
  agentId?: string | undefined
  /** The key's id, or its public part as it stands in the API key. */
  keyId?: string | undefined
  externalUserId?: string | undefined
}

/** All lists are newest first. */
export type HistoryAdmin = {
  listConversations(filter: ConversationFilter, page: PageWanted): Promise<Page<AnyConversation>>
  /** Throws ApiError `not_found`. */
  listMessages(conversationId: string, page: PageWanted): Promise<Page<MessageOfTurn>>
  listTurns(filter: TurnFilter, page: PageWanted): Promise<Page<TurnRecord>>
  /** Throws ApiError `not_found`. */
  findTurn(requestId: string): Promise<TurnRecord & { steps: TurnStep[] }>
}

export function createHistoryAdmin({ store }: { store: AdminStore }): HistoryAdmin {
  return {
    async listConversations({ agentId, keyId, externalUserId }, page) {
      // An unknown key has no conversations; its own text matches no id.
      const apiKeyId = keyId === undefined ? undefined : ((await store.read('findApiKeyId', keyId)) ?? keyId)
      const request = { ...pageRequest(page), agentId, apiKeyId, externalUserId }
      return pageOf(await store.read('listAllConversations', request), page)
    },
    async listMessages(conversationId, page) {
      const messages = await store.read('listAllMessages', { ...pageRequest(page), conversationId })
      if (!messages) throw new ApiError('not_found', 'There is no such conversation.')
      return pageOf(messages, page)
    },
    listTurns: async (filter, page) => pageOf(await store.read('listTurns', filter, pageRequest(page)), page),
    async findTurn(requestId) {
      const turn = await store.read('findTurn', requestId)
      if (!turn) throw new ApiError('not_found', 'There is no such turn.')
      return turn
    },
  }
}
