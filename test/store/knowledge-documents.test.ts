/** Documents on a real store: claimed once, visible whole or not at all, replaced and deleted immediately, cleaned up in batches. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { NewDocument } from '../../src/store/queries/knowledge/documents.ts'
import { openOwnStore } from '../support/own-store.ts'
import type { OwnStore } from '../support/own-store.ts'
import { Bench } from './conformance.ts'

const leaseMs = 30_000
const top = { limit: 100, before: { createdAt: Number.MAX_SAFE_INTEGER, id: '' } }
const hourMs = 60 * 60 * 1000

class DocumentsFixture {
  readonly store: OwnStore
  readonly agentId: string

  constructor(store: OwnStore, agentId: string) {
    this.store = store
    this.agentId = agentId
  }

  put(id: string, changes: Partial<NewDocument> = {}) {
    const { agentId } = this
    const given = { id, agentId, title: id, source: 'text', mediaType: null, fileName: null, url: null, contentId: null, bytes: 3 } as const
    return this.store.write.putDocument({ ...given, ...changes })
  }

  claim(holder = 'a') {
    return this.store.write.claimDocument({ holder, leaseMs })
  }

  add(documentId: string, fence: number, texts: string[], from = 0) {
    const chunks = texts.map((text) => ({ headings: '', text, vector: null }))
    return this.store.write.addChunks({ documentId, fence, title: documentId, from, chunks })
  }

  finish(documentId: string, fence: number, chunks: number, language: string | null = null) {
    return this.store.write.finishDocument({ documentId, fence, title: documentId, bytes: 3, chunks, language, embeddingModel: null })
  }

  /** Created, claimed, written and published. */
  async index(id: string, texts: string[]) {
    assert.equal(await this.put(id), 'put')
    const claimed = await this.claim()
    assert.equal(claimed?.id, id)
    assert.ok(await this.add(id, claimed.fence, texts))
    assert.ok(await this.finish(id, claimed.fence, texts.length))
    return claimed
  }

  async find(query: string, languages: (string | null)[] = [null]) {
    const found = await this.store.read.searchChunks({ agentId: this.agentId, query, limit: 10, languages })
    return found.map(({ text }) => text)
  }

  document(id: string) {
    return this.store.read.findDocument(this.agentId, id)
  }

  async clearAll(limit = 100) {
    const steps: number[] = []
    for (let done = 1; done > 0;) steps.push((done = await this.store.write.clearKnowledge({ limit })))
    return steps
  }
}

async function setUp(t: TestContext) {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 1_000_000n)
  const fixture = new DocumentsFixture(store, bench.agentId)
  return { store, bench, fixture }
}

void test('knowledge: a document is queued, claimed, written and published; the list and its row show its progress', async (t) => {
  const { store, fixture } = await setUp(t)
  assert.equal(await fixture.put('doc_a', { title: 'First', source: 'file', mediaType: 'text/plain', fileName: 'a.txt', bytes: 7 }), 'put')
  const queued = await fixture.document('doc_a')
  assert.deepEqual(
    { ...queued, createdAt: 0, updatedAt: 0 },
    {
      id: 'doc_a',
      agentId: fixture.agentId,
      title: 'First',
      source: 'file',
      mediaType: 'text/plain',
      fileName: 'a.txt',
      url: null,
      status: 'queued',
      reason: null,
      progress: null,
      chunks: 0,
      warnings: [],
      bytes: 7,
      createdAt: 0,
      updatedAt: 0,
      indexedAt: null,
      sha256: null,
      waitsUntil: null,
    },
  )
  const claimed = (await fixture.claim())!
  assert.deepEqual([claimed.status, claimed.progress, claimed.attempt, claimed.contentId], ['indexing', 0, 1, null])
  assert.deepEqual(claimed.knowledge, { language: null, embeddingModel: null })
  assert.equal(await fixture.claim('b'), undefined, 'it is claimed once')
  assert.ok(await store.write.reportProgress({ documentId: 'doc_a', fence: claimed.fence, progress: 40.4, leaseMs }))
  assert.equal((await fixture.document('doc_a'))?.progress, 40)
  assert.ok(await fixture.add('doc_a', claimed.fence, ['parrots are green', 'zebras are striped']))
  assert.deepEqual(await fixture.find('parrot zebra'), [], 'nothing of it is found before all of it is there')
  assert.ok(await fixture.finish('doc_a', claimed.fence, 2))
  assert.deepEqual((await fixture.find('parrot zebra')).toSorted(), ['parrots are green', 'zebras are striped'])
  const ready = (await fixture.document('doc_a'))!
  assert.deepEqual([ready.status, ready.progress, ready.chunks, ready.indexedAt !== null], ['ready', null, 2, true])
  await fixture.put('doc_b')
  assert.deepEqual(
    (await store.read.listDocuments(fixture.agentId, top)).map(({ id }) => id),
    ['doc_b', 'doc_a'],
  )
  assert.deepEqual(await store.read.listDocuments('agt_other', top), [])
  assert.equal(await store.read.findDocument('agt_other', 'doc_a'), undefined)
})

