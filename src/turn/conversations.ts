/**
 * Lists the conversations and messages that an API key may read: its own (docs/spec.md, "Conversations" and "Listing", rule `paging`).
 * Never reveals that a conversation of another key, or an erased one, exists.
 */
import { ApiError } from '../errors.ts'
import type { Message } from '../store/queries/conversations.ts'
import { boundedPageOf, boundedRequest, pageOf, pageRequest } from '../store/queries/paging.ts'
import type { BoundedItems, Page } from '../store/queries/paging.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import { ReadQueue } from './read-queue.ts'

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
  /** The owner whose turn it is when many reads wait. */
  shareOf: string
}

export type MessagesWanted = {
  apiKeyId: string
  conversationId: string
  limit: number
  cursor: string | undefined
  /** As in `ConversationsWanted`. */
  shareOf: string
  /** Called right before the page is read. If it returns false, the request is refused with `service_unavailable`. */
  mayRead: () => boolean
}

export type MessagesFound = ({ kind: 'found' } & Page<Message>) | { kind: 'not_found' }

/** Both throw ApiError: `validation_error` for an invalid cursor, `service_unavailable` if the store is unavailable. */
export interface Conversations {
  /** Conversations with at least one message, newest first. */
  list(wanted: ConversationsWanted): Promise<Page<ConversationSummary>>
  /** The conversation of an end user, from the admission of the first message on. */
  idOf(wanted: { apiKeyId: string; externalUserId: string; shareOf: string }): Promise<string | undefined>
  /** Newest first. Pages are limited by bytes, and a few are read at a time, so that they delay no one and fill no memory (`overload.unread`). */
  messages(wanted: MessagesWanted): Promise<MessagesFound>
}

export function createConversations({ store }: { store: Store }): Conversations {
  // `overload.reads`
  const lookUps = new ReadQueue()
  // A full page has two MiB, and no more of them are in memory before they are written than are read at a time.
  const pages = new ReadQueue()

  return {
    async list({ apiKeyId, externalUserId, shareOf, ...wanted }) {
      const request = { ...pageRequest(wanted), apiKeyId, externalUserId }
      const page = pageOf(await lookUps.run(shareOf, () => store.read.listConversations(request)).catch(refuseUnavailable), wanted)
      return { ...page, data: page.data.map(({ id, ...conversation }) => ({ conversationId: id, ...conversation })) }
    },

    idOf: ({ apiKeyId, externalUserId, shareOf }) =>
      lookUps.run(shareOf, () => store.read.findConversationId(apiKeyId, externalUserId)).catch(refuseUnavailable),

    async messages({ apiKeyId, conversationId, shareOf, mayRead, ...wanted }) {
      // PostgreSQL does not accept U+0000 in text.
      if (conversationId.includes('\0')) return { kind: 'not_found' }
      const request = { ...boundedRequest(wanted), apiKeyId, conversationId }
      const read = async (): Promise<BoundedItems<Message> | undefined> => {
        if (!mayRead()) throw new ApiError('service_unavailable')
        return store.read.listMessages(request)
      }
      const part = await pages.run(shareOf, read).catch(refuseUnavailable)
      return part ? { kind: 'found', ...boundedPageOf(part) } : { kind: 'not_found' }
    },
  }
}

function refuseUnavailable(error: unknown): never {
  throw error instanceof StoreUnavailable ? new ApiError('service_unavailable') : error
}
