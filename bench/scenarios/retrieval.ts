/**
 * An agent with documents beside the same agent without: what a search by words costs per turn. For searches alone and larger libraries see
 * bench/retrieval.ts.
 */
import { setTimeout as pass } from 'node:timers/promises'
import type { Scenario, Server, Tenant } from '../scenario.ts'
import { sideBySide, warm } from '../side-by-side.ts'

const callers = 64
const documents = 20
// About 25 passages each.
const paragraphs = 50
const question = 'When does a parcel to the islands arrive, and what does the return of a damaged lamp cost?'
const topics = ['parcel', 'return', 'lamp', 'invoice', 'island', 'warranty', 'courier', 'damage', 'payment', 'address']

export const retrieval: Scenario = {
  name: 'retrieval',
  sentence: `An agent with ${documents} documents, searched by words in every turn, beside one without; sync, ${callers} callers, SQLite.`,
  async run(bench) {
    await (await bench.upstream()).configure({})
    const server = await bench.startServer()
    await warm(bench, server)
    const knowing = await server.makeTenant()
    await addDocuments(server, knowing, bench.quick ? 2 : documents)
    const lane = (tenant: Tenant, of: string) => ({
      labels: { agent: of },
      target: server,
      spec: { calls: [tenant.call('sync')], callers, seconds: bench.seconds, message: question },
    })
    const rows = await sideBySide(bench, [
      lane(server.tenant, 'without documents'),
      lane(knowing, `with ${bench.quick ? 2 : documents} documents`),
    ])
    await bench.audit(server)
    return { rows, notes: ['The prompt is longer by the passages found, up to 1,500 tokens, and the model here reads it for nothing.'] }
  },
}

async function addDocuments(server: Server, { agentId }: Tenant, many: number): Promise<void> {
  for (let number = 0; number < many; number++) {
    const paragraph = (index: number): string =>
      `## Case ${number}.${index}\n\n${sentence(number + index)} ${sentence(number * 7 + index * 3)}`
    const text = Array.from({ length: paragraphs }, (_, index) => paragraph(index)).join('\n\n')
    await server.admin('POST', `/agents/${agentId}/documents`, { title: `Guide ${number}`, text })
  }
  for (;;) {
    const { data } = (await server.admin('GET', `/agents/${agentId}/documents?limit=100`)) as { data: { status: string }[] }
    const failed = data.find(({ status }) => status === 'failed')
    if (failed) throw new Error(`a document was not indexed: ${JSON.stringify(failed)}`)
    if (data.length === many && data.every(({ status }) => status === 'ready')) return
    await pass(100)
  }
}

function sentence(seed: number): string {
  const topic = (offset: number): string => topics[(seed * 3 + offset) % topics.length]!
  return `Where a ${topic(0)} and a ${topic(1)} meet the rule of the ${topic(4)}, the ${topic(2)} is settled within ${(seed % 28) + 2} days.`
}