void test('knowledge: two concurrent claims get two documents, the oldest first', async (t) => {
  const { fixture } = await setUp(t)
  for (const id of ['doc_a', 'doc_b', 'doc_c']) {
    await fixture.put(id)
    await fixture.store.moveClock(10)
  }
  const claimed = await Promise.all([fixture.claim('a'), fixture.claim('b')])
  assert.deepEqual(claimed.map((one) => one?.id).toSorted(), ['doc_a', 'doc_b'])
  assert.equal((await fixture.claim())?.id, 'doc_c')
  assert.equal(await fixture.claim(), undefined)
})

void test('knowledge.turns: owners take turns, and an owner with documents in work comes after the others', async (t) => {
  const { store, fixture } = await setUp(t)
  const other = new DocumentsFixture(store, (await Bench.make(store, 1_000_000n)).agentId)
  for (let number = 0; number < 6; number++) {
    await fixture.put(`doc_many_${number}`)
    await store.moveClock(10)
  }
  for (const id of ['doc_other_0', 'doc_other_1']) {
    await other.put(id)
    await store.moveClock(10)
  }
  const order: string[] = []
  const served: string[] = []
  for (;;) {
    const claimed = await store.write.claimDocument({ holder: 'a', leaseMs, served })
    if (!claimed) break
    order.push(claimed.id)
    served.push(claimed.ownerId)
    await store.write.failDocument({ documentId: claimed.id, fence: claimed.fence, reason: 'a test' })
  }
  const rest = ['doc_many_2', 'doc_many_3', 'doc_many_4', 'doc_many_5']
  assert.deepEqual(order, ['doc_many_0', 'doc_other_0', 'doc_many_1', 'doc_other_1', ...rest])
})

void test('knowledge.turns: several processes that claim at the same time take documents of several owners', async (t) => {
  const { store, fixture } = await setUp(t)
  const others = await Promise.all([1, 2].map(async () => new DocumentsFixture(store, (await Bench.make(store, 1_000_000n)).agentId)))
  for (let number = 0; number < 5; number++) {
    await fixture.put(`doc_many_${number}`)
    await store.moveClock(10)
  }
  for (const [index, other] of others.entries()) {
    await other.put(`doc_other_${index}`)
    await store.moveClock(10)
  }
  // No process knows of the claims of the others except from the store.
  const claimed = await Promise.all(['a', 'b', 'c'].map((holder) => fixture.claim(holder)))
  assert.deepEqual(claimed.map((one) => one?.id).toSorted(), ['doc_many_0', 'doc_other_0', 'doc_other_1'])
  assert.equal((await fixture.claim('d'))?.id, 'doc_many_1', 'an owner with documents in work is served if no one else waits')
  await store.moveClock(leaseMs + 1)
  assert.equal((await fixture.claim('e'))?.id, 'doc_many_0', 'the lease of a dead process does not count as work')
})

