/**
 * Documents from the queue to a search result, on a real store: every file type, URLs through the real guard, vectors from a real model,
 * and every way in which indexing can be interrupted. Parsing itself: documents-reading.test.ts.
 */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { createIndexer } from '../src/agent/documents/documents.ts'
import type { Indexer, IndexerSettings } from '../src/agent/documents/documents.ts'
import { createEmbeddings } from '../src/agent/models/embeddings.ts'
import { createGuard } from '../src/agent/guard/guard.ts'
import { createKnowledge } from '../src/agent/knowledge/knowledge.ts'
import { createModels } from '../src/agent/models/models.ts'
import type { Passage } from '../src/agent/models/model.ts'
import { keyBoundTo } from '../src/config/provider-address.ts'
import { createSealer } from '../src/config/secrets.ts'
import type { NewDocument, StoredDocument } from '../src/store/queries/knowledge/documents.ts'
import { StoreUnavailable } from '../src/store/store.ts'
import { openForReading } from '../src/store/sqlite/database.ts'
import { openSqliteStore } from '../src/store/sqlite/sqlite.ts'
import { callMethod, methodsOf } from '../src/store/methods.ts'
import { writes } from '../src/store/queries/writes.ts'
import type { Writes } from '../src/store/queries/writes.ts'
import { Bench } from './store/conformance.ts'
import { embeddingDimensions, startEmbeddingServer } from './support/embedding-server.ts'
import type { IndexingProcess } from './support/indexing-process.ts'
import { ownPostgres } from './support/own-postgres.ts'
import { until } from './support/until.ts'
import type { OwnStore } from './support/own-store.ts'
import { readingProcessesOf } from './support/reading-processes.ts'
import { storeKind } from './support/store-under-test.ts'

const folder = join(import.meta.dirname, 'data', 'documents')
const file = (name: string): Buffer => readFileSync(join(folder, name))
const partBytes = 256 * 1024
const key = randomBytes(32)

type Place = { at: IndexingProcess['at']; open(): Promise<OwnStore>; count(table: string): Promise<number> }

/** A store that is opened again and again, each time as another process would. */
async function makePlace(t: TestContext): Promise<Place> {
  if (storeKind === 'postgres') {
    const database = await ownPostgres(t)
    const count = async (table: string): Promise<number> => Number((await database.row(`select count(*) as n from ${table}`))['n'])
    return { at: { url: database.url }, open: () => database.open(), count }
  }
  const own = await mkdtemp(join(tmpdir(), 'turnkeep-test-'))
  t.after(() => rm(own, { recursive: true, force: true }))
  return {
    at: { folder: own },
    async open() {
      const store = await openSqliteStore({ folder: own })
      t.after(() => store.close())
      return { ...store, moveClock: async (milliseconds) => store.moveClock(milliseconds) }
    },
    async count(table) {
      const db = openForReading(own)
      try {
        return Number(db.prepare(`select count(*) as n from ${table}`).get()!['n'])
      } finally {
        db.close()
      }
    },
  }
}

type Logged = { level: string; message: string; fields: Record<string, unknown> }

/** Everything around an indexer, and functions that add documents as the admin API does. */
class Library {
  readonly store: OwnStore
  readonly bench: Bench
  readonly logged: Logged[] = []
  readonly #t: TestContext
  readonly #knowledge
  readonly #embeddings
  readonly #models = createModels()
  #revised = { embeddingModel: null as string | null, language: null as string | null }

  constructor(t: TestContext, store: OwnStore, bench: Bench) {
    this.#t = t
    this.store = store
    this.bench = bench
    this.#embeddings = createEmbeddings({ store, sealer: createSealer([key]), models: this.#models })
    this.#knowledge = createKnowledge({ store, embeddings: this.#embeddings })
    t.after(async () => {
      await this.#knowledge.close()
      await this.#models.close()
    })
  }

  static async make(t: TestContext): Promise<Library> {
    const place = await makePlace(t)
    const store = await place.open()
    return new Library(t, store, await Bench.make(store, 1_000_000n))
  }

