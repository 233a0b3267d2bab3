/** The conversations of the API key and their messages, newest first. Pages are loaded as they are read. */
import { pathSegment, readLimits } from './options.ts'
import type { Limits, RequestOptions } from './options.ts'
import { persist } from './persist.ts'
import { readBody } from './request.ts'
import type { Send } from './request.ts'
import { readConversations, readMessages, writePageQuery } from './wire.ts'
import type { Conversation, Message, Page } from './wire.ts'

export type PageOptions = {
  /** The page size, 1 to 100; default 20. Iterating returns all items. */
  limit?: number | undefined
}
export type ConversationQuery = PageOptions & {
  /** Only the conversation of this end user. */
  externalUserId?: string | undefined
}

export class Conversations {
  readonly #send: Send
  readonly #limits: Limits

  constructor(send: Send, limits: Limits) {
    this.#send = send
    this.#limits = limits
  }

  list(query: ConversationQuery = {}, options: RequestOptions = {}): AsyncGenerator<Conversation, void, undefined> {
    return this.#walk('/conversations', query, options, readConversations)
  }

  messages(conversationId: string, query: PageOptions = {}, options: RequestOptions = {}): AsyncGenerator<Message, void, undefined> {
    return this.#walk(`/conversations/${pathSegment('conversationId', conversationId)}/messages`, query, options, readMessages)
  }

  /** `limit` and similar options apply to one page. */
  async *#walk<Item>(
    path: string,
    query: ConversationQuery,
    options: RequestOptions,
    read: (value: unknown) => Page<Item> | undefined,
  ): AsyncGenerator<Item, void, undefined> {
    const call = { ...readLimits(options, this.#limits), signal: options.signal }
    let cursor: string | undefined
    do {
      const asked = `${path}${writePageQuery({ ...query, cursor })}`
      const page: Page<Item> = await persist(call, async (watch) =>
        readBody(await this.#send({ method: 'GET', path: asked, accept: 'application/json' }, watch), watch, read),
      )
      yield* page.items
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
  }
}