void test('knowledge.bounded: an owner whose documents have used up their CPU time waits until the hour is over, and others go on', async (t) => {
  const { store, fixture, bench } = await setUp(t)
  const other = new DocumentsFixture(store, (await Bench.make(store, 1_000_000n)).agentId)
  const spend = (ms: number): Promise<void> => store.write.spendIndexing({ ownerId: bench.ownerId, ms, limitMs: 1_000 })
  const waitsUntil = async (): Promise<number | null> => (await fixture.document('doc_a'))!.waitsUntil
  for (const id of ['doc_a', 'doc_b']) await fixture.put(id)
  await spend(400)
  assert.equal(await waitsUntil(), null)
  // Two processes that end a document at the same time.
  await Promise.all([spend(300), spend(300.4)])
  const until = await waitsUntil()
  assert.ok(until !== null, 'the document says until when it waits')
  assert.deepEqual(
    (await store.read.listDocuments(fixture.agentId, top)).map((one) => one.waitsUntil),
    [until, until],
  )
  assert.equal(await fixture.claim(), undefined)
  await other.put('doc_other')
  const claimed = (await fixture.claim())!
  assert.equal(claimed.id, 'doc_other')
  assert.equal((await other.document('doc_other'))!.waitsUntil, null)
  await store.write.failDocument({ documentId: claimed.id, fence: claimed.fence, reason: 'a test' })
  await store.moveClock(hourMs)
  assert.equal(await waitsUntil(), null)
  assert.equal((await fixture.claim())?.id, 'doc_a')
  // The next window starts with nothing spent.
  await spend(999)
  assert.equal((await fixture.claim('b'))?.id, 'doc_b')
})

void test('knowledge.bounded: an owner has at most the allowed number of queued documents, over all agents and requests at the same time', async (t) => {
  const { store, fixture, bench } = await setUp(t)
  const other = new DocumentsFixture(store, (await Bench.make(store, 1_000_000n)).agentId)
  const second = new DocumentsFixture(store, (await bench.another()).agentId)
  const sent = Array.from({ length: 12 }, (_, number) => (number % 2 === 0 ? fixture : second).put(`doc_${number}`, { maxQueued: 5 }))
  const outcomes = await Promise.all(sent)
  assert.deepEqual(outcomes.toSorted(), [...Array(5).fill('put'), ...Array(7).fill('queue_full')])
  assert.equal(await other.put('doc_other', { maxQueued: 5 }), 'put')
  // Replacing a queued document adds nothing to the queue.
  const queued = outcomes.indexOf('put')
  const owned = queued % 2 === 0 ? fixture : second
  assert.equal(await owned.put(`doc_${queued}`, { title: 'Next', maxQueued: 5 }), 'put')
  // One that is indexed has left it, and must come back in to be replaced.
  let claimed = await fixture.claim()
  while (claimed?.agentId === other.agentId) claimed = await fixture.claim()
  assert.ok(claimed)
  assert.ok(await store.write.failDocument({ documentId: claimed.id, fence: claimed.fence, reason: 'a test' }))
  const left = claimed.agentId === fixture.agentId ? fixture : second
  assert.equal(await fixture.put('doc_next', { maxQueued: 5 }), 'put')
  assert.equal(await left.put(claimed.id, { maxQueued: 5 }), 'queue_full')
  // A deleted one has left it as well.
  assert.ok(await store.write.deleteDocument({ agentId: fixture.agentId, id: 'doc_next' }))
  assert.equal(await left.put(claimed.id, { maxQueued: 5 }), 'put')
})

