/** Search by words and vectors combined, what an embedding provider may cost a turn, and how much is cached in memory. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { createKnowledge } from '../../src/agent/knowledge/knowledge.ts'
import type { Embeddings } from '../../src/agent/models/embeddings.ts'
import { ModelError } from '../../src/agent/models/model.ts'
import { fuse } from '../../src/agent/knowledge/fusion.ts'
import { createVectorSearch } from '../../src/agent/knowledge/vector-search.ts'
import { openOwnStore } from '../support/own-store.ts'
import { Bench } from './conformance.ts'

const embeddingModel = 'p/m'
/** The meaning of a text that contains one of these words: north, east, south. */
const meanings: Record<string, number[]> = { north: [0, 1, 0], east: [1, 0, 0], south: [0, -1, 0.1] }
const meaningOf = (text: string): Float32Array =>
  Float32Array.from(Object.entries(meanings).find(([word]) => text.includes(word))?.[1] ?? [0, 0, 1])
const working: Embeddings = { embed: async (_, texts) => texts.map(meaningOf) }

async function setUp(t: TestContext, embeddings: Embeddings = working) {
  const store = await openOwnStore(t)
  const { agentId } = await Bench.make(store, 1n)
  const warnings: object[] = []
  const log = { warn: (facts: object) => void warnings.push(facts) } as never
  const knowledge = createKnowledge({ store, embeddings, log })
  t.after(() => knowledge.close())
  const index = async (id: string, texts: string[], headings = '', of = agentId) => {
    const given = {
      id,
      agentId: of,
      title: id,
      source: 'text',
      mediaType: null,
      fileName: null,
      url: null,
      contentId: null,
      bytes: 1,
    } as const
    assert.equal(await store.write.putDocument(given), 'put')
    const { fence } = (await store.write.claimDocument({ holder: 'test', leaseMs: 60_000 }))!
    const chunks = texts.map((text) => ({ headings, text, vector: meaningOf(text) }))
    await store.write.addChunks({ documentId: id, fence, title: id, from: 0, chunks })
    const finished = { documentId: id, fence, title: id, bytes: 1, chunks: texts.length, language: null, embeddingModel }
    assert.ok(await store.write.finishDocument(finished))
  }
  const find = async (query: string, changes: object = {}) => {
    const found = await knowledge.search({ agentId, query, limit: 6, maxTokens: 10_000, language: null, embeddingModel, ...changes })
    return found.map(({ text }) => text)
  }
  return { store, agentId, knowledge, warnings, log, index, find }
}

void test('knowledge: with an embedding model, a text of the same meaning is found without a common word; a passage names its section', async (t) => {
  const { agentId, knowledge, index, find } = await setUp(t)
  await index('doc_a', ['to the north of it', 'to the east of it'], 'Ways › There')
  assert.deepEqual(await find('where does the compass point, north?', { embeddingModel: null }), ['to the north of it'])
  assert.equal((await find('northern lights'))[0], 'to the north of it')
  assert.deepEqual(await find('northern lights', { embeddingModel: null }), [])
  const asked = { agentId, query: 'north', limit: 1, maxTokens: 100, language: null, embeddingModel }
  const [passage] = await knowledge.search(asked)
  assert.deepEqual([passage!.documentId, passage!.title, passage!.section], ['doc_a', 'doc_a', 'Ways › There'])
})

void test('knowledge: vectors follow the documents: replaced, deleted, and cleaned up before any search', async (t) => {
  const { store, agentId, index, find } = await setUp(t)
  await index('doc_a', ['to the north of it'])
  // More than a search examines: deleted but still in memory, they would rank before all others.
  await index(
    'doc_b',
    Array.from({ length: 12 }, (_, n) => `to the south of it ${n}`),
  )
  assert.equal((await find('northern'))[0], 'to the north of it')
  await index('doc_a', ['northwards now', 'to the east of it'])
  assert.deepEqual((await find('northern')).slice(0, 2), ['northwards now', 'to the east of it'])
  await store.write.deleteDocument({ agentId, id: 'doc_a' })
  assert.match((await find('northern'))[0]!, /to the south of it/)
  await index('doc_c', ['to the east of it again'])
  await store.write.deleteDocument({ agentId, id: 'doc_b' })
  while ((await store.write.clearKnowledge({ limit: 100 })) > 0);
  assert.deepEqual(await find('southern'), ['to the east of it again'])
})

