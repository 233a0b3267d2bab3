/** The listing of conversations and messages on a real store (docs/spec.md, "Listing"; `paging`). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../src/errors.ts'
import type { Message } from '../../src/store/queries/conversations.ts'
import type { AnyConversationsWanted } from '../../src/store/queries/any-conversations.ts'
import { boundedPageOf, boundedRequest, pageOf, pageRequest } from '../../src/store/queries/paging.ts'
import type { Page } from '../../src/store/queries/paging.ts'
import { methodsOf } from '../../src/store/methods.ts'
import { reads } from '../../src/store/queries/reads.ts'
import type { Reads } from '../../src/store/queries/reads.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Store } from '../../src/store/store.ts'
import { createConversations } from '../../src/turn/conversations.ts'
import { openOwnStore } from '../support/own-store.ts'
import { Bench } from './conformance.ts'

const first = { cursor: undefined, externalUserId: undefined }
const reading = { shareOf: 'own_a', mayRead: () => true }

async function converse(bench: Bench, externalUserId: string, message = 'hello'): Promise<{ conversationId: string; requestId: string }> {
  const turn = await bench.admitted({ externalUserId, message })
  await bench.settle(turn, { content: `reply to ${message}` })
  return turn
}

/** Every page of a list; `between` runs before each further page. */
async function pages<Item>(read: (cursor: string | undefined) => Promise<Page<Item>>, between = async (): Promise<void> => {}) {
  const all: Item[] = []
  let cursor: string | undefined
  for (;;) {
    const page = await read(cursor)
    all.push(...page.data)
    if (page.nextCursor === null) return all
    cursor = page.nextCursor
    await between()
  }
}

void test('conversations: lists those that have a message, newest first, and one end user by exact id', async (t) => {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000_000_000n)
  const conversations = createConversations({ store })
  const { conversationId: ann } = await converse(bench, 'ann')
  await store.moveClock(10)
  const { conversationId: bob } = await converse(bench, 'bob')
  await store.moveClock(10)
  await converse(bench, 'ann', 'again')
  await bench.fail(await bench.admitted({ externalUserId: 'never answered' }), 'failed')
  await bench.admitted({ externalUserId: 'still running' })

  const { data, nextCursor } = await conversations.list({ shareOf: 'own_a', apiKeyId: bench.apiKeyId, limit: 20, ...first })
  assert.equal(nextCursor, null)
  assert.deepEqual(
    data.map(({ conversationId, externalUserId, messageCount }) => ({ conversationId, externalUserId, messageCount })),
    [
      { conversationId: bob, externalUserId: 'bob', messageCount: 2 },
      { conversationId: ann, externalUserId: 'ann', messageCount: 4 },
    ],
  )
  assert.ok(data[1]!.lastMessageAt >= data[1]!.createdAt + 20)

  const only = (externalUserId: string) =>
    conversations.list({ shareOf: 'own_a', apiKeyId: bench.apiKeyId, limit: 20, cursor: undefined, externalUserId })
  assert.deepEqual((await only('ann')).data, [data[1]])
  for (const other of ['Ann', 'ann ', '', "ann' or 1=1", 'still running']) assert.deepEqual((await only(other)).data, [])
})

void test('messages: lists the messages of a conversation, newest first, with the request they came from', async (t) => {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000_000_000n)
  const conversations = createConversations({ store })
  const { conversationId, requestId } = await converse(bench, 'ann', 'one')
  const { requestId: second } = await converse(bench, 'ann', 'two')
  const wanted = { ...reading, apiKeyId: bench.apiKeyId, conversationId, cursor: undefined }
  const found = await conversations.messages({ ...wanted, limit: 100 })
  assert.ok(found.kind === 'found')
  assert.equal(found.nextCursor, null)
  assert.deepEqual(
    found.data.map((message) => [message.role, message.content, message.requestId, typeof message.createdAt, message.id.slice(0, 4)]),
    [
      ['assistant', 'reply to two', second, 'number', 'msg_'],
      ['user', 'two', second, 'number', 'msg_'],
      ['assistant', 'reply to one', requestId, 'number', 'msg_'],
      ['user', 'one', requestId, 'number', 'msg_'],
    ],
  )
})