void test('knowledge: after its lease has expired another process claims a document, and the first one can no longer write to it', async (t) => {
  const { store, fixture } = await setUp(t)
  await fixture.put('doc_a')
  const first = (await fixture.claim())!
  assert.ok(await fixture.add('doc_a', first.fence, ['of the first claim']))
  await store.moveClock(leaseMs - 1_000)
  assert.ok(await store.write.reportProgress({ documentId: 'doc_a', fence: first.fence, progress: 50, leaseMs }))
  await store.moveClock(leaseMs - 1_000)
  assert.equal(await fixture.claim('b'), undefined, 'a report of progress renews the lease')
  await store.moveClock(leaseMs)
  const second = (await fixture.claim('b'))!
  assert.deepEqual([second.attempt, second.fence > first.fence], [2, true])
  assert.equal(await store.write.reportProgress({ documentId: 'doc_a', fence: first.fence, progress: 60, leaseMs }), false)
  assert.equal(await fixture.add('doc_a', first.fence, ['late'], 1), false)
  assert.equal(await fixture.finish('doc_a', first.fence, 2), false)
  assert.equal(await store.write.failDocument({ documentId: 'doc_a', fence: first.fence, reason: 'late' }), false)
  assert.ok(await fixture.add('doc_a', second.fence, ['of the second claim']))
  assert.ok(await fixture.finish('doc_a', second.fence, 1))
  assert.ok(await fixture.finish('doc_a', second.fence, 1), 'asked again it is done')
  assert.deepEqual(await fixture.find('claim'), ['of the second claim'])
  await fixture.clearAll()
  assert.deepEqual(await fixture.find('claim'), ['of the second claim'])
})

void test('knowledge: a document that failed three attempts has failed, with a reason; uploading it again starts over', async (t) => {
  const { store, fixture } = await setUp(t)
  await fixture.put('doc_a')
  for (const attempt of [1, 2, 3]) {
    assert.equal((await fixture.claim())?.attempt, attempt)
    await store.moveClock(leaseMs + 1)
  }
  assert.equal(await fixture.claim(), undefined)
  const failed = (await fixture.document('doc_a'))!
  assert.equal(failed.status, 'failed')
  assert.match(failed.reason!, /three times/)
  assert.equal(await fixture.put('doc_a'), 'put')
  assert.deepEqual([(await fixture.document('doc_a'))?.reason, (await fixture.claim())?.attempt], [null, 1])
})

void test('knowledge: chunks that are written twice are stored once', async (t) => {
  const { fixture } = await setUp(t)
  await fixture.put('doc_a')
  const { fence } = (await fixture.claim())!
  assert.ok(await fixture.add('doc_a', fence, ['parrot one', 'parrot two']))
  assert.ok(await fixture.add('doc_a', fence, ['parrot one', 'parrot two']))
  assert.ok(await fixture.finish('doc_a', fence, 2))
  assert.deepEqual((await fixture.find('parrot')).toSorted(), ['parrot one', 'parrot two'])
})

void test('knowledge.serving: the old text of a document is served while the new one is indexed, also if that fails; then all of it is replaced at once', async (t) => {
  const { store, fixture } = await setUp(t)
  await fixture.index('doc_a', ['parrots of old', 'more parrots of old'])
  await fixture.put('doc_a', { title: 'again' })
  assert.equal((await fixture.find('parrot')).length, 2)
  const failing = (await fixture.claim())!
  await fixture.add('doc_a', failing.fence, ['parrots that never come'])
  assert.ok(await store.write.failDocument({ documentId: 'doc_a', fence: failing.fence, reason: 'It cannot be read.' }))
  assert.deepEqual((await fixture.find('parrot')).toSorted(), ['more parrots of old', 'parrots of old'])
  const failed = (await fixture.document('doc_a'))!
  assert.deepEqual([failed.status, failed.reason, failed.chunks], ['failed', 'It cannot be read.', 2])
  await fixture.put('doc_a')
  const { fence } = (await fixture.claim())!
  await fixture.add('doc_a', fence, ['parrots of today'])
  assert.equal((await fixture.find('parrot')).length, 2)
  await fixture.finish('doc_a', fence, 1)
  assert.deepEqual(await fixture.find('parrot'), ['parrots of today'])
  await fixture.clearAll(1)
  assert.deepEqual(await fixture.find('parrot'), ['parrots of today'])
})

