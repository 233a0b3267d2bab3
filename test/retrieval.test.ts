/**
 * Whether a search finds the passage that answers a question: recall@5 over public-domain texts and questions that were written before any
 * search was run on them (test/data/retrieval/README.md), by words, by the vectors of a real model, and by both.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { createKnowledge } from '../src/agent/knowledge/knowledge.ts'
import type { Embeddings } from '../src/agent/models/embeddings.ts'
import { chunkDocument } from '../src/agent/knowledge/chunk.ts'
import { createVectorSearch } from '../src/agent/knowledge/vector-search.ts'
import { queryTerms, termsOf } from '../src/store/queries/knowledge/terms.ts'
import { startEmbeddingServer } from './support/embedding-server.ts'
import { openOwnStore } from './support/own-store.ts'
import { Bench } from './store/conformance.ts'

const folder = new URL('./data/retrieval/', import.meta.url)
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8')

type Question = { question: string; document: string; contains: string }
type Found = { documentId: string; text: string }

const questions = JSON.parse(read('questions.json')) as Question[]
const documents = ['constitution', 'declaration', 'addresses'].map((name) => ({ id: `doc_${name}`, text: read(`${name}.md`) }))
const embeddingModel = 'real/english'
const shown = 5

const collapsed = (text: string): string => text.replace(/\s+/g, ' ')
const answers = ({ document, contains }: Question, found: Found[]): boolean =>
  found.slice(0, shown).some(({ documentId, text }) => documentId === `doc_${document}` && collapsed(text).includes(contains))

async function startEmbeddings(t: TestContext): Promise<Embeddings> {
  const server = await startEmbeddingServer()
  t.after(() => server.close())
  return {
    async embed(_, texts, signal) {
      const body = JSON.stringify({ model: 'english', input: texts })
      const headers = { 'content-type': 'application/json', authorization: 'Bearer x' }
      const answer = await fetch(`${server.baseUrl}/embeddings`, { method: 'POST', headers, body, signal })
      const { data } = (await answer.json()) as { data: { embedding: number[] }[] }
      return data.map(({ embedding }) => Float32Array.from(embedding))
    },
  }
}

void test('knowledge: recall@5 of words, of vectors and of both, on a real text with a real model', async (t) => {
  const store = await openOwnStore(t)
  const { agentId } = await Bench.make(store, 1n)
  const embeddings = await startEmbeddings(t)
  const never = new AbortController().signal
  const passages: Found[] = []
  for (const { id, text } of documents) {
    const title = /^# (.*)/m.exec(text)![1]!
    const chunks = chunkDocument(text)
    passages.push(...chunks.map((chunk) => ({ documentId: id, text: chunk.text })))
    const put = {
      id,
      agentId,
      title,
      source: 'text',
      mediaType: null,
      fileName: null,
      url: null,
      contentId: null,
      bytes: text.length,
    } as const
    assert.equal(await store.write.putDocument(put), 'put')
    const { fence } = (await store.write.claimDocument({ holder: 'test', leaseMs: 600_000 }))!
    for (let from = 0; from < chunks.length; from += 16) {
      const batch = chunks.slice(from, from + 16)
      const vectors = await embeddings.embed(
        embeddingModel,
        batch.map((chunk) => chunk.text),
        never,
      )
      const made = batch.map((chunk, index) => ({ ...chunk, vector: vectors[index]! }))
      assert.ok(await store.write.addChunks({ documentId: id, fence, title, from, chunks: made }))
    }
    const finished = { documentId: id, fence, title, bytes: text.length, chunks: chunks.length, language: null, embeddingModel }
    assert.ok(await store.write.finishDocument(finished))
  }
  const vectors = createVectorSearch({ store, log: undefined })
  // A loaded machine may take longer for a vector than a turn waits: computed beforehand.
  const asked = new Map<string, Float32Array>()
  for (const { question } of questions) asked.set(question, (await embeddings.embed(embeddingModel, [question], never))[0]!)
  const remembered: Embeddings = { embed: async (_, texts) => texts.map((text) => asked.get(text)!) }
  const knowledge = createKnowledge({ store, embeddings: remembered })
  t.after(() => Promise.all([vectors.close(), knowledge.close()]))
  const { revision } = await store.read.knowledgeState(agentId)

  const byWords = (query: string) =>
    knowledge.search({ agentId, query, limit: shown, maxTokens: 100_000, language: null, embeddingModel: null })
  const byBoth = (query: string) => knowledge.search({ agentId, query, limit: shown, maxTokens: 100_000, language: null, embeddingModel })
  const byVectors = async (query: string) => {
    const chunkIds = (await vectors.search({ agentId, embeddingModel, revision, vector: asked.get(query)!, limit: shown }))!
    const found = await store.read.readChunks({ agentId, chunkIds })
    return found.toSorted((a, b) => chunkIds.indexOf(a.chunkId) - chunkIds.indexOf(b.chunkId))
  }
  const recall = async (which: Question[], search: (query: string) => Promise<Found[]>): Promise<number> => {
    let right = 0
    for (const question of which) if (answers(question, await search(question.question))) right++
    return right / which.length
  }
  const sharing = questions.filter((question) => sharesAWord(question, passages))
  const figures = {
    words: await recall(questions, byWords),
    vectors: await recall(questions, byVectors),
    both: await recall(questions, byBoth),
    wordsWhereOneIsShared: await recall(sharing, byWords),
  }
  t.diagnostic(
    `recall@${shown} of ${questions.length} questions: words ${percent(figures.words)}, vectors ${percent(figures.vectors)}, ` +
      `both ${percent(figures.both)}; words, of the ${sharing.length} that share a telling word with their passage: ${percent(figures.wordsWhereOneIsShared)}`,
  )
  // No search by words finds a passage that shares none of them: a third of the questions were written that way.
  assert.ok(figures.wordsWhereOneIsShared >= 0.7, 'words, where there are any')
  assert.ok(figures.words >= 0.55, 'words')
  assert.ok(figures.vectors >= 0.45, 'vectors')
  assert.ok(figures.both >= figures.words && figures.both >= figures.vectors, 'both find no less than each of them')
  assert.ok(figures.both >= 0.6, 'both')
})

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

function sharesAWord({ question, document, contains }: Question, passages: Found[]): boolean {
  const right = passages.filter(({ documentId, text }) => documentId === `doc_${document}` && collapsed(text).includes(contains))
  const held = new Set(right.flatMap(({ text }) => termsOf(text, null)))
  return queryTerms(question, [null]).some((term) => held.has(term))
}