void test("conversations: another API key's conversation is indistinguishable from one that does not exist", async (t) => {
  const store = await openOwnStore(t)
  const [a, b] = [await Bench.make(store, 1_000_000_000n), await Bench.make(store, 1_000_000_000n)]
  const conversations = createConversations({ store })
  const { conversationId } = await converse(a, 'ann', 'canary')
  const listA = await conversations.list({ shareOf: 'own_a', apiKeyId: a.apiKeyId, limit: 1, ...first })
  assert.equal(listA.data.length, 1)
  assert.deepEqual(await conversations.list({ shareOf: 'own_a', apiKeyId: b.apiKeyId, limit: 20, ...first }), {
    data: [],
    nextCursor: null,
  })
  assert.deepEqual(
    await conversations.list({ shareOf: 'own_a', apiKeyId: b.apiKeyId, limit: 20, cursor: undefined, externalUserId: 'ann' }),
    {
      data: [],
      nextCursor: null,
    },
  )
  const wanted = { limit: 20, cursor: undefined }
  for (const id of [conversationId, 'conv_unknown', '', "' or 1=1 --"]) {
    assert.deepEqual(await conversations.messages({ ...reading, apiKeyId: b.apiKeyId, conversationId: id, ...wanted }), {
      kind: 'not_found',
    })
  }
  // A cursor from another key's list says where to continue, not what may be read.
  await converse(a, 'bob')
  const { nextCursor } = await conversations.list({ shareOf: 'own_a', apiKeyId: a.apiKeyId, limit: 1, ...first })
  const stolen = { shareOf: 'own_a', apiKeyId: b.apiKeyId, limit: 20, cursor: nextCursor!, externalUserId: undefined }
  assert.deepEqual(await conversations.list(stolen), { data: [], nextCursor: null })
})

void test('paging: every conversation and message once, in order, while rows are added between the pages', async (t) => {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000_000_000_000n)
  const conversations = createConversations({ store })
  // One batch, so that many have the same millisecond: there the id decides.
  const users = Array.from({ length: 40 }, (_, n) => bench.admission({ externalUserId: `user-${n}` }))
  const turns = (await store.admitMany(users)).map((outcome) => {
    assert.ok(outcome.kind === 'admitted')
    return outcome.turn
  })
  await store.settleMany(turns.map((turn) => bench.settlement(turn)))
  for (let n = 0; n < 5; n++) await converse(bench, 'user-0', `message ${n}`)
  const whole = await conversations.list({ shareOf: 'own_a', apiKeyId: bench.apiKeyId, limit: 100, ...first })
  assert.equal(whole.data.length, 40)
  assert.ok(new Set(whole.data.map(({ createdAt }) => createdAt)).size < 40)
  const order = whole.data.map(({ createdAt, conversationId }) => `${createdAt} ${conversationId}`)
  assert.deepEqual(order, [...order].toSorted().toReversed())

  for (const limit of [7, 13, 40]) {
    let added = 0
    const listed = await pages(
      (cursor) => conversations.list({ shareOf: 'own_a', apiKeyId: bench.apiKeyId, limit, cursor, externalUserId: undefined }),
      async () => {
        await store.moveClock(5)
        await converse(bench, `late-${limit}-${added++}`)
      },
    )
    const early = listed.filter(({ externalUserId }) => externalUserId.startsWith('user-'))
    assert.deepEqual(
      early.map(({ conversationId }) => conversationId),
      whole.data.map(({ conversationId }) => conversationId),
    )
    assert.equal(new Set(listed.map(({ conversationId }) => conversationId)).size, listed.length)
  }

  const wanted = { ...reading, apiKeyId: bench.apiKeyId, conversationId: turns[0]!.conversationId }
  const messages = async (limit: number, cursor?: string) => {
    const found = await conversations.messages({ ...wanted, limit, cursor })
    assert.ok(found.kind === 'found')
    return found
  }
  const all = (await messages(100)).data
  assert.equal(all.length, 12)
  for (const limit of [1, 5, 12]) {
    const listed = await pages(
      (cursor) => messages(limit, cursor),
      async () => void (await converse(bench, 'user-0', 'late')),
    )
    const early = new Set(all.map(({ id }) => id))
    assert.deepEqual(
      listed.filter(({ id }) => early.has(id)),
      all,
    )
    assert.equal(new Set(listed.map(({ id }) => id)).size, listed.length)
  }
})