void test('knowledge.serving: a deleted document is no longer found, whatever is still to be cleaned up, and cannot be written to', async (t) => {
  const { store, fixture } = await setUp(t)
  await fixture.index('doc_a', ['parrot'])
  await fixture.index('doc_b', ['parrot too'])
  await fixture.put('doc_a')
  const { fence } = (await fixture.claim())!
  await fixture.add('doc_a', fence, ['parrot that is being made'])
  assert.equal(await store.write.deleteDocument({ agentId: 'agt_other', id: 'doc_a' }), false)
  assert.equal(await store.write.deleteDocument({ agentId: fixture.agentId, id: 'doc_a' }), true)
  assert.equal(await store.write.deleteDocument({ agentId: fixture.agentId, id: 'doc_a' }), false)
  assert.deepEqual(await fixture.find('parrot'), ['parrot too'])
  assert.equal(await fixture.document('doc_a'), undefined)
  assert.deepEqual(
    (await store.read.listDocuments(fixture.agentId, top)).map(({ id }) => id),
    ['doc_b'],
  )
  assert.equal(await fixture.add('doc_a', fence, ['late'], 1), false)
  assert.equal(await fixture.finish('doc_a', fence, 1), false)
  assert.equal(await fixture.put('doc_a'), 'document_not_found')
  const [found] = await store.read.searchChunks({ agentId: fixture.agentId, query: 'parrot', limit: 1, languages: [null] })
  await fixture.clearAll()
  assert.deepEqual(await fixture.find('parrot'), ['parrot too'])
  assert.equal((await store.read.readChunks({ agentId: fixture.agentId, chunkIds: [found!.chunkId] })).length, 1)
  assert.equal(await fixture.put('doc_a'), 'put', 'its rows are gone')
})

void test('knowledge: one cleanup removes no more than it is asked to, and cleanup ends', async (t) => {
  const { store, fixture } = await setUp(t)
  await fixture.index(
    'doc_a',
    Array.from({ length: 25 }, (_, n) => `parrot number ${n}`),
  )
  await store.write.deleteDocument({ agentId: fixture.agentId, id: 'doc_a' })
  const steps = await fixture.clearAll(10)
  assert.deepEqual(steps, [10, 10, 6, 1, 0], 'chunks by tens, the generation with the last of them, the document, nothing')
})

void test('knowledge: contents are stored in parts; unreferenced ones are deleted after an hour', async (t) => {
  const { store, fixture } = await setUp(t)
  const part = (value: number): Uint8Array => new Uint8Array(256 * 1024).fill(value)
  const read = async (contentId: string, index: number) => (await store.read.readContentPart(contentId, index))?.[0]
  for (const [index, value] of [1, 2, 3].entries())
    await store.write.putContentPart({ contentId: 'cnt_a', part: index, bytes: part(value) })
  await store.write.putContentPart({ contentId: 'cnt_a', part: 1, bytes: part(9) })
  await store.write.putContentPart({ contentId: 'cnt_left', part: 0, bytes: part(4) })
  await fixture.put('doc_a', { contentId: 'cnt_a' })
  assert.equal((await fixture.claim())?.contentId, 'cnt_a')
  await store.moveClock(hourMs - 60_000)
  await fixture.clearAll()
  assert.equal(await read('cnt_left', 0), 4)
  await store.moveClock(120_000)
  await fixture.clearAll()
  assert.equal(await read('cnt_left', 0), undefined)
  assert.deepEqual([await read('cnt_a', 0), await read('cnt_a', 1), await read('cnt_a', 2), await read('cnt_a', 3)], [1, 9, 3, undefined])
  await store.write.putContentPart({ contentId: 'cnt_b', part: 0, bytes: part(5) })
  await fixture.put('doc_a', { contentId: 'cnt_b' })
  await store.moveClock(hourMs + 1)
  await fixture.clearAll()
  assert.deepEqual([await read('cnt_a', 0), await read('cnt_a', 2), await read('cnt_b', 0)], [undefined, undefined, 5])
  await assert.rejects(
    store.write.putContentPart({ contentId: 'cnt_c', part: 0, bytes: new Uint8Array(256 * 1024 + 1) }),
    /content_parts_are_small/,
  )
})

