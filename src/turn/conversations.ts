/**
 * Lists the conversations and messages that an API key may read: its own (docs/spec.md, "Conversations" and "Listing", rule `paging`).
 * Never reveals that a conversation of another key, or an erased one, exists.
 */
import { ApiError } from '../errors.ts'
import type { Message } from '../store/queries/conversations.ts'
import { pageOf, pageRequest } from '../store/queries/paging.ts'
import type { Page } from '../store/queries/paging.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'

/** Times are epoch milliseconds. */
export type ConversationSummary = {
  conversationId: string
  externalUserId: string
  createdAt: number
  lastMessageAt: number
  messageCount: number
}

export type ConversationsWanted = {
  apiKeyId: string
  /** 1 to 100. */
  limit: number
  cursor: string | undefined
  externalUserId: string | undefined
}

export type MessagesWanted = { apiKeyId: string; conversationId: string; limit: number; cursor: string | undefined }

export type MessagesFound = ({ kind: 'found' } & Page<Message>) | { kind: 'not_found' }

/** Both throw ApiError: `validation_error` for an invalid cursor, `service_unavailable` if the store is unavailable. */
export interface Conversations {
  /** Conversations with at least one message, newest first. */
  list(wanted: ConversationsWanted): Promise<Page<ConversationSummary>>
  /** Newest first. */
  messages(wanted: MessagesWanted): Promise<MessagesFound>
}

export function createConversations({ store }: { store: Store }): Conversations {
  return {
    async list({ apiKeyId, externalUserId, ...wanted }) {
      const request = { ...pageRequest(wanted), apiKeyId, externalUserId }
      const page = pageOf(await store.read.listConversations(request).catch(refuseUnavailable), wanted)
      return { ...page, data: page.data.map(({ id, ...conversation }) => ({ conversationId: id, ...conversation })) }
    },

    async messages({ apiKeyId, conversationId, ...wanted }) {
      const request = { ...pageRequest(wanted), apiKeyId, conversationId }
      const messages = await store.read.listMessages(request).catch(refuseUnavailable)
      return messages ? { kind: 'found', ...pageOf(messages, wanted) } : { kind: 'not_found' }
    },
  }
}

function refuseUnavailable(error: unknown): never {
  throw error instanceof StoreUnavailable ? new ApiError('service_unavailable') : error
}
