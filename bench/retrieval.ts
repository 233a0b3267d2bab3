/**
 * `node bench/retrieval.ts [--store sqlite|postgres] [--chunks 10000,100000] [--others 100]`: milliseconds of a search by words, by vectors
 * and combined, over agents with this many chunks, beside other agents with a thousand each; and of the writes that store them. Words have
 * a realistic frequency distribution (Zipf), and vectors form clusters. Prints a Markdown table. No model, no provider, no HTTP.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createKnowledge } from '../src/agent/knowledge/knowledge.ts'
import type { Knowledge } from '../src/agent/knowledge/knowledge.ts'
import { createVectorSearch } from '../src/agent/knowledge/vector-search.ts'
import { openPostgresStore } from '../src/store/postgres/postgres.ts'
import { openSqliteStore } from '../src/store/sqlite/sqlite.ts'
import type { Store } from '../src/store/store.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { Bench } from '../test/store/conformance.ts'
import type { TestStore } from '../test/store/conformance.ts'
import { createRandom, createWords } from './words.ts'

const dimensions = 512
const chunksADocument = 500
const chunksAWrite = 32
const searches = 200
const chunksOfOthers = 1_000
const embeddingModel = 'bench/clusters'
const log = { warn: (facts: object, message: string) => console.error(message, facts), info: () => undefined }

const { values } = parseArgs({
  options: { store: { type: 'string' }, chunks: { type: 'string', default: '10000,100000' }, others: { type: 'string', default: '100' } },
})
const sizes = values.chunks.split(',').map(Number)
const otherAgents = Number(values.others)

const random = createRandom(1)
const { textOf, questionOf } = createWords(random)

const noise = (): number => random() + random() + random() - 1.5
const centres = Array.from({ length: 200 }, () => Float32Array.from({ length: dimensions }, noise))
const vectorOf = (): Float32Array => {
  const centre = centres[Math.floor(random() * centres.length)]!
  return centre.map((value) => value + noise())
}

/** One agent with this many chunks; returns how long each write took. */
async function fill(store: Store, chunks: number): Promise<{ agentId: string; writes: number[] }> {
  const { agentId } = await Bench.make(store as TestStore, 1n)
  const writes: number[] = []
  for (let done = 0; done < chunks; done += chunksADocument) {
    const id = `doc_${agentId}_${done}`
    const given = {
      id,
      agentId,
      title: textOf(4),
      source: 'text',
      mediaType: null,
      fileName: null,
      url: null,
      contentId: null,
      bytes: 1,
    } as const
    await store.write.putDocument(given)
    const { fence } = (await store.write.claimDocument({ holder: 'bench', leaseMs: 600_000 }))!
    for (let from = 0; from < chunksADocument; from += chunksAWrite) {
      const count = Math.min(chunksAWrite, chunksADocument - from)
      const made = Array.from({ length: count }, () => ({ headings: textOf(3), text: textOf(150), vector: vectorOf() }))
      const startedAt = performance.now()
      await store.write.addChunks({ documentId: id, fence, title: given.title, from, chunks: made })
      writes.push(performance.now() - startedAt)
    }
    const finished = { documentId: id, fence, title: given.title, bytes: 1, chunks: chunksADocument, language: null, embeddingModel }
    await store.write.finishDocument(finished)
  }
  return { agentId, writes }
}

async function timed(rounds: number, work: (round: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now()
    await work(round)
    times.push(performance.now() - startedAt)
  }
  return times.toSorted((a, b) => a - b)
}

const at = (times: number[], share: number): string => times[Math.min(times.length - 1, Math.floor(times.length * share))]!.toFixed(1)

function print(store: string, what: string, how: string, times: number[]): void {
  console.log(`| ${store} | ${what} | ${how} | ${at(times, 0.5)} | ${at(times, 0.99)} |`)
}

async function measure(name: string, store: Store): Promise<void> {
  const embeddings = { embed: async (_: string, texts: string[]) => texts.map(vectorOf) }
  const words = createKnowledge({ store })
  const fused = createKnowledge({ store, embeddings, log: log as never })
  const vectors = createVectorSearch({ store, log: log as never })
  const ask = (knowledge: Knowledge, agentId: string) =>
    knowledge.search({ agentId, query: questionOf(), limit: 6, maxTokens: 100_000, language: null, embeddingModel })
  const others: string[] = []
  for (let other = 0; other < otherAgents; other++) others.push((await fill(store, chunksOfOthers)).agentId)
  for (const size of sizes) {
    const { agentId, writes } = await fill(store, size)
    const what = size.toLocaleString('en')
    print(
      name,
      what,
      `a write of ${chunksAWrite} chunks`,
      writes.toSorted((a, b) => a - b),
    )
    await ask(words, agentId)
    print(name, what, 'words', await timed(searches, () => ask(words, agentId)))
    const { revision } = await store.read.knowledgeState(agentId)
    const nearest = () => vectors.search({ agentId, embeddingModel, revision, vector: vectorOf(), limit: 30 })
    print(name, what, 'vectors, the first search (loads them)', await timed(1, nearest))
    print(name, what, 'vectors', await timed(searches, nearest))
    await ask(fused, agentId)
    await vectors.search({ agentId, embeddingModel, revision, vector: vectorOf(), limit: 1 })
    print(name, what, 'fused', await timed(searches, () => ask(fused, agentId)))
  }
  const one = (round: number) => others[round % others.length]!
  const what = `one of ${otherAgents} agents of ${chunksOfOthers.toLocaleString('en')}`
  print(name, what, 'words', await timed(searches, (round) => ask(words, one(round))))
  await timed(otherAgents, (round) => ask(fused, one(round)))
  print(name, what, 'fused', await timed(searches, (round) => ask(fused, one(round))))
  await Promise.all([words.close(), fused.close(), vectors.close()])
}

// A server does not keep the event loop running.
const alive = setInterval(() => undefined, 60_000)
console.log('| store | chunks of the agent | search | p50 ms | p99 ms |\n|---|---|---|---|---|')
if (values.store !== 'postgres') {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-bench-'))
  const store = await openSqliteStore({ folder })
  await measure('SQLite', store)
  await store.close()
  await rm(folder, { recursive: true })
}
if (values.store !== 'sqlite') {
  const server = await startPostgres({ durable: true })
  const store = await openPostgresStore({ url: server.url, log })
  await measure('PostgreSQL', store)
  await store.close()
  await server.stop('fast')
}
clearInterval(alive)