void test('paging overload.unread: a page of messages has at most 2 MiB of JSON, and at least one message; the pages together have all of them', async (t) => {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000_000_000_000_000n)
  const conversations = createConversations({ store })
  // 128 KB of emoji; 30 KB that need six bytes each in JSON; a reply that fills a page alone, and short ones around it.
  const texts = [
    ...Array.from({ length: 20 }, () => '\u{1F600}'.repeat(32_000)),
    ...Array.from({ length: 16 }, () => '\u0001'.repeat(30_000)),
    'short',
  ]
  let conversationId = ''
  for (const [n, message] of texts.entries()) {
    const turn = await bench.admitted({ externalUserId: 'ann', message })
    conversationId = turn.conversationId
    await bench.settle(turn, { content: n === 10 ? 'x'.repeat(3_000_000) : 'short' })
  }
  const count = 2 * texts.length
  const listed = async (limit: number, read: (limit: number, cursor: string | undefined) => Promise<Page<Message>>) => {
    const bytes: number[] = []
    const all = await pages(async (cursor) => {
      const page = await read(limit, cursor)
      bytes.push(page.data.length === 1 ? 0 : Buffer.byteLength(JSON.stringify(page.data.map(({ content }) => content))))
      assert.ok(page.data.length > 0 && page.data.length <= limit)
      return page
    })
    assert.equal(new Set(all.map(({ id }) => id)).size, count)
    assert.ok(Math.max(...bytes) <= 2 * 1024 * 1024, `${Math.max(...bytes)} bytes`)
    return bytes.length
  }
  const ask = async (limit: number, cursor: string | undefined) => {
    const found = await conversations.messages({ ...reading, apiKeyId: bench.apiKeyId, conversationId, limit, cursor })
    assert.ok(found.kind === 'found')
    return found
  }
  const askAsOperator = async (limit: number, cursor: string | undefined) =>
    boundedPageOf((await store.read.listAllMessages({ ...boundedRequest({ limit, cursor }), conversationId }))!)
  for (const read of [ask, askAsOperator]) {
    const needed = await listed(100, read)
    assert.ok(needed <= 8, `${needed} pages`)
    await listed(3, read)
  }
})

void test('overload.unread: pages of messages are read two at a time, owners take turns, and one whose caller has left is not read', async (t) => {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000_000_000n)
  const { conversationId } = await converse(bench, 'ann')
  let reading = 0
  let most = 0
  const order: string[] = []
  const read: Store['read'] = {
    ...store.read,
    async listMessages(request) {
      most = Math.max(most, ++reading)
      order.push(request.conversationId)
      const found = await store.read.listMessages(request)
      reading--
      return found
    },
  }
  const conversations = createConversations({ store: { ...store, read } })
  const ask = (shareOf: string, id: string, mayRead = () => true) =>
    conversations.messages({ apiKeyId: bench.apiKeyId, conversationId: id, limit: 20, cursor: undefined, shareOf, mayRead })
  const many = Array.from({ length: 20 }, () => ask('own_many', conversationId))
  const one = ask('own_one', 'conv_other')
  const left = ask('own_many', 'conv_left', () => false)
  await assert.rejects(left, (error: unknown) => error instanceof ApiError && error.code === 'service_unavailable')
  assert.deepEqual(await one, { kind: 'not_found' })
  assert.ok((await Promise.all(many)).every(({ kind }) => kind === 'found'))
  assert.equal(most, 2)
  assert.ok(order.indexOf('conv_other') < 6, `${order.indexOf('conv_other')}`)
  assert.ok(!order.includes('conv_left'))
})

