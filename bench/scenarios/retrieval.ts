/**
 * Agents with more and more documents beside one without: what a search by words costs per turn. For searches alone, by vectors, too, and
 * larger libraries see bench/retrieval.ts.
 */
import { setTimeout as pass } from 'node:timers/promises'
import { marks } from '../call.ts'
import type { Call, Scenario, Server, Tenant } from '../scenario.ts'
import { eachInTurn, sideBySide, warm } from '../side-by-side.ts'
import { createRandom, createWords } from '../words.ts'
import type { Words } from '../words.ts'

const callers = 64
const documentCounts = [0, 20, 200, 2_000]
const quickCounts = [0, 2]
// One passage each.
const paragraphs = 25
const wordsOfParagraph = 110
// As many different ones as callers, so that no cache knows the answer.
const questions = callers

export const retrieval: Scenario = {
  name: 'retrieval',
  sentence: `Agents with documents of ${paragraphs} passages, searched by words in every turn, beside one without; ${questions} questions; sync, ${callers} callers, SQLite.`,
  async run(bench) {
    await (await bench.upstream()).configure({})
    const server = await bench.startServer()
    await warm(bench, server)
    const words = createWords(createRandom(1))
    const asked = Array.from({ length: questions }, () => words.questionOf())
    const knowing = await eachInTurn(bench.quick ? quickCounts : documentCounts, async (documents) => {
      const tenant = await server.makeTenant()
      await addDocuments(server, tenant, documents, words)
      bench.say(`retrieval: ${documents} documents are ready`)
      return { documents, tenant }
    })
    const rows = await sideBySide(
      bench,
      knowing.map(({ documents, tenant }) => ({
        labels: { documents, passages: documents * paragraphs },
        target: server,
        spec: { calls: asked.map((question) => asking(tenant.call('sync'), question)), callers, seconds: bench.seconds },
      })),
    )
    await bench.audit(server)
    return {
      rows,
      notes: [
        'Words have the frequencies of a language (Zipf), and a question has 3 to 10 of them.',
        'The prompt is longer by the passages found, up to 1,500 tokens, and the model here reads it for nothing.',
      ],
    }
  },
}

const asking = (call: Call, question: string): Call => ({ ...call, body: call.body.replace(marks.text, question) })

async function addDocuments(server: Server, { agentId }: Tenant, many: number, { textOf }: Words): Promise<void> {
  for (let number = 0; number < many; number++) {
    const text = Array.from({ length: paragraphs }, () => `## ${textOf(3)}\n\n${textOf(wordsOfParagraph)}.`).join('\n\n')
    await server.admin('POST', `/agents/${agentId}/documents`, { title: `Guide ${number}`, text })
  }
  for (const status of ['queued', 'indexing']) while ((await withStatus(status)).length > 0) await pass(100)
  const [failed] = await withStatus('failed')
  if (failed) throw new Error(`a document was not indexed: ${JSON.stringify(failed)}`)
  const [one] = await withStatus('ready')
  if (one && one.chunks !== paragraphs) throw new Error(`a document has ${one.chunks} passages instead of ${paragraphs}`)

  async function withStatus(status: string): Promise<{ chunks: number }[]> {
    return (await server.admin('GET', `/agents/${agentId}/documents?limit=1&status=${status}`))['data'] as { chunks: number }[]
  }
}
