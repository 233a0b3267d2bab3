/**
 * Converts the names of the API (`external_user_id`) to those of this client; API names are only in this file and turn-wire.ts. Each reader
 * takes an unknown value and returns undefined if it is not from the service. Unknown fields are ignored.
 */
import { attemptRead, choiceOf, countOf, fieldsOf, listOf, textOf } from './fields.ts'
import type { Fields } from './fields.ts'

export type ChatRequest = {
  /** A stable ID of the end user in the caller's system, 1 to 255 characters. */
  externalUserId: string
  message: string
}

export type AssistantMessage = {
  id: string
  role: 'assistant'
  content: string
  /** ISO 8601. */
  createdAt: string
  /** The content ends before its end: at the token limit, by a content filter, or by a cancel. Whole messages do not have this field. */
  incomplete?: true
}

export type Usage = {
  promptTokens: number
  completionTokens: number
  totalTokens: number
  /** A decimal with 8 places, charged once. */
  chargedUsd: string
}

export type ChatReply = { requestId: string; conversationId: string; message: AssistantMessage; usage: Usage }

export type Conversation = {
  conversationId: string
  externalUserId: string
  createdAt: string
  lastMessageAt: string
  messageCount: number
}

export type Message = {
  id: string
  role: 'user' | 'assistant'
  content: string
  createdAt: string
  /** The request that the message belongs to. */
  requestId: string
  /** Of a reply, as in `AssistantMessage`. */
  incomplete?: true
}

export type Page<Item> = { items: Item[]; nextCursor: string | null }

/** The error envelope, or the `error` event. */
export type Failure = { code: string; message: string; requestId: string }

/** An event as the service sends it. `id` names the position in the turn's text after it; older servers do not send it. */
export type WireEvent = { id?: string } & (
  | { type: 'response.created'; requestId: string; conversationId: string }
  | { type: 'response.output_text.delta'; delta: string }
  /** The text so far is invalid. The text from the beginning follows. */
  | { type: 'response.output_text.reset' }
  | ({ type: 'response.completed' } & ChatReply)
  | ({ type: 'error' } & Failure)
)

export const writeChatRequest = ({ externalUserId, message }: ChatRequest): string =>
  JSON.stringify({ external_user_id: externalUserId, message })

export function writePageQuery(page: {
  externalUserId?: string | undefined
  limit?: number | undefined
  cursor?: string | undefined
}): string {
  const query = new URLSearchParams()
  if (page.externalUserId !== undefined) query.set('external_user_id', page.externalUserId)
  if (page.limit !== undefined) query.set('limit', String(page.limit))
  if (page.cursor !== undefined) query.set('cursor', page.cursor)
  const written = String(query)
  return written === '' ? '' : `?${written}`
}

export function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The IDs of a turn. */
export const takeCreated = (from: Fields) => ({ requestId: textOf(from, 'request_id'), conversationId: textOf(from, 'conversation_id') })
const takeReply = (from: Fields): ChatReply => ({ ...takeCreated(from), message: takeMessage(from), usage: takeUsage(from) })

/** The `message` of a reply or of a turn. */
export function takeMessage(from: Fields): AssistantMessage {
  const message = fieldsOf(from['message'])
  return {
    id: textOf(message, 'id'),
    role: choiceOf(message, 'role', 'assistant'),
    content: textOf(message, 'content'),
    createdAt: textOf(message, 'created_at'),
    ...(message['incomplete'] === true ? { incomplete: true } : {}),
  }
}

/** The `usage` of a reply or of a turn. */
export function takeUsage(from: Fields): Usage {
  const usage = fieldsOf(from['usage'])
  return {
    promptTokens: countOf(usage, 'prompt_tokens'),
    completionTokens: countOf(usage, 'completion_tokens'),
    totalTokens: countOf(usage, 'total_tokens'),
    chargedUsd: textOf(usage, 'charged_usd'),
  }
}

// All three fields, because the envelopes of proxies look similar.
const takeFailure = (from: Fields): Failure => ({
  code: textOf(from, 'code'),
  message: textOf(from, 'message'),
  requestId: textOf(from, 'request_id'),
})

export const readReply = (value: unknown): ChatReply | undefined => attemptRead(() => takeReply(fieldsOf(value)))

export const readFailure = (value: unknown): Failure | undefined => attemptRead(() => takeFailure(fieldsOf(fieldsOf(value)['error'])))

/** Undefined: not from the service. `ignored`: an event that a newer version of the service sends. */
export function readEvent(name: string, value: unknown, id?: string): WireEvent | 'ignored' | undefined {
  const named = id === undefined ? {} : { id }
  return attemptRead((): WireEvent | 'ignored' => {
    switch (name) {
      case 'response.created':
        return { type: name, ...takeCreated(fieldsOf(value)), ...named }
      case 'response.output_text.delta':
        return { type: name, delta: textOf(fieldsOf(value), 'delta'), ...named }
      case 'response.output_text.reset':
        return { type: name, ...named }
      case 'response.completed':
        return { type: name, ...takeReply(fieldsOf(value)), ...named }
      case 'error':
        return { type: name, ...takeFailure(fieldsOf(value)), ...named }
      default:
        return 'ignored'
    }
  })
}

function readPage<Item>(value: unknown, take: (item: Fields) => Item): Page<Item> | undefined {
  return attemptRead(() => {
    const page = fieldsOf(value)
    const cursor = page['next_cursor']
    return { items: listOf(page, 'data', (item) => take(fieldsOf(item))), nextCursor: typeof cursor === 'string' ? cursor : null }
  })
}

export const readConversations = (value: unknown): Page<Conversation> | undefined =>
  readPage(value, (item) => ({
    conversationId: textOf(item, 'conversation_id'),
    externalUserId: textOf(item, 'external_user_id'),
    createdAt: textOf(item, 'created_at'),
    lastMessageAt: textOf(item, 'last_message_at'),
    messageCount: countOf(item, 'message_count'),
  }))

export const readMessages = (value: unknown): Page<Message> | undefined =>
  readPage(value, (item) => ({
    id: textOf(item, 'id'),
    role: choiceOf(item, 'role', 'user', 'assistant'),
    content: textOf(item, 'content'),
    createdAt: textOf(item, 'created_at'),
    requestId: textOf(item, 'request_id'),
    ...(item['incomplete'] === true ? { incomplete: true as const } : {}),
  }))