void test('paging: a cursor that this service did not create is validation_error; an unreachable store is service_unavailable', async (t) => {
  const store = await openOwnStore(t)
  const isCode = (code: string) => (error: unknown) => error instanceof ApiError && error.code === code
  const ask = ({ list, messages }: ReturnType<typeof createConversations>, cursor: string | undefined) => [
    list({ shareOf: 'own_a', apiKeyId: 'key_a', limit: 1, cursor, externalUserId: undefined }),
    messages({ ...reading, apiKeyId: 'key_a', conversationId: 'conv_a', limit: 1, cursor }),
  ]
  for (const answer of ask(createConversations({ store }), 'made up')) await assert.rejects(answer, isCode('validation_error'))
  const gone: Store = { ...store, read: methodsOf<Reads>(reads, () => Promise.reject(new StoreUnavailable('gone'))) }
  for (const answer of ask(createConversations({ store: gone }), undefined)) await assert.rejects(answer, isCode('service_unavailable'))
})

type Filter = Omit<AnyConversationsWanted, 'limit' | 'before'>

void test('conversations: the operator lists the conversations of all keys by each filter, and reads messages with the figures of their turns', async (t) => {
  const store = await openOwnStore(t)
  const [a, b] = [await Bench.make(store, 1_000_000_000n), await Bench.make(store, 1_000_000_000n)]
  const { conversationId: annOfA } = await converse(a, 'ann')
  const { conversationId: annOfB } = await converse(b, 'ann')
  await b.fail(await b.admitted({ externalUserId: 'unanswered' }), 'failed')
  const none: Filter = { agentId: undefined, apiKeyId: undefined, externalUserId: undefined, from: undefined, to: undefined }
  const listed = async (filter: Partial<Filter>) => {
    const wanted = { limit: 2 }
    return pages(async (cursor) => {
      const request = { ...pageRequest({ ...wanted, cursor }), ...none, ...filter }
      return pageOf(await store.read.listAllConversations(request), wanted)
    })
  }
  const idsOf = async (filter: Parameters<typeof listed>[0]) => (await listed(filter)).map(({ id }) => id).toSorted()
  assert.equal((await idsOf({})).length, 3)
  assert.deepEqual(await idsOf({ externalUserId: 'ann' }), [annOfA, annOfB].toSorted())
  assert.deepEqual(await idsOf({ agentId: a.agentId }), [annOfA])
  assert.deepEqual(await idsOf({ apiKeyId: a.apiKeyId }), [annOfA])
  assert.deepEqual(await idsOf({ agentId: a.agentId, apiKeyId: b.apiKeyId }), [])
  const [unanswered] = await listed({ externalUserId: 'unanswered' })
  assert.deepEqual(
    [unanswered!.agentId, unanswered!.apiKeyId, unanswered!.lastMessageAt, unanswered!.messageCount],
    [b.agentId, b.apiKeyId, null, 0],
  )

  const messages = await store.read.listAllMessages({ ...pageRequest({ limit: 10 }), conversationId: annOfB })
  const turn = {
    state: 'completed',
    agentVersion: 1,
    promptTokens: 20,
    completionTokens: 5,
    usageEstimated: false,
    charged: 600n,
    failureCode: null,
    failureCause: null,
    incomplete: false,
    finishReason: 'stop',
    rating: null,
  }
  assert.deepEqual(
    messages?.items.map(({ role, content, turn: figures }) => ({ role, content, turn: figures })),
    [
      { role: 'assistant', content: 'reply to hello', turn },
      { role: 'user', content: 'hello', turn },
    ],
  )
  assert.equal(await store.read.listAllMessages({ ...pageRequest({ limit: 10 }), conversationId: 'conv_unknown' }), undefined)
})