void test('knowledge: a search during the first load of the vectors finds what was indexed meanwhile, and so do later ones', async (t) => {
  const { store, agentId, log, index } = await setUp(t)
  await index('doc_a', ['to the north of it'])
  const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const readVectors: typeof store.read.readVectors = async (wanted) => {
    const read = await store.read.readVectors(wanted)
    reached.resolve()
    await gate.promise
    return read
  }
  const vectors = createVectorSearch({ store: { ...store, read: { ...store.read, readVectors } }, log })
  t.after(() => vectors.close())
  const search = async (): Promise<number> => {
    const { revision } = await store.read.knowledgeState(agentId)
    return (await vectors.search({ agentId, embeddingModel, revision, vector: meaningOf('east'), limit: 10 }))!.length
  }
  const first = search()
  await reached.promise
  await index('doc_b', ['to the east of it'])
  const second = search()
  // Both wait for the same load, which has listed the documents before the second one was indexed.
  await store.read.knowledgeState(agentId)
  gate.resolve()
  assert.equal(await first, 1)
  assert.equal(await second, 2)
  assert.equal(await search(), 2)
})

void test('knowledge: frequent words that no passage has together are found all the same', async (t) => {
  const { index, find } = await setUp(t)
  for (const name of ['alpha', 'beta'])
    await index(
      `doc_${name}`,
      Array.from({ length: 700 }, (_, n) => `${name} passage ${n}`),
    )
  const found = await find('Alpha or beta?', { embeddingModel: null })
  assert.equal(found.length, 6)
  assert.ok(
    found.every((text) => /^(alpha|beta) passage/.test(text)),
    found.join(),
  )
})

void test('knowledge: an agent finds only its own vectors', async (t) => {
  const { store, index, find } = await setUp(t)
  const other = await Bench.make(store, 1n)
  await index('doc_a', ['to the south of it'])
  await index('doc_other', ['to the north of it'], '', other.agentId)
  assert.deepEqual(await find('northern'), ['to the south of it'])
  assert.deepEqual(await find('northern', { agentId: other.agentId }), ['to the north of it'])
})

void test('knowledge: an embedding provider that fails or times out costs the vectors, never the turn, and is logged', async (t) => {
  const refusal = new ModelError('unavailable', 'provider_503', '503 from the provider', { said: 'north' })
  let answer: Embeddings['embed'] = () => Promise.reject(refusal)
  const { warnings, index, find } = await setUp(t, { embed: (...given) => answer(...given) })
  await index('doc_a', ['to the north of it'])
  assert.deepEqual(await find('north'), ['to the north of it'])
  assert.match(JSON.stringify(warnings), /"cause_kind":"provider_503","cause":"503 from the provider"/)
  assert.doesNotMatch(JSON.stringify(warnings), /north/)
  answer = () => new Promise(() => undefined)
  assert.deepEqual(await find('north'), ['to the north of it'], 'one that never answers')
  assert.match(JSON.stringify(warnings), /no answer within 2000 ms/)
  answer = async () => [Float32Array.from([1, 0])]
  assert.deepEqual(await find('north'), ['to the north of it'], 'of another length')
  const ended = new AbortController()
  answer = () => new Promise(() => queueMicrotask(() => ended.abort(new Error('the turn ended'))))
  await assert.rejects(find('north', { signal: ended.signal }), /the turn ended/)
})

void test('knowledge: vectors in memory are limited: the most recently used stay, and an agent beyond the limit is searched by words, logged once', async (t) => {
  const { store, agentId, warnings, log, index } = await setUp(t)
  const other = await Bench.make(store, 1n)
  await index('doc_a', ['to the north of it', 'to the south of it'])
  await index('doc_other', ['to the north of it', 'to the south of it'], '', other.agentId)
  // Room for two vectors of three dimensions and not for four; then for one.
  for (const [maxBytes, expected] of [
    [70, 2],
    [40, undefined],
  ] as const) {
    const search = createVectorSearch({ store, log, maxBytes })
    for (const asker of [agentId, other.agentId, agentId, agentId]) {
      const { revision } = await store.read.knowledgeState(asker)
      const found = await search.search({ agentId: asker, embeddingModel, revision, vector: meaningOf('north'), limit: 5 })
      assert.equal(found?.length, expected)
    }
    await search.close()
  }
  assert.equal(warnings.length, 2, 'once for each agent')
})

void test('knowledge: reciprocal rank fusion: what both lists have comes first, and each list keeps its order', () => {
  assert.deepEqual(
    fuse([
      ['a', 'b', 'c'],
      ['d', 'c'],
    ]).map(({ id }) => id),
    ['c', 'a', 'd', 'b'],
  )
  assert.deepEqual(fuse([[], ['x']]), [{ id: 'x', score: 1 / 61 }])
})
