/**
 * Lists the conversations and messages that an API key may read: its own (docs/spec.md, "Conversations" and "Listing", rule `paging`).
 * Never reveals that a conversation of another key, or an erased one, exists.
 */
import { ApiError } from '../errors.ts'
import { maxBytes } from '../store/budget.ts'
import type { Message } from '../store/queries/conversations.ts'
import { boundedPageOf, boundedRequest, pageOf, pageRequest } from '../store/queries/paging.ts'
import type { BoundedItems, Page, PageRequest } from '../store/queries/paging.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import { Batcher } from './batcher.ts'

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

export type MessagesWanted = {
  apiKeyId: string
  conversationId: string
  limit: number
  cursor: string | undefined
  /** The owner whose turn it is when many pages wait. */
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
  idOf(apiKeyId: string, externalUserId: string): Promise<string | undefined>
  /** Newest first. Pages are limited by bytes, and a few are read at a time, so that they delay no one and fill no memory (`overload.unread`). */
  messages(wanted: MessagesWanted): Promise<MessagesFound>
}

// A full page has `maxBytes`, and this many of them are in memory before they are written. PostgreSQL has two connections for them.
const pagesAtATime = 2

type MessagesRead = { kind: 'found'; part: BoundedItems<Message> } | { kind: 'not_found' }
type WaitingPage = { request: PageRequest & { apiKeyId: string; conversationId: string }; mayRead: () => boolean }

export function createConversations({ store }: { store: Store }): Conversations {
  const pages = new Batcher<WaitingPage, MessagesRead>(
    (waiting) => Promise.all(waiting.map((page) => readMessages(page).catch((error: Error) => ({ kind: 'error' as const, error })))),
    () => [],
    () => maxBytes / pagesAtATime,
  )

  async function readMessages({ request, mayRead }: WaitingPage): Promise<MessagesRead> {
    if (!mayRead()) throw new ApiError('service_unavailable')
    const part = await store.read.listMessages(request).catch(refuseUnavailable)
    return part ? { kind: 'found', part } : { kind: 'not_found' }
  }

  return {
    async list({ apiKeyId, externalUserId, ...wanted }) {
      const request = { ...pageRequest(wanted), apiKeyId, externalUserId }
      const page = pageOf(await store.read.listConversations(request).catch(refuseUnavailable), wanted)
      return { ...page, data: page.data.map(({ id, ...conversation }) => ({ conversationId: id, ...conversation })) }
    },

    idOf: (apiKeyId, externalUserId) => store.read.findConversationId(apiKeyId, externalUserId).catch(refuseUnavailable),

    async messages({ apiKeyId, conversationId, shareOf, mayRead, ...wanted }) {
      // PostgreSQL does not accept U+0000 in text.
      if (conversationId.includes('\0')) return { kind: 'not_found' }
      const found = await pages.push({ request: { ...boundedRequest(wanted), apiKeyId, conversationId }, mayRead }, shareOf)
      return found.kind === 'found' ? { kind: 'found', ...boundedPageOf(found.part) } : found
    },
  }
}

function refuseUnavailable(error: unknown): never {
  throw error instanceof StoreUnavailable ? new ApiError('service_unavailable') : error
}
