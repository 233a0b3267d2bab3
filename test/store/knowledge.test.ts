/** The knowledge base on a real store: what a message finds, whatever it contains, and never another agent's documents. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import fc from 'fast-check'
import { createKnowledge, passageTokens } from '../../src/agent/knowledge/knowledge.ts'
import { openOwnStore } from '../support/own-store.ts'
import { Bench } from './conformance.ts'
import { anyText } from '../support/any-text.ts'

const guide = `# Shop guide

## Returns and refunds
You may send an item back within 30 days. Money is refunded to the card it came from.

## Shipping
Parcels leave the house on the same day and take three days inside the country.

## Opening hours
The shop is open from nine to six, and closed on Sundays.

## C++ workshop
Every spring we teach C++ to beginners. Ask for Mr O'Brien.

## 退款政策
客户可以在三十天内申请退款。运费不予退还。

## 配送说明
包裹当天发出，三天内送达。

## サーバー
サーバーは毎晩再起動します。`

const plain = { language: null, embeddingModel: null }

async function setUp(t: TestContext) {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000_000n)
  const knowledge = createKnowledge({ store })
  await knowledge.index({ documentId: 'doc_guide', agentId: bench.agentId, title: 'Guide', text: guide })
  const find = async (query: string, agentId = bench.agentId) => knowledge.search({ agentId, query, limit: 6, maxTokens: 10_000, ...plain })
  const best = async (query: string) => (await find(query))[0]?.text ?? ''
  return { store, bench, knowledge, find, best }
}

void test('knowledge: a question finds its passage, in other forms of its words and among stop words', async (t) => {
  const { best, find } = await setUp(t)
  const questions: [query: string, heading: RegExp][] = [
    ['refund', /Returns/],
    ['What are the hours, and where can I see them?', /Opening/],
    ['Is there any shipping?', /Shipping/],
    ['How would I go about getting the money for it refunded to me, if that is something you do?', /Returns/],
    ['can I return an item?', /Returns/],
    ['When do you ship, and how long does a parcel take?', /Shipping/],
    ['are you open on sunday', /Opening/],
    ['What is C++?', /C\+\+/],
    ["Who is O'Brien?", /C\+\+/],
    ['OBRIEN"; drop table chunks; --brien', /C\+\+/],
    ['退款', /退款政策/],
    ['请问如何申请退款？', /退款政策/],
    ['包裹什么时候送达', /配送/],
    ['サーバーはいつ再起動しますか', /サーバー/],
  ]
  for (const [query, heading] of questions) assert.match(await best(query), heading, query)
  const [passage] = await find('refund')
  assert.equal(passage!.documentId, 'doc_guide')
  assert.equal(passage!.title, 'Guide')
  assert.match(passage!.text, /^# Shop guide\n\n## Returns and refunds\n\nYou may/)
  assert.ok(passage!.score > 0)
})

void test('knowledge: a query of stop words alone is searched too', async (t) => {
  const { store, bench } = await setUp(t)
  const knowledge = createKnowledge({ store })
  await knowledge.index({ documentId: 'doc_band', agentId: bench.agentId, title: 'The Who', text: 'A band of 1964.' })
  const [passage] = await knowledge.search({ agentId: bench.agentId, query: 'Who are The Who?', limit: 1, maxTokens: 1_000, ...plain })
  assert.equal(passage?.documentId, 'doc_band')
})

void test('knowledge: scores fall from the best passage on, and no passage appears twice', async (t) => {
  const { find } = await setUp(t)
  const passages = await find('the shop and three days of refunds')
  assert.ok(passages.length > 1)
  assert.deepEqual(
    passages.map(({ score }) => score),
    passages.map(({ score }) => score).toSorted((a, b) => b - a),
  )
  assert.equal(new Set(passages.map(({ text }) => text)).size, passages.length)
})

void test('knowledge: any text is a valid query, and text without words finds nothing', async (t) => {
  const { find, best } = await setUp(t)
  for (const query of ['', ' ', '"', '""', "'", '*', '(', ')', ':', '{', '-', '^', '\u0000', '💶', '?!…']) {
    assert.deepEqual(await find(query), [], query)
  }
  assert.match(await best('"refund* OR ('), /Returns/)
  assert.match(await best(`refund ${'words upon words '.repeat(5_000)}`), /Returns/)
  assert.deepEqual(await find('x'.repeat(32_000)), [])
  const texts = fc.oneof(
    anyText(),
    fc.string({
      unit: fc.constantFrom('"', "'", '*', ' ', 'AND', 'OR', 'NOT', 'NEAR', '(', ')', ':', '-', '+', '^', 'a', '退', 'ก', 'ั', 'ー'),
    }),
  )
  await fc.assert(
    fc.asyncProperty(texts, async (query) => {
      await find(query)
    }),
    { numRuns: 500 },
  )
})

void test("knowledge.own: an agent finds only its own passages, whatever the query and whatever the agent's id looks like", async (t) => {
  const { store, bench, knowledge, find } = await setUp(t)
  const other = await Bench.make(store, 1_000_000n)
  await knowledge.index({ documentId: 'doc_other', agentId: other.agentId, title: 'Refund canary', text: 'canary refund 退款' })
  assert.deepEqual(
    (await find('refund canary 退款', other.agentId)).map(({ documentId }) => documentId),
    ['doc_other'],
  )
  const queries = [
    'refund canary',
    '退款',
    other.agentId,
    `agent:"${other.agentId}"`,
    `" OR agent:"${other.agentId.replace('_', '')}" OR "`,
  ]
  for (const query of queries)
    assert.ok(
      (await find(query)).every(({ documentId }) => documentId === 'doc_guide'),
      query,
    )
  for (const agentId of ['', 'agt_unknown', bench.agentId.replace('_', ''), '"', '退']) assert.deepEqual(await find('refund', agentId), [])
})

void test('knowledge: a document that is uploaded again replaces the previous one; another agent cannot take it over', async (t) => {
  const { store, bench, knowledge, find } = await setUp(t)
  await knowledge.index({ documentId: 'doc_guide', agentId: bench.agentId, title: 'Guide', text: 'Only about parrots now.' })
  assert.deepEqual(await find('refund'), [])
  assert.deepEqual(
    (await find('parrot')).map(({ text }) => text),
    ['Only about parrots now.'],
  )
  const other = await Bench.make(store, 1_000_000n)
  const stolen = { documentId: 'doc_guide', agentId: other.agentId, title: 'Mine', text: 'parrot' }
  await assert.rejects(knowledge.index(stolen), /belongs to another agent/)
  assert.deepEqual(
    (await find('parrot')).map(({ title }) => title),
    ['Guide'],
  )
  await knowledge.index({ documentId: 'doc_guide', agentId: bench.agentId, title: 'Guide', text: '' })
  assert.deepEqual(await find('parrot'), [])
})

void test('knowledge: passages stay within limit and budget; a long one that does not fit leaves room for a short one', async (t) => {
  const { bench, knowledge } = await setUp(t)
  await knowledge.index({
    documentId: 'doc_long',
    agentId: bench.agentId,
    title: 'Zebra zebra',
    text: `Zebra zebra zebra. ${'Stripes all over. '.repeat(15)}`,
  })
  await knowledge.index({ documentId: 'doc_short', agentId: bench.agentId, title: 'Short', text: 'A zebra.' })
  const search = async (limit: number, maxTokens: number) =>
    knowledge.search({ agentId: bench.agentId, query: 'zebra', limit, maxTokens, ...plain })
  const all = await search(6, 10_000)
  assert.deepEqual(
    all.map(({ documentId }) => documentId),
    ['doc_long', 'doc_short'],
  )
  assert.deepEqual(
    (await search(1, 10_000)).map(({ documentId }) => documentId),
    ['doc_long'],
  )
  assert.deepEqual(
    (await search(6, 100)).map(({ documentId }) => documentId),
    ['doc_short'],
  )
  assert.deepEqual(await search(6, 0), [])
  const sum = all.reduce((total, passage) => total + passageTokens(passage), 0)
  assert.equal((await search(6, sum)).length, 2)
  assert.equal((await search(6, sum - 1)).length, 1)
})
