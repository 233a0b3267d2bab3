/**
 * Converts the names of the API (`external_user_id`) to those of this client; API names are only in this file. Each reader takes an unknown
 * value and returns undefined if it is not from the service. Unknown fields are ignored.
 */
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
}

export type Page<Item> = { items: Item[]; nextCursor: string | null }

/** The error envelope, or the `error` event. */
export type Failure = { code: string; message: string; requestId: string }

/** An event as the service sends it. */
export type WireEvent =
  | { type: 'response.created'; requestId: string; conversationId: string }
  | { type: 'response.output_text.delta'; delta: string }
  | ({ type: 'response.completed' } & ChatReply)
  | ({ type: 'error' } & Failure)

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

type Fields = Readonly<Record<string, unknown>>
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A field is missing or has another type: the value is not from the service. Caught in this file. */
class Incomplete extends Error {}
/** Undefined if a reader did not find its field. */
function attemptRead<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof Incomplete) return undefined
    throw error
  }
}
function fieldsOf(value: unknown): Fields {
  if (!isFields(value)) throw new Incomplete()
  return value
}
function textOf(from: Fields, name: string): string {
  const value = from[name]
  if (typeof value !== 'string') throw new Incomplete()
  return value
}
function countOf(from: Fields, name: string): number {
  const value = from[name]
  if (typeof value !== 'number') throw new Incomplete()
  return value
}
function roleOf<Role extends string>(from: Fields, ...roles: Role[]): Role {
  const role = roles.find((known) => known === from['role'])
  if (role === undefined) throw new Incomplete()
  return role
}

const takeCreated = (from: Fields) => ({ requestId: textOf(from, 'request_id'), conversationId: textOf(from, 'conversation_id') })
function takeReply(from: Fields): ChatReply {
  const [message, usage] = [fieldsOf(from['message']), fieldsOf(from['usage'])]
  return {
    ...takeCreated(from),
    message: {
      id: textOf(message, 'id'),
      role: roleOf(message, 'assistant'),
      content: textOf(message, 'content'),
      createdAt: textOf(message, 'created_at'),
    },
    usage: {
      promptTokens: countOf(usage, 'prompt_tokens'),
      completionTokens: countOf(usage, 'completion_tokens'),
      totalTokens: countOf(usage, 'total_tokens'),
      chargedUsd: textOf(usage, 'charged_usd'),
    },
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
export function readEvent(name: string, value: unknown): WireEvent | 'ignored' | undefined {
  return attemptRead((): WireEvent | 'ignored' => {
    switch (name) {
      case 'response.created':
        return { type: name, ...takeCreated(fieldsOf(value)) }
      case 'response.output_text.delta':
        return { type: name, delta: textOf(fieldsOf(value), 'delta') }
      case 'response.completed':
        return { type: name, ...takeReply(fieldsOf(value)) }
      case 'error':
        return { type: name, ...takeFailure(fieldsOf(value)) }
      default:
        return 'ignored'
    }
  })
}

function readPage<Item>(value: unknown, take: (item: Fields) => Item): Page<Item> | undefined {
  return attemptRead(() => {
    const { data, next_cursor: cursor } = fieldsOf(value)
    if (!Array.isArray(data)) throw new Incomplete()
    return { items: data.map((item) => take(fieldsOf(item))), nextCursor: typeof cursor === 'string' ? cursor : null }
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
    role: roleOf(item, 'user', 'assistant'),
    content: textOf(item, 'content'),
    createdAt: textOf(item, 'created_at'),
    requestId: textOf(item, 'request_id'),
  }))
