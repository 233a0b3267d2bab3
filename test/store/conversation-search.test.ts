/** The operator's search for conversations on a real store (`conversation.search`). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FoundConversations, TurnConditions } from '../../src/store/queries/conversation-search.ts'
import type { AnyConversationsWanted } from '../../src/store/queries/any-conversations.ts'
import { boundedRequest } from '../../src/store/queries/paging.ts'
import type { Store } from '../../src/store/store.ts'
import { openOwnStore } from '../support/own-store.ts'
import { Bench } from './conformance.ts'

type Wanted = Partial<AnyConversationsWanted & TurnConditions>

const find = (store: Store, wanted: Wanted): Promise<FoundConversations> =>
  store.read.searchConversations({
    ...boundedRequest({ limit: 20 }),
    agentId: undefined,
    apiKeyId: undefined,
    externalUserId: undefined,
    from: undefined,
    to: undefined,
    text: undefined,
    state: undefined,
    rating: undefined,
    excerpts: false,
    ...wanted,
  })

const usersOf = ({ items }: FoundConversations): (string | null)[] => items.map(({ externalUserId }) => externalUserId)

/** Request IDs are ordered by time, as the server's are. */
let turns = 0
const nextId = (): string => `00000000-0000-7000-8000-${String(++turns).padStart(12, '0')}`

async function converse(
  store: Store & { moveClock(ms: number): Promise<void> },
  bench: Bench,
  user: string,
  message: string,
  reply: string,
) {
  await store.moveClock(10)
  const turn = await bench.admitted({ externalUserId: user, message, requestId: nextId() })
  await bench.settle(turn, { content: reply })
  return turn
}

void test('conversation.search: a text is found in messages, replies and the messages of turns without a reply', async (t) => {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000_000_000n)
  const asked = await converse(store, bench, 'asked', 'Where is my REFUND?', 'On its way.')
  await converse(store, bench, 'answered', 'Hello', 'Your refund was sent.')
  await converse(store, bench, 'other', 'Hello', 'Good day.')
  await store.moveClock(10)
  const failed = await bench.admitted({ externalUserId: 'failed', message: 'No refund yet', requestId: nextId() })
  await bench.fail(failed, 'failed')

  const { items, next } = await find(store, { text: 'refund' })
  assert.equal(next, null)
  assert.deepEqual(
    items.map(({ externalUserId, turn }) => [externalUserId, turn?.state, turn?.excerpt]),
    [
      ['failed', 'failed', { role: 'user', text: 'No refund yet' }],
      ['answered', 'completed', { role: 'assistant', text: 'Your refund was sent.' }],
      ['asked', 'completed', { role: 'user', text: 'Where is my REFUND?' }],
    ],
  )
  assert.equal(items[2]!.turn!.requestId, asked.requestId)
  // The newest turn that has the text, not the newest one.
  await converse(store, bench, 'asked', 'And?', 'Nothing new.')
  assert.equal((await find(store, { text: 'refund', externalUserId: 'asked' })).items[0]!.turn!.requestId, asked.requestId)
  assert.deepEqual(usersOf(await find(store, { text: 'refund', agentId: 'agt_other' })), [])
  assert.deepEqual(usersOf(await find(store, { text: 'refund', ownerId: 'own_other' })), [])
  assert.deepEqual(usersOf(await find(store, { text: 'refund', ownerId: bench.ownerId })), ['failed', 'answered', 'asked'])
})

void test('conversation.search: upper and lower case of every script match, and no character is a wildcard', async (t) => {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000_000_000n)
  const texts = {
    german: 'Die Rückgabe über ÖSTERREICH',
    greek: 'Η ΠΑΡΑΓΓΕΛΙΑ μου',
    cyrillic: 'Где мой ЗАКАЗ?',
    percent: 'a discount of 5%',
    under: 'the field order_id',
    star: 'a*b and [c] and d?',
    back: String.raw`C:\temp and (x|y) ^ $1.00 -z {2} #3`,
    line: 'first\nsecond',
  }
  for (const [user, text] of Object.entries(texts)) await converse(store, bench, user, text, 'yes')
  const found = async (text: string) => usersOf(await find(store, { text }))
  for (const [wanted, user] of [
    ['rückgabe ÜBER österreich', 'german'],
    ['παραγγελια', 'greek'],
    ['где мой заказ', 'cyrillic'],
    ['5%', 'percent'],
    ['order_id', 'under'],
    ['A*B', 'star'],
    ['[C]', 'star'],
    ['d?', 'star'],
    [String.raw`c:\Temp`, 'back'],
    ['(x|y)', 'back'],
    ['^ $1.00 -z {2} #3', 'back'],
    ['FIRST\nsecond', 'line'],
  ] as const)
    assert.deepEqual(await found(wanted), [user], wanted)
  for (const wanted of ['orderXid', 'a%d', 'a.b', '.*', '[a-z]', 'f?rst', "' or 1=1 --", '5_', 'ruckgabe'])
    assert.deepEqual(await found(wanted), [], wanted)
})