  /** Started, and stopped with the test. Polling intervals are short, so that changes without a notification are found soon. */
  index(settings: Partial<IndexerSettings> = {}, { allowed = [] as string[], store = this.store } = {}): Indexer {
    const guard = createGuard({ allowPrivateHosts: allowed })
    const note = (level: string) => (fields: object, message: string) => void this.logged.push({ level, message, fields: { ...fields } })
    const log = { info: note('info'), warn: note('warn'), error: note('error') } as never
    const own = { retriesMs: { embedding: [10, 20, 40], address: [10, 20] }, restMs: 100, maxRestMs: 200, ...settings }
    const indexer = createIndexer({ store, guard, embeddings: this.#embeddings, log, settings: own })
    this.#t.after(async () => {
      await indexer.stop()
      await guard.close()
    })
    indexer.start()
    return indexer
  }

  async embedBy(baseUrl: string): Promise<void> {
    const id = `prv_${randomUUID().slice(0, 8)}`
    const sealedApiKey = createSealer([key]).seal('sk-secret', keyBoundTo({ id, kind: 'openai-compatible', baseUrl }))
    await this.store.write.createProvider({ id, name: 'vectors', kind: 'openai-compatible', baseUrl, sealedApiKey })
    await this.revise({ embeddingModel: 'vectors/small' })
  }