void test('knowledge: a document can only be added to an existing agent and under a new id', async (t) => {
  const { store, fixture } = await setUp(t)
  const other = await Bench.make(store, 1n)
  assert.equal(await fixture.put('doc_a', { agentId: 'agt_unknown' }), 'agent_not_found')
  await fixture.put('doc_a')
  assert.equal(await fixture.put('doc_a', { agentId: other.agentId }), 'document_not_found')
  assert.equal((await store.read.knowledgeState(fixture.agentId)).documents, 1)
  assert.equal((await store.read.knowledgeState(other.agentId)).documents, 0)
})

void test('knowledge: nothing is indexed for a deleted agent', async (t) => {
  const { store, fixture } = await setUp(t)
  await fixture.put('doc_a')
  await store.write.deleteAgent(fixture.agentId)
  assert.equal(await fixture.claim(), undefined)
  assert.equal(await fixture.put('doc_b'), 'agent_not_found')
  assert.equal(await store.write.requeueDocuments({ agentId: fixture.agentId }), 0)
})

void test('knowledge: the documents of a deleted agent are deleted with all their text, once no turn of it can run', async (t) => {
  const { store, fixture } = await setUp(t)
  await store.write.putContentPart({ contentId: 'cnt_a', part: 0, bytes: Buffer.from('harbour') })
  await fixture.index('doc_a', ['The harbour is open', 'Ships arrive'])
  await fixture.put('doc_a', { contentId: 'cnt_a' })
  for (let n = 0; n < 30; n++) await fixture.put(`doc_queued${n}`)
  const other = new DocumentsFixture(store, (await Bench.make(store, 1_000_000n)).agentId)
  await store.write.deleteAgent(fixture.agentId)
  await fixture.clearAll()
  assert.deepEqual(await fixture.find('harbour'), ['The harbour is open'], 'a running turn still finds them')

  await store.moveClock(10 * 60_000 + 1)
  await fixture.clearAll()
  assert.deepEqual(
    [await fixture.find('harbour'), await fixture.document('doc_a'), await fixture.document('doc_queued7')],
    [[], undefined, undefined],
  )
  assert.equal((await store.read.knowledgeState(fixture.agentId)).documents, 0)
  await store.moveClock(hourMs + 1)
  await fixture.clearAll()
  assert.equal(await store.read.readContentPart('cnt_a', 0), undefined)
  // Nothing of another agent is touched, and the next cleanup finds nothing.
  await other.index('doc_other', ['The harbour is closed'])
  assert.deepEqual([await other.clearAll(), await other.find('harbour')], [[0], ['The harbour is closed']])
})