void test('conversation.search: state, feedback and text are those of one turn', async (t) => {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000_000_000n)
  const rate = (requestId: string, rating: 'up' | 'down') =>
    store.write.putFeedback({ apiKeyId: bench.apiKeyId, requestId, rating, comment: null, tags: [] })
  const good = await converse(store, bench, 'ann', 'alpha', 'beta')
  const bad = await converse(store, bench, 'ann', 'gamma', 'delta')
  await rate(good.requestId, 'up')
  await rate(bad.requestId, 'down')
  await store.moveClock(10)
  const failed = await bench.admitted({ externalUserId: 'bob', message: 'alpha', requestId: nextId() })
  await bench.fail(failed, 'released')
  const running = await bench.admitted({ externalUserId: 'eve', message: 'alpha', requestId: nextId() })

  assert.deepEqual(usersOf(await find(store, { rating: 'down' })), ['ann'])
  assert.equal((await find(store, { rating: 'down' })).items[0]!.turn!.requestId, bad.requestId)
  assert.equal((await find(store, { rating: 'up' })).items[0]!.turn!.rating, 'up')
  assert.deepEqual(usersOf(await find(store, { rating: 'down', text: 'alpha' })), [], 'another turn has the text')
  assert.deepEqual(usersOf(await find(store, { rating: 'up', text: 'alpha' })), ['ann'])
  assert.deepEqual(usersOf(await find(store, { state: 'released' })), ['bob'])
  assert.deepEqual(usersOf(await find(store, { state: 'running' })), ['eve'])
  assert.equal((await find(store, { state: 'running' })).items[0]!.turn!.requestId, running.requestId)
  assert.deepEqual(usersOf(await find(store, { state: 'failed' })), [])
  const states = await find(store, { state: 'released' })
  assert.equal(states.items[0]!.turn!.excerpt, null, 'no text unless it is wanted')

  const all = await find(store, { excerpts: true })
  assert.deepEqual(all.items.map(({ externalUserId, turn }) => [externalUserId, turn?.excerpt?.text]).toSorted(), [
    ['ann', 'delta'],
    ['bob', 'alpha'],
    ['eve', 'alpha'],
  ])
})

void test('conversation.search: a page examines a limited amount, and its cursor continues until all are found once', async (t) => {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000_000_000_000n)
  const users = Array.from({ length: 7 }, (_, n) => `user-${n}`)
  for (const user of users) {
    await store.moveClock(10)
    const turn = await bench.admitted({ externalUserId: user, message: user === 'user-3' ? 'none' : 'words', requestId: nextId() })
    // As many tokens as 9,000 KiB of text.
    await bench.settle(turn, { content: 'reply', contentTokens: 4_608_000 })
  }
  const first = await find(store, { text: 'user-3' })
  assert.deepEqual(first.items, [])
  assert.ok(first.next, 'an empty page may be followed by others')
  const pages: (string | null)[][] = []
  let page = await find(store, { text: 'words', limit: 2 })
  for (; ; page = await find(store, { text: 'words', limit: 2, before: page.next })) {
    pages.push(usersOf(page))
    if (page.next === null) break
    assert.ok(pages.length < 20)
  }
  assert.deepEqual(pages.flat(), users.filter((user) => user !== 'user-3').toReversed())
  assert.ok(pages.every((found) => found.length <= 2))
  assert.ok(pages.some((found) => found.length < 2))

  // Larger than what a page examines: it is examined alone.
  const huge = await bench.admitted({ externalUserId: 'huge', message: 'words', requestId: nextId() })
  await bench.settle(huge, { content: 'reply', contentTokens: 40_000_000 })
  assert.deepEqual(usersOf(await find(store, { text: 'words' })), ['huge'])

  // Without a text, the texts are no work.
  assert.equal((await find(store, { state: 'completed' })).next, null)
  assert.equal((await find(store, { state: 'completed' })).items.length, 8)
  const two = await find(store, { state: 'completed', limit: 2 })
  assert.deepEqual(usersOf(two), ['huge', 'user-6'])
  const end = await find(store, { state: 'completed', limit: 6, before: two.next! })
  assert.equal(end.items.length, 6)
  assert.equal(end.next, null, 'the last page says so')
})