  async revise(changes: Partial<{ embeddingModel: string | null; language: string | null }>): Promise<void> {
    this.#revised = { ...this.#revised, ...changes }
    const { present } = (await this.store.read.findAgent(this.bench.agentId))!
    const next = { after: present.version, provider: null, content: { ...present, config: JSON.stringify(this.#revised) } }
    assert.equal((await this.store.write.changeAgent({ id: this.bench.agentId, next })).kind, 'changed')
  }

  async put(id: string, given: Partial<NewDocument> & { content?: Buffer }): Promise<void> {
    const { content, ...described } = given
    const contentId = content ? `cnt_${randomUUID()}` : null
    const parts = Array.from({ length: Math.ceil((content?.length ?? 0) / partBytes) }, (_, part) => part)
    for (const part of parts) {
      const bytes = content!.subarray(part * partBytes, (part + 1) * partBytes)
      await this.store.write.putContentPart({ contentId: contentId!, part, bytes })
    }
    const nothing = { title: 'A title', source: 'file' as const, mediaType: null, fileName: null, url: null }
    const document = { ...nothing, ...described, id, agentId: this.bench.agentId, contentId, bytes: content?.length ?? 0 }
    assert.equal(await this.store.write.putDocument(document), 'put')
  }

  async putFile(name: string, id = `doc_${name}`): Promise<string> {
    await this.put(id, { fileName: name, title: name, content: file(name) })
    return id
  }

  async document(id: string): Promise<StoredDocument> {
    const found = await this.store.read.findDocument(this.bench.agentId, id)
    assert.ok(found, `${id} is gone`)
    return found
  }

  async ended(id: string): Promise<StoredDocument> {
    await until(`${id} is ready or has failed`, async () => ['ready', 'failed'].includes(await this.status(id)), 60_000)
    return this.document(id)
  }

  /** A machine that is busy with the embedding server's model may miss the store's deadline; then it is retried. */
  async status(id: string): Promise<string> {
    return this.document(id).then(
      ({ status }) => status,
      (error: unknown) => {
        if (error instanceof StoreUnavailable) return 'not known'
        throw error
      },
    )
  }

  async ready(id: string): Promise<StoredDocument> {
    const document = await this.ended(id)
    assert.deepEqual([document.status, document.reason], ['ready', null], document.reason ?? '')
    return document
  }

  async failed(id: string): Promise<string> {
    const { status, reason, progress, chunks } = await this.ended(id)
    assert.deepEqual([status, progress, chunks], ['failed', null, 0], reason ?? '')
    return reason!
  }

  find(query: string, limit = 5): Promise<Passage[]> {
    return this.#knowledge.search({ agentId: this.bench.agentId, query, limit, maxTokens: 100_000, ...this.#revised })
  }
}

/** Pages on 127.0.0.1; `host` is what a guard must allow for them. */
async function serve(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ url: string; host: string }> {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url: `http://${host}`, host }
}

async function startEmbeddings(t: TestContext) {
  const server = await startEmbeddingServer()
  t.after(() => server.close())
  // Its model is loaded with the first text and stops this whole process meanwhile.
  await (await fetch(`${server.baseUrl}/embeddings`, { method: 'POST', body: JSON.stringify({ model: 'small', input: 'hello' }) })).json()
  server.calls.length = 0
  return server
}

void test('documents: a file of every type is found, with its passage and location', async (t) => {
  const library = await Library.make(t)
  library.index()
  const files = ['handbook.md', 'handbook.docx', 'handbook.pdf', 'page.html', 'utf-16.txt', 'log-book.pdf']
  for (const name of files) await library.putFile(name)
  for (const name of files) {
    const { chunks, bytes, indexedAt, progress } = await library.ready(`doc_${name}`)
    assert.ok(chunks > 1 && indexedAt !== null && progress === null)
    assert.equal(bytes, file(name).length)
  }
  const [mark] = await library.find('Which day has the mark KX-18423?')
  assert.deepEqual([mark!.documentId, mark!.title, mark!.section], ['doc_log-book.pdf', 'log-book.pdf', 'Page 217'])
  const late = await library.find('fee for books that are returned late', 10)
  const sections = new Map(late.toReversed().map(({ documentId, section }) => [documentId, section]))
  assert.equal(sections.get('doc_handbook.docx'), 'Borrowing › Late returns')
  assert.equal(sections.get('doc_handbook.md'), 'Borrowing › Late returns')
  const [fare] = await library.find('How much is a single crossing?')
  // It has no better name than its file's: the page's own title is used.
  assert.deepEqual([fare!.documentId, fare!.title, fare!.section], ['doc_page.html', 'Ferries & fares – Harbour Line', 'Fares'])
  // Its words count for every passage, as those of a given title do.
  const ofLine = await library.find('Harbour Line', 10)
  assert.ok(ofLine.some(({ documentId, section }) => documentId === 'doc_page.html' && section === 'Fares'))
})

void test('documents: an unreadable document fails with the reason immediately, and the next one in the queue is read', async (t) => {
  const library = await Library.make(t)
  const reasons: [name: string, reason: RegExp][] = [
    ['scanned.pdf', /its pages are images or empty/],
    ['encrypted.pdf', /is protected by a password/],
    ['damaged.pdf', /is damaged/],
    ['many-pages.pdf', /has 2001 pages/],
  ]
  for (const [name] of reasons) await library.putFile(name)
  await library.put('doc_empty', { fileName: 'a.md', content: Buffer.alloc(0) })
  await library.put('doc_text', { source: 'text', content: Buffer.from('%PDF-1.7 is how a PDF begins') })
  library.index()
  for (const [name, reason] of reasons) assert.match(await library.failed(`doc_${name}`), reason)
  assert.match(await library.failed('doc_empty'), /is empty|no content/)
  assert.equal((await library.ready('doc_text')).chunks, 1)
  assert.equal((await library.find('how a PDF begins'))[0]?.documentId, 'doc_text')
})

void test('documents: a replaced document serves its old text until the new one is ready, and continues to if that fails', async (t) => {
  const library = await Library.make(t)
  library.index()
  const id = await library.putFile('handbook.md', 'doc_one')
  await library.ready(id)
  await library.putFile('damaged.pdf', id)
  const failed = await library.ended(id)
  assert.deepEqual([failed.status, failed.chunks], ['failed', 7])
  assert.equal((await library.find('fee for late returns'))[0]?.section, 'Borrowing › Late returns')
  await library.put(id, {
    title: 'New',
    fileName: 'new.md',
    content: Buffer.from('# Tariff\n\nThe fee for late returns is a crate of oats.'),
  })
  assert.equal((await library.ready(id)).chunks, 1)
  assert.deepEqual(
    (await library.find('fee for late returns')).map(({ title, section }) => [title, section]),
    [['New', 'Tariff']],
  )
})

void test('documents: a URL is fetched through the guard, including redirects, with the title of the page', async (t) => {
  const seen: string[] = []
  const { url, host } = await serve(t, ({ url: path }, response) => {
    seen.push(path!)
    const hops = /^\/hop\/(\d)/.exec(path!)
    if (hops) return void response.writeHead(302, { location: hops[1] === '1' ? '/fares' : `/hop/${Number(hops[1]) - 1}` }).end()
    const type = { '/fares': 'text/html; charset=utf-8', '/log': 'application/pdf', '/old': 'text/html', '/liar': 'application/pdf' }[path!]
    const content = { '/fares': 'page.html', '/log': 'log-book.pdf', '/old': 'old-page.windows-1252', '/liar': 'page.html' }[path!]
    if (!content) return void response.writeHead(404).end('no such page')
    response.writeHead(200, { 'content-type': type }).end(file(content))
  })
  const library = await Library.make(t)
  const put = (id: string, path: string, title?: string) =>
    library.put(id, { source: 'url', url: `${url}${path}`, title: title ?? `${url}${path}` })
  await put('doc_fares', '/hop/3')
  await put('doc_log', '/log', 'Our log book')
  await put('doc_old', '/old')
  await put('doc_far', '/hop/4')
  await put('doc_gone', '/nowhere')
  await put('doc_liar', '/liar')
  library.index({}, { allowed: [host] })
  const fares = await library.ready('doc_fares')
  assert.deepEqual([fares.title, fares.bytes], ['Ferries & fares – Harbour Line', file('page.html').length])
  assert.equal((await library.ready('doc_log')).title, 'Our log book')
  await library.ready('doc_old')
  assert.match(await library.failed('doc_far'), /^This URL is not allowed: .*redirects more than 3 times\.$/)
  assert.equal(await library.failed('doc_gone'), 'The URL returned status 404.')
  assert.match(await library.failed('doc_liar'), /^According to its content type, this file is a PDF, but its content is something else\.$/)
  assert.equal(seen.filter((path) => path === '/nowhere').length, 1)
  assert.match((await library.find('islands'))[0]!.text, /Großoog/)
})

void test('documents: no connection is made to a forbidden address; a temporary failure is retried', async (t) => {
  let calls = 0
  const { url, host } = await serve(t, (_, response) => {
    calls += 1
    if (calls < 3) return void response.writeHead(503).end()
    response.writeHead(200, { 'content-type': 'text/plain' }).end('The harbour is open.')
  })
  const library = await Library.make(t)
  await library.put('doc_closed', { source: 'url', url: `${url}/`, title: 'x' })
  await library.put('doc_metadata', { source: 'url', url: 'https://169.254.169.254/latest/meta-data/', title: 'x' })
  const closed = library.index()
  for (const id of ['doc_closed', 'doc_metadata'])
    assert.match(await library.failed(id), /^This URL is not allowed: .*; to allow it, add \S+:\d+ to TURNKEEP_ALLOW_PRIVATE_HOSTS\.$/)
  assert.equal(calls, 0)
  await closed.stop()
  await library.put('doc_open', { source: 'url', url: `${url}/`, title: 'x' })
  library.index({}, { allowed: [host] })
  assert.equal((await library.ready('doc_open')).chunks, 1)
  assert.equal(calls, 3)
})

void test('documents: a response of more than 20 MiB is refused, and a slow one is not awaited forever', async (t) => {
  const { url, host } = await serve(t, (request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    if (request.url === '/large') response.end(Buffer.alloc(20 * 1024 * 1024 + 1, 'Some words. '))
    else response.write('a drop')
  })
  const library = await Library.make(t)
  await library.put('doc_large', { source: 'url', url: `${url}/large`, title: 'x' })
  const indexer = library.index({}, { allowed: [host] })
  assert.equal(await library.failed('doc_large'), 'The document at this URL is larger than 20 MiB.')
  await library.put('doc_drips', { source: 'url', url: `${url}/drips`, title: 'x' })
  await until('it is fetched', async () => (await library.status('doc_drips')) === 'indexing')
  const startedAt = performance.now()
  await indexer.stop()
  // It would be awaited for 30 s.
  assert.ok(performance.now() - startedAt < 25_000)
})

void test('documents: each chunk has a vector if the agent names an embedding model, and texts of similar meaning are found', async (t) => {
  const server = await startEmbeddings(t)
  const library = await Library.make(t)
  await library.embedBy(server.baseUrl)
  server.script({ vectors: [] }, { status: 503 }, 'cut', { status: 503 }, { status: 429, headers: { 'retry-after': '0' } })
  await library.putFile('handbook.md', 'doc_first')
  library.index()
  // A response without vectors does not come from a working provider.
  assert.match(await library.failed('doc_first'), /^The embedding model vectors\/small /)
  await library.putFile('handbook.md', 'doc_first')
  await library.ready('doc_first')
  // Like those of a model of the same size: the real one takes a minute for as many.
  for (const count of [64, 64, 64, 64, 44]) server.script({ vectors: somewhere(count) })
  await library.putFile('log-book.pdf', 'doc_log')
  assert.equal((await library.ready('doc_log')).chunks, 300)
  const sizes = server.calls.map(({ texts }) => texts.length)
  assert.deepEqual(sizes.slice(-5), [64, 64, 64, 64, 44])
  assert.ok(server.texts().some((text) => text.startsWith('handbook.md\nBorrowing › Deadlines\n## Deadlines\n\nA book is lent')))
  // On a busy machine the vector of a query may come too late; then the search is by words, which find nothing.
  let meant: Passage | undefined
  await until('a search finds the meaning', async () => {
    meant = (await library.find('catering prohibited'))[0]
    return meant !== undefined
  })
  assert.deepEqual([meant?.documentId, meant?.section], ['doc_first', 'Rooms › Booking'])
  await library.revise({ embeddingModel: null })
  assert.deepEqual(await library.find('catering prohibited'), [])
})

void test('documents: an embedding provider that refuses or is unreachable fails the document with its message', async (t) => {
  const server = await startEmbeddings(t)
  const library = await Library.make(t)
  await library.embedBy(server.baseUrl)
  server.break({ status: 401, body: { error: { message: 'Incorrect API key provided.' } } })
  library.index({ retriesMs: { embedding: [10], address: [] } })
  await library.putFile('handbook.md', 'doc_refused')
  const refused = await library.failed('doc_refused')
  assert.match(refused, /^The embedding model vectors\/small rejected this text: .*Incorrect API key/)
  assert.ok(!refused.includes('sk-secret'))
  server.break({ status: 503 })
  await library.putFile('handbook.md', 'doc_away')
  assert.match(await library.failed('doc_away'), /^The embedding model vectors\/small cannot be reached: /)
  // Without the model, or in another language, all of them are reindexed; they failed as configured, so an operator's change is what
  // retries them.
  await library.revise({ embeddingModel: null, language: 'en' })
  assert.equal(await library.store.write.requeueDocuments({ agentId: library.bench.agentId }), 2)
  await library.ready('doc_refused')
  await library.ready('doc_away')
})

void test('documents: a document that is replaced or deleted during indexing is dropped by its indexer', async (t) => {
  const server = await startEmbeddings(t)
  const library = await Library.make(t)
  await library.embedBy(server.baseUrl)
  server.break('hang')
  // Renewed after every third of it: the machine may stand still for 5 s.
  const leaseMs = 7_500
  for (let n = 0; n < 2; n++) library.index({ leaseMs })
  const id = await library.putFile('log-book.pdf', 'doc_one')
  await until('it is being indexed', () => server.calls.length === 1)
  // Longer than its lease, which is renewed: the other indexer does not take it.
  await new Promise((resolve) => setTimeout(resolve, leaseMs + 1_000))
  assert.deepEqual([server.calls.length, (await library.document(id)).status], [1, 'indexing'])
  await library.put(id, { title: 'New', fileName: 'new.md', content: Buffer.from('The harbour is closed.') })
  // The renewal of its lease shows it; the hanging call is aborted.
  assert.equal(await server.calls[0]!.ended, 'aborted')
  await until('the new text is being indexed', () => server.calls.length === 2)
  assert.deepEqual(server.calls[1]!.texts.length, 1)
  assert.ok(await library.store.write.deleteDocument({ agentId: library.bench.agentId, id }))
  assert.equal(await server.calls[1]!.ended, 'aborted')
  server.repair()
  await library.put('doc_two', { fileName: 'a.md', content: Buffer.from('The ferry goes at nine.') })
  await library.ready('doc_two')
  assert.equal(await library.store.read.findDocument(library.bench.agentId, id), undefined)
  assert.equal(library.logged.filter(({ message }) => message.startsWith('document indexing canceled')).length, 2)
})

void test('documents: several indexers share one queue, and each document is indexed by one of them', async (t) => {
  const place = await makePlace(t)
  const store = await place.open()
  const library = new Library(t, store, await Bench.make(store, 1_000_000n))
  const ids = Array.from({ length: 12 }, (_, n) => `doc_${n}`)
  for (const id of ids) await library.put(id, { fileName: 'a.md', content: Buffer.from(`# ${id}\n\nThe harbour is open.`) })
  for (let n = 0; n < 3; n++) library.index({}, { store: storeKind === 'postgres' ? await place.open() : store })
  for (const id of ids) assert.equal((await library.ready(id)).chunks, 1)
  const done = library.logged.filter(({ message }) => message === 'document indexed').map(({ fields }) => fields['documentId'])
  assert.deepEqual(done.toSorted(), ids.toSorted())
  assert.equal(await place.count('chunks'), 12)
})

void test('documents: a stopped indexer releases its document within a second, and another one continues immediately', async (t) => {
  const server = await startEmbeddings(t)
  const library = await Library.make(t)
  await library.embedBy(server.baseUrl)
  server.script({ status: 503 }, 'hang')
  const first = library.index({ leaseMs: 600_000 })
  const id = await library.putFile('log-book.pdf', 'doc_one')
  await until('it hangs', () => server.calls.length === 2)
  let brokenOff = false
  void server.calls[1]!.ended.then(() => (brokenOff = true))
  const startedAt = performance.now()
  await first.stop()
  t.diagnostic(`stopped within ${Math.round(performance.now() - startedAt)} ms`)
  await until('the hanging call is broken off', () => brokenOff)
  assert.equal((await library.document(id)).status, 'indexing')
  await library.revise({ embeddingModel: null })
  library.index()
  // By the clock its lease would still be valid: the clock was not moved.
  assert.equal((await library.ready(id)).chunks, 300)
})

void test('documents: a renewal that is due while a stopped indexer releases its document does not take the lease again', async (t) => {
  const server = await startEmbeddings(t)
  const library = await Library.make(t)
  await library.embedBy(server.baseUrl)
  server.break('hang')
  const released = Promise.withResolvers<void>()
  const slow: OwnStore = {
    ...library.store,
    write: methodsOf<Writes>(writes, async (name, args) => {
      const result = await callMethod<Writes>(library.store.write, name, args)
      if (name === 'reportProgress' && (args[0] as { leaseMs: number }).leaseMs === 0) {
        // The answer is late: several renewals are due before it arrives.
        await new Promise((resolve) => setTimeout(resolve, 1_000))
        released.resolve()
      }
      return result
    }),
  }
  const indexer = library.index({ leaseMs: 900 }, { store: slow })
  await library.putFile('log-book.pdf', 'doc_one')
  await until('it is being indexed', () => server.calls.length === 1)
  await indexer.stop()
  await released.promise
  const claimed = await library.store.write.claimDocument({ holder: 'another', leaseMs: 30_000 })
  assert.equal(claimed?.id, 'doc_one')
})

void test('knowledge.turns: a document that is added after fifty heavy ones of another owner is indexed after at most one of them', async (t) => {
  const store = await (await makePlace(t)).open()
  const heavy = new Library(t, store, await Bench.make(store, 1_000_000n))
  const other = new Library(t, store, await Bench.make(store, 1_000_000n))
  const page = Buffer.from(`<body>${'<p>one of <b>many</b> lines</p>'.repeat(2_000)}</body>`)
  for (let number = 0; number < 50; number++) await heavy.put(`doc_heavy_${number}`, { content: page, fileName: 'heavy.html' })
  // The queue already has a turn of the first owner when the other one adds its documents.
  const order: string[] = []
  const claimDocument: OwnStore['write']['claimDocument'] = async (given) => {
    const claimed = await store.write.claimDocument(given)
    if (claimed) order.push(claimed.id)
    if (claimed && order.length === 1)
      for (const id of ['doc_first', 'doc_second']) await other.put(id, { content: Buffer.from('A short line.'), fileName: 'a.txt' })
    return claimed
  }
  heavy.index({}, { store: { ...store, write: { ...store.write, claimDocument } } })
  await until('both are added', async () => (await store.read.findDocument(other.bench.agentId, 'doc_second')) !== undefined, 60_000)
  await other.ready('doc_first')
  await other.ready('doc_second')
  const foreign = order.slice(0, 4).map((id) => (id.startsWith('doc_heavy') ? 'heavy' : id))
  assert.deepEqual([foreign[0], foreign[1], foreign[3]], ['heavy', 'doc_first', 'doc_second'], order.join(' '))
})

void test('knowledge.bounded: the documents of an owner wait after its CPU time, and those of another owner are indexed', async (t) => {
  const place = await makePlace(t)
  const store = await place.open()
  const heavy = new Library(t, store, await Bench.make(store, 1_000_000n))
  const other = new Library(t, store, await Bench.make(store, 1_000_000n))
  const page = Buffer.from('<body><p>one of <b>many</b> lines</p></body>')
  const ids = ['doc_heavy_0', 'doc_heavy_1', 'doc_heavy_2']
  for (const id of ids) await heavy.put(id, { content: page, fileName: 'heavy.html' })
  // No document is read in less, so the first one uses it up.
  heavy.index({ cpuMs: 1 })
  const statuses = () => Promise.all(ids.map(async (id) => (await store.read.findDocument(heavy.bench.agentId, id))!.status))
  await heavy.ready('doc_heavy_0')
  await other.put('doc_other', { content: page, fileName: 'page.html' })
  await other.ready('doc_other')
  assert.deepEqual(await statuses(), ['ready', 'queued', 'queued'])
  const waiting = (await store.read.findDocument(heavy.bench.agentId, 'doc_heavy_1'))!
  assert.ok(waiting.waitsUntil !== null)
  await store.moveClock(60 * 60_000)
  await heavy.ready('doc_heavy_1')
  assert.equal((await statuses())[2], 'queued')
})

void test('documents: what a deletion leaves is cleaned up in batches, and served documents are not touched', async (t) => {
  const place = await makePlace(t)
  const store = await place.open()
  const library = new Library(t, store, await Bench.make(store, 1_000_000n))
  library.index()
  await library.ready(await library.putFile('log-book.pdf', 'doc_log'))
  await library.ready(await library.putFile('handbook.md', 'doc_kept'))
  assert.equal(await place.count('chunks'), 307)
  await library.store.write.deleteDocument({ agentId: library.bench.agentId, id: 'doc_log' })
  assert.deepEqual(await library.find('KX-18423'), [])
  await until('its chunks are gone', async () => (await place.count('chunks')) === 7)
  await until('its row is gone', async () => (await place.count('documents')) === 1)
  assert.equal((await library.find('fee for late returns'))[0]?.documentId, 'doc_kept')
})

void test('documents: an idle indexer does not query the store', async (t) => {
  const library = await Library.make(t)
  const asked: string[] = []
  const counted: OwnStore = {
    ...library.store,
    write: methodsOf<Writes>(writes, (name, args) => {
      asked.push(name)
      return callMethod<Writes>(library.store.write, name, args)
    }),
  }
  await library.put('doc_one', { fileName: 'a.md', content: Buffer.from('The harbour is open.') })
  library.index({ restMs: 30_000, maxRestMs: 30_000 }, { store: counted })
  await library.ready('doc_one')
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const before = asked.length
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  assert.deepEqual(asked.slice(before), [])
  // Its progress is reported once a second; on a busy machine even this one may take one.
  const seconds = Math.floor(Number(library.logged.find(({ message }) => message === 'document indexed')!.fields['ms']) / 1_000)
  assert.ok(asked.filter((name) => name === 'reportProgress').length <= seconds, `${asked} within ${seconds} s`)
  // A document added through this store is claimed without waiting for the polling interval.
  await library.put('doc_two', { fileName: 'a.md', content: Buffer.from('The harbour is closed.') })
  await until('it is taken up', async () => (await library.status('doc_two')) === 'ready', 20_000)
})

void test('documents: 9 MiB of text become ready while the process serves others', async (t) => {
  const library = await Library.make(t)
  const text = Buffer.alloc(9 * 1024 * 1024, `${'Some words of a long line about harbours, and a stop. '.repeat(16)}\n\n`)
  await library.put('doc_long', { fileName: 'long.txt', content: text })
  const delay = monitorEventLoopDelay({ resolution: 1 })
  let others = 0
  const timer = setInterval(() => void library.store.ping().then(() => others++), 20)
  const startedAt = performance.now()
  delay.enable()
  const shares = new Set<number | null>()
  library.index()
  try {
    await until(
      'it is ready',
      async () => {
        const { progress, status } = await library.document('doc_long')
        shares.add(progress)
        return status === 'ready'
      },
      240_000,
    )
  } finally {
    clearInterval(timer)
  }
  delay.disable()
  const { chunks, bytes } = await library.ready('doc_long')
  assert.equal(bytes, text.length)
  assert.ok(others > 10 && shares.size > 2, `${others} others, progress ${[...shares]}`)
  const [median, p99, most] = [delay.percentile(50), delay.percentile(99), delay.max].map((ns) => (ns / 1e6).toFixed(1))
  t.diagnostic(
    `${chunks} chunks in ${Math.round(performance.now() - startedAt)} ms; event loop ${median} ms median, ${p99} p99, ${most} longest; ${process.memoryUsage.rss() >> 20} MB`,
  )
})

/** An idle store in which a document waits to be indexed, with vectors from a provider. */
async function leaveQueued(t: TestContext, file: string, documentId: string) {
  const server = await startEmbeddings(t)
  const place = await makePlace(t)
  const first = await place.open()
  const bench = await Bench.make(first, 1_000_000n)
  const before = new Library(t, first, bench)
  await before.embedBy(server.baseUrl)
  await before.putFile(file, documentId)
  await first.close()
  return { server, place, bench }
}

void test('documents: a process that is killed while it indexes leaves the document to the next one', async (t) => {
  const { server, place, bench } = await leaveQueued(t, 'log-book.pdf', 'doc_log')
  // The first 64 chunks are stored, the next are being created.
  server.script({ vectors: somewhere(64) }, 'hang')
  await killWhen(t, { at: place.at, key: key.toString('base64'), settings: {} }, () => server.calls.length >= 2)
  server.repair()

  const store = await place.open()
  const library = new Library(t, store, bench)
  assert.equal((await library.document('doc_log')).status, 'indexing')
  assert.equal(await place.count('chunks'), 64)
  await library.revise({ embeddingModel: null })
  library.index()
  await new Promise((resolve) => setTimeout(resolve, 300))
  assert.equal((await library.document('doc_log')).status, 'indexing', 'its lease still lasts')
  await store.moveClock(15_000)
  assert.equal((await library.ready('doc_log')).chunks, 300)
  const pages = (await library.find('KX-18423', 300)).map(({ section }) => section)
  assert.equal(pages[0], 'Page 217')
  // Nothing of what the dead process wrote is found beside it.
  assert.deepEqual([pages.length, new Set(pages).size], [300, 300])
  await until('what was started is cleaned up', async () => (await place.count('chunks')) === 300)
})

void test('documents: a document that ends three processes fails with the reason, and the next one is indexed', async (t) => {
  const { server, place, bench } = await leaveQueued(t, 'handbook.md', 'doc_poison')
  server.break('hang')
  for (let n = 1; n <= 3; n++) {
    const settings = { leaseMs: 600, restMs: 100, maxRestMs: 100 }
    await killWhen(t, { at: place.at, key: key.toString('base64'), settings }, () => server.calls.length >= n)
  }
  server.repair()
  const library = new Library(t, await place.open(), bench)
  await library.put('doc_next', { fileName: 'a.md', content: Buffer.from('The harbour is open.') })
  library.index()
  assert.equal(await library.failed('doc_poison'), 'Indexing was started three times and never finished.')
  assert.equal((await library.ready('doc_next')).chunks, 1)
})

void test('documents: a document whose reading process is killed is started again, and fails with the reason after three', async (t) => {
  const library = await Library.make(t)
  const killed = new Set<number>()
  const killNext = (): Promise<void> =>
    until(
      'one is read',
      () => {
        const pid = readingProcessesOf(process.pid).find((one) => !killed.has(one))
        if (pid !== undefined) process.kill(pid, 'SIGKILL')
        return pid !== undefined && killed.add(pid).size > 0
      },
      60_000,
    )
  const brokenOff = () => library.logged.filter(({ message }) => message === 'document indexing interrupted: the reading process ended')
  /** Ends the lease as well. It lasts longer than the process may stand still, which would be another start. */
  const interrupt = async (): Promise<void> => {
    const before = brokenOff().length
    await killNext()
    await until('it is noticed', () => brokenOff().length > before)
    await library.store.moveClock(15_000)
  }
  library.index()
  // Takes seconds to be read.
  await library.put('doc_page', { fileName: 'a.html', content: Buffer.alloc(8 * 1024 * 1024, '<p>x') })
  for (let n = 0; n < 3; n++) await interrupt()
  assert.equal(await library.failed('doc_page'), 'Indexing was started three times and never finished.')
  assert.equal(brokenOff().length, 3)
  assert.match(String(brokenOff()[0]!.fields['err']), /was ended by SIGKILL$/)
  await library.putFile('log-book.pdf', 'doc_log')
  await interrupt()
  assert.equal((await library.ready('doc_log')).chunks, 300)
})

/** This many vectors of the model's size without a meaning. */
function somewhere(count: number): number[][] {
  return Array.from({ length: count }, (_, n) => Array.from({ length: embeddingDimensions }, (_, place) => (place === n ? 1 : 0)))
}

/** Starts an indexer as a separate process and sends it SIGKILL at the given moment. */
async function killWhen(t: TestContext, given: IndexingProcess, isThen: () => boolean): Promise<void> {
  const child = fork(join(import.meta.dirname, 'support', 'indexing-process.ts'), [JSON.stringify(given)], { stdio: 'inherit' })
  t.after(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  await until(
    'the moment to be killed',
    () => {
      assert.equal(child.exitCode, null, 'it ended by itself')
      return isThen()
    },
    60_000,
  )
  child.kill('SIGKILL')
  await exited
}
