/** The client's types and fields compared with the service's schemas: by the compiler for the types, and here for what is sent and read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Static } from 'typebox'
import type * as schemas from '../../../src/http/public/schemas.ts'
import type * as conversationSchemas from '../../../src/http/public/conversation-schemas.ts'
import type * as turnSchemas from '../../../src/http/public/turn-schemas.ts'
import type {
  ChatReply,
  ChatRequest,
  ChatStreamEvent,
  Conversation,
  Feedback,
  FeedbackRequest,
  Message,
  StartedTurn,
  Turn,
} from '../src/client.ts'
import { readFeedback, readStarted, readTurn, writeFeedback } from '../src/turn-wire.ts'
import { readConversations, readEvent, readFailure, readMessages, readReply, writeChatRequest, writePageQuery } from '../src/wire.ts'
import type { Page } from '../src/wire.ts'
import { wireReply } from './scripted-server.ts'

/** The same, with names in camel case. */
type Camel<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name
type Cameled<Wire> = Wire extends readonly unknown[]
  ? Wire
  : Wire extends object
    ? { [Name in keyof Wire as Camel<Name>]: Cameled<Wire[Name]> }
    : Wire
type Flat<Type> = Type extends object ? { [Name in keyof Type]: Flat<Type[Name]> } : Type
type Same<One, Other> = (<Type>() => Type extends Flat<One> ? 1 : 2) extends <Type>() => Type extends Flat<Other> ? 1 : 2 ? true : never

type Sent = Static<typeof schemas.ChatEvent.ref>
type DataOf<Name extends Sent['event']> = Cameled<Extract<Sent, { event: Name }>['data']>
type EventOf<Name extends ChatStreamEvent['type']> = Omit<Extract<ChatStreamEvent, { type: Name }>, 'type' | 'id'>
type ItemOf<Schema extends typeof conversationSchemas.conversationsSchema | typeof conversationSchemas.messagesSchema> = Cameled<
  Static<Schema['response'][200]['content']['application/json']['schema']>['data'][number]
>

type JsonOf<Response extends { content: { 'application/json': { schema: object } } }> = Cameled<
  Static<Response['content']['application/json']['schema']>
>
type WireTurn = JsonOf<(typeof turnSchemas.turnSchema.response)[200]>

/** Each is `true`, or the file does not compile. */
const same: {
  request: Same<ChatRequest, Cameled<schemas.ChatRequest>>
  reply: Same<ChatReply, Cameled<Static<(typeof schemas.chatSchema.response)[200]['content']['application/json']['schema']>>>
  created: Same<EventOf<'response.created'>, DataOf<'response.created'>>
  delta: Same<EventOf<'response.output_text.delta'>, DataOf<'response.output_text.delta'>>
  completed: Same<EventOf<'response.completed'>, DataOf<'response.completed'>>
  conversation: Same<Conversation, ItemOf<typeof conversationSchemas.conversationsSchema>>
  message: Same<Message, ItemOf<typeof conversationSchemas.messagesSchema>>
  turn: {
    [Name in Extract<keyof Turn | keyof WireTurn, string>]: Name extends keyof Turn & keyof WireTurn
      ? Same<Turn[Name], WireTurn[Name]>
      : never
  }
  feedback: Same<Feedback, JsonOf<(typeof turnSchemas.feedbackSchema.response)[200]>>
  feedbackRequest: Same<Omit<FeedbackRequest, 'tags'>, Omit<Cameled<turnSchemas.FeedbackRequest>, 'tags'>>
  started: Same<StartedTurn, JsonOf<(typeof schemas.chatSchema.response)[202]>>
} = {
  request: true,
  reply: true,
  created: true,
  delta: true,
  completed: true,
  conversation: true,
  message: true,
  turn: {
    requestId: true,
    conversationId: true,
    externalUserId: true,
    status: true,
    createdAt: true,
    endedAt: true,
    message: true,
    usage: true,
    error: true,
    cancelRequested: true,
    finishReason: true,
  },
  feedback: true,
  feedbackRequest: true,
  started: true,
}

test('the types of the client are those of the service', () => {
  assert.ok(Object.values(same).every(Boolean))
})

test('only the fields of a request are sent', () => {
  const request = { externalUserId: 'a', message: 'b', other: 'c' }
  assert.equal(writeFeedback({ rating: 'up', comment: 'a', other: 'c' } as FeedbackRequest), '{"rating":"up","comment":"a"}')
  assert.equal(writeChatRequest(request), '{"external_user_id":"a","message":"b"}')
  assert.equal(writePageQuery({}), '')
  assert.equal(writePageQuery({ externalUserId: 'a&b é', limit: 5, cursor: 'c=' }), '?external_user_id=a%26b+%C3%A9&limit=5&cursor=c%3D')
})

/** Every value with one of its fields removed, at any depth. */
function* lacking(value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) {
    if (Array.isArray(value)) for (const less of lacking(inner)) yield [less]
    else {
      const { [name]: _, ...rest } = value as Record<string, unknown>
      yield rest
      for (const less of lacking(inner)) yield { ...rest, [name]: less }
    }
  }
}

test('a response without a required field is not from the service; additional fields are allowed', () => {
  const conversation = { conversation_id: 'c', external_user_id: 'u', created_at: 't', last_message_at: 't', message_count: 2 }
  const message = { id: 'm', role: 'user', content: 'x', created_at: 't', request_id: 'r' }
  const ids = { request_id: 'r', conversation_id: 'c', external_user_id: 'u' }
  const turn = { ...ids, created_at: 't', ended_at: 't', cancel_requested: false }
  const details = { prompt_tokens_details: { cached_tokens: 1, cache_write_tokens: 0 }, completion_tokens_details: { reasoning_tokens: 0 } }
  const wireTurnUsage = { ...wireReply().usage, ...details, tool_calls_usd: '0.00000000' }
  const readers: [(value: unknown) => unknown, Record<string, unknown>][] = [
    [readReply, wireReply()],
    [(value) => readEvent('response.created', value), { request_id: 'r', conversation_id: 'c' }],
    [(value) => readEvent('response.output_text.delta', value), { delta: 'x' }],
    [(value) => readEvent('response.completed', value), wireReply()],
    [(value) => readEvent('error', value), { code: 'c', message: 'm', request_id: 'r' }],
    [readFailure, { error: { code: 'c', message: 'm', request_id: 'r' } }],
    [readConversations, { data: [conversation] }],
    [readMessages, { data: [message] }],
    [readTurn, { ...turn, status: 'running', error: null }],
    [readTurn, { ...turn, status: 'failed', error: { code: 'c', message: 'm' } }],
    [readTurn, { ...turn, status: 'completed', message: wireReply().message, usage: wireTurnUsage }],
    [readStarted, { request_id: 'r', conversation_id: 'c', status: 'running' }],
    [readFeedback, { request_id: 'r', rating: 'up', comment: null, tags: ['a'], created_at: 't', updated_at: 't' }],
  ]
  for (const [read, whole] of readers) {
    const known = read(whole)
    assert.ok(known)
    assert.deepEqual(read({ ...whole, of_a_later_version: { a: 1 } }), known)
    for (const less of lacking(whole)) assert.equal(read(less), undefined, JSON.stringify(less))
    for (const other of [undefined, null, 'text', 5, [], [whole], {}]) assert.equal(read(other), undefined, String(other))
  }
  const page: Page<Conversation> | undefined = readConversations({ data: [], next_cursor: 'next' })
  assert.deepEqual(page, { items: [], nextCursor: 'next' })
})