void test('knowledge: a new language queues the documents that were indexed for another; documents of both are found meanwhile', async (t) => {
  const { store, fixture } = await setUp(t)
  await fixture.index('doc_a', ['Die Lieferungen kommen an'])
  await fixture.index('doc_b', ['Rückgaben und Lieferungen'])
  const agent = (await store.read.findAgent(fixture.agentId))!
  const { id: _, agentId: __, version, createdAt: ___, ...content } = agent.present
  const next = { after: version, provider: null, content: { ...content, config: JSON.stringify({ language: 'german' }) } }
  assert.equal((await store.write.changeAgent({ id: fixture.agentId, next })).kind, 'changed')
  assert.equal(await store.write.requeueDocuments({ agentId: fixture.agentId }), 2)
  assert.equal(await store.write.requeueDocuments({ agentId: fixture.agentId }), 0, 'queued once')
  const claimed = (await fixture.claim())!
  assert.equal(claimed.knowledge.language, 'german')
  await fixture.add(claimed.id, claimed.fence, [claimed.id === 'doc_a' ? 'Die Lieferungen kommen an' : 'Rückgaben und Lieferungen'])
  await assert.rejects(fixture.finish(claimed.id, claimed.fence, 1, null), /another language/)
  assert.ok(await fixture.finish(claimed.id, claimed.fence, 1, 'german'))
  const { languages } = await store.read.knowledgeState(fixture.agentId)
  assert.deepEqual(languages.toSorted(), ['german', null])
  assert.equal((await fixture.find('Lieferungen', languages)).length, 2, 'each by its own stems')
  assert.equal((await fixture.find('Lieferung', ['german'])).length, 1)
  assert.equal(await store.write.requeueDocuments({ agentId: fixture.agentId }), 0, 'one is queued still, the other is as it should be')
})

void test('knowledge: the revision rises with every change to search results and names what changed; a reader that missed a deletion reloads', async (t) => {
  const { store, fixture } = await setUp(t)
  const vector = (...values: number[]): Float32Array => Float32Array.from(values)
  const changes = (after: number) => store.read.listIndexChanges({ agentId: fixture.agentId, after, limit: 10 })
  const index = async (id: string, vectors: (Float32Array | null)[]) => {
    await fixture.put(id)
    const { fence } = (await fixture.claim())!
    const chunks = vectors.map((one, n) => ({ headings: '', text: `parrot ${n}`, vector: one }))
    await store.write.addChunks({ documentId: id, fence, title: id, from: 0, chunks })
    const finished = { documentId: id, fence, title: id, bytes: 1, chunks: vectors.length, language: null, embeddingModel: 'p/m' }
    await store.write.finishDocument(finished)
  }
  await index('doc_a', [vector(3, 4), null, vector(0, 0)])
  await index('doc_b', [vector(0, 2)])
  const { revision } = await store.read.knowledgeState(fixture.agentId)
  const all = await changes(0)
  assert.deepEqual(
    all.changes.map(({ documentId, chunks, embeddingModel }) => [documentId, chunks, embeddingModel]),
    [
      ['doc_a', 3, 'p/m'],
      ['doc_b', 1, 'p/m'],
    ],
  )
  assert.equal(all.changes.at(-1)!.revision, revision)
  assert.deepEqual((await changes(revision)).changes, [])
  const asked = { agentId: fixture.agentId, documents: all.changes, dimensions: 2, from: 0, to: 10 }
  const page = await store.read.readVectors(asked)
  const floats = new Float32Array(new Uint8Array(page.vectors).buffer)
  assert.deepEqual(page.documentIds, ['doc_a', 'doc_b'], 'a chunk without a direction has no vector')
  assert.deepEqual(
    [...floats].map((value) => Math.round(value * 10)),
    [6, 8, 0, 10],
    'of unit length',
  )
  assert.deepEqual((await store.read.readVectors({ ...asked, to: 1 })).chunkIds.length, 2)
  assert.equal((await store.read.readVectors({ ...asked, from: 1 })).chunkIds.length, 0)
  assert.deepEqual((await store.read.readVectors({ ...asked, dimensions: 3 })).chunkIds, [], 'another model’s length')
  await store.write.deleteDocument({ agentId: fixture.agentId, id: 'doc_a' })
  const deleted = await changes(revision)
  assert.deepEqual(
    deleted.changes.map(({ documentId, generation }) => [documentId, generation]),
    [['doc_a', 0]],
  )
  assert.equal(deleted.clearedRevision, 0)
  assert.deepEqual((await store.read.readVectors(asked)).documentIds, ['doc_b'])
  await fixture.clearAll()
  const cleared = await changes(revision)
  assert.deepEqual(cleared.changes, [])
  assert.ok(cleared.clearedRevision > revision)
})
