/**
 * Answers with a hundred thousand of something: tool calls, pieces, blocks of reasoning, citations, models, vectors. Whatever a provider
 * counts out, what is kept of its answer is bounded, or the call fails as `unavailable`. Over real HTTP, for every adapter.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { formatStoredConfig } from '../../src/agent/agent-config.ts'
import { createAgents } from '../../src/agent/agent.ts'
import type { GenerationResult } from '../../src/agent/agent.ts'
import { finishedEntry, modelEntry } from '../../src/agent/journal.ts'
import type { Step } from '../../src/agent/journal.ts'
import type { Knowledge } from '../../src/agent/knowledge/knowledge.ts'
import { answerLimit, maxAnswerCalls, maxCallId, maxCallName } from '../../src/agent/models/answer-limit.ts'
import { maxContinuation, ModelError } from '../../src/agent/models/model.ts'
import type { ModelStep } from '../../src/agent/models/model.ts'
import { createModels } from '../../src/agent/models/models.ts'
import type { Models } from '../../src/agent/models/models.ts'
import type { Tools } from '../../src/agent/tools/tools.ts'
import type { Sealer } from '../../src/config/secrets.ts'
import { createFailpoints } from '../../src/failpoints.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import type { Store } from '../../src/store/store.ts'
import type { JournalEntry } from '../../src/store/turn-records.ts'
import { apiKey, startAsker, withTcpServer } from '../support/ask-model.ts'
import { startProviderAsker } from '../support/ask-provider.ts'
import { completion } from '../support/model-server.ts'
import type { Script } from '../support/model-server.ts'
import { hostedKinds } from '../support/provider-dialects.ts'
import type { HostedKind } from '../support/provider-dialects.ts'
import { plainTokens } from '../support/token-kinds.ts'

const chat = startAsker()
const hosted = startProviderAsker()
let models: Models
before(() => void (models = createModels()))
after(() => models.close())

const many = 100_000
// The largest limit that an agent can have, so that no limit on characters ends the answer first.
const request = { maxOutputTokens: 200_000 }
const times = <Item>(make: (n: number) => Item, count = many): Item[] => Array.from({ length: count }, (_, n) => make(n))
const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`

/** Lists of items in as few events as the limit of 1 MiB for an event allows. */
function inEvents<Item>(items: Item[], wrap: (items: Item[]) => object): string {
  const each = 4_000
  return times((n) => event(wrap(items.slice(n * each, (n + 1) * each))), Math.ceil(items.length / each)).join('')
}

/** The answer, or the error; both bounded. */
async function bounded(asked: Promise<ModelStep>): Promise<ModelStep | ModelError> {
  try {
    const step = await asked
    assert.ok(step.toolCalls.length <= maxAnswerCalls, `${step.toolCalls.length} tool calls`)
    for (const { id, name } of step.toolCalls)
      assert.ok(id.length <= maxCallId && name.length <= maxCallName, `${id.length} ${name.length}`)
    assert.ok(JSON.stringify(step.continuation ?? null).length <= maxContinuation)
    assert.ok(step.text.length <= answerLimit(request.maxOutputTokens))
    return step
  } catch (error) {
    assert.ok(error instanceof ModelError, String(error))
    assert.equal(error.kind, 'unavailable', error.message)
    return error
  }
}

type Flood = 'calls' | 'pieces' | 'reasoning' | 'citations'
const floods: Record<HostedKind, Record<Flood, () => string>> = {
  openai: {
    calls: () => times((n) => event(openaiItem(n, { type: 'function_call', id: `f${n}`, call_id: '', name: '', arguments: '' }))).join(''),
    pieces: () => times((n) => event({ type: 'response.output_text.delta', item_id: `m${n}`, output_index: n, delta: '' })).join(''),
    reasoning: () => times((n) => event(openaiItem(n, { type: 'reasoning', id: `r${n}`, summary: [], encrypted_content: 'x' }))).join(''),
    citations: () => times(() => event({ type: 'response.output_text.annotation.added', annotation: openaiCitation })).join(''),
  },
  anthropic: {
    calls: () => times((n) => event(anthropicBlock(n, { type: 'tool_use', id: '', name: '', input: {} }))).join(''),
    pieces: () => times((n) => event(anthropicBlock(n, { type: 'text', text: '' }))).join(''),
    reasoning: () => times((n) => event(anthropicBlock(n, { type: 'redacted_thinking', data: 'x' }))).join(''),
    citations: () =>
      times(() => event({ type: 'content_block_delta', index: 0, delta: { type: 'citations_delta', citation: anthropicCitation } })).join(
        '',
      ),
  },
  google: {
    calls: () =>
      inEvents(
        times(() => ({ functionCall: { name: '' } })),
        googleParts,
      ),
    pieces: () =>
      inEvents(
        times(() => ({ text: '' })),
        googleParts,
      ),
    reasoning: () =>
      inEvents(
        times((n) => ({ text: '', thought: n % 2 === 0, thoughtSignature: 'x' })),
        googleParts,
      ),
    citations: () =>
      inEvents(times(googleCitation), (groundingChunks) => ({
        candidates: [{ content: { parts: [] }, groundingMetadata: { groundingChunks } }],
      })),
  },
}
const openaiItem = (n: number, item: object): object => ({ type: 'response.output_item.added', output_index: n, item })
const openaiCitation = { type: 'url_citation', start_index: 0, end_index: 1, url: 'https://example.com', title: '' }
const anthropicBlock = (index: number, content_block: object): object => ({ type: 'content_block_start', index, content_block })
const anthropicCitation = {
  type: 'page_location',
  cited_text: '',
  document_index: 0,
  document_title: '',
  start_page_number: 1,
  end_page_number: 1,
}
const googleParts = (parts: object[]): object => ({ candidates: [{ content: { role: 'model', parts } }] })
const googleCitation = (n: number): object => ({ web: { uri: `https://example.com/${n}`, title: '' } })

for (const kind of hostedKinds) {
  for (const [what, flood] of Object.entries(floods[kind])) {
    test(`fault.model-answer-flood: ${kind}: 100,000 ${what} are bounded or refused`, async () => {
      hosted.server.script([{ raw: flood() }])
      const outcome = await bounded(hosted.ask(kind, what === 'calls' ? { request } : {}))
      if (what === 'calls') assert.match(String(outcome), /more than 1024 tool calls/)
      // Gemini's are in few events, and none of these is kept.
      else if (kind !== 'google') assert.match(String(outcome), /more than \d+ (parts|events)/)
    })
  }
}

const delta = (fields: object): object => ({ choices: [{ index: 0, delta: fields }] })
const chatFloods: Record<string, () => Script> = {
  'tool calls': () => [
    {
      raw: inEvents(
        times(() => ({})),
        (calls) => delta({ tool_calls: calls.map((_, n) => ({ index: -n })) }),
      ),
    },
  ],
  'numbered tool calls': () => [{ raw: times((n) => event(delta({ tool_calls: [{ index: n }] }))).join('') }],
  'tool calls of a whole answer': () => ({ json: completion({ tool_calls: times(() => ({})) }, { finish_reason: 'tool_calls' }) }),
}
for (const [what, flood] of Object.entries(chatFloods)) {
  test(`fault.model-answer-flood: openai-compatible: 100,000 ${what} are refused`, async () => {
    chat.server.script(flood())
    assert.match(String(await bounded(chat.ask({ request }))), /more than 1024 tool calls/)
  })
}

for (const [what, script] of Object.entries({
  'empty pieces': () => [{ raw: times(() => event(delta({ content: '' }))).join('') }],
  'details of reasoning': () => [
    {
      raw: inEvents(
        times((n) => n),
        (ns) => delta({ reasoning_details: ns.map((n) => ({ type: 'x', index: n })) }),
      ),
    },
    { toolCall: { id: 'a', name: 'x', arguments: '{}' } },
  ],
  'deltas of one call': () => [{ raw: times(() => event(delta({ tool_calls: [{ index: 0 }] }))).join('') }],
  'extra contents': () => [
    { raw: times((n) => event(delta({ tool_calls: [{ index: n, extra_content: { seal: 'x'.repeat(100_000) } }] })), 100).join('') },
  ],
  annotations: () => [
    {
      raw: inEvents(
        times(() => openaiCitation),
        (annotations) => delta({ annotations }),
      ),
    },
    'Hi',
  ],
  'parts of one text': () => [
    {
      raw: inEvents(
        times(() => ({ type: 'text', text: '' })),
        (content) => delta({ content }),
      ),
    },
    'Hi',
  ],
  choices: () => [
    {
      raw: inEvents(
        times(() => ({ delta: { content: 'x' } })),
        (choices) => ({ choices }),
      ),
    },
  ],
} satisfies Record<string, () => Script>)) {
  test(`fault.model-answer-flood: openai-compatible: 100,000 ${what} are bounded or refused`, async () => {
    chat.server.script(script())
    await bounded(chat.ask({ request }))
  })
}

test('fault.model-answer-flood: a long name is cut and a long id is replaced, so that neither is stored or sent back', async () => {
  const long = 'x'.repeat(60_000)
  const call = { id: long, name: long, arguments: '{}' }
  chat.server.script([{ toolCall: call }])
  const { toolCalls } = await chat.ask({ request })
  assert.deepEqual(toolCalls, [{ id: 'call00000', name: 'x'.repeat(maxCallName), arguments: '{}' }])
  for (const kind of hostedKinds) {
    hosted.server.script([{ toolCall: call }])
    const [first] = (await hosted.ask(kind, { request })).toolCalls
    assert.equal(first!.name.length, maxCallName, kind)
    assert.ok(first!.id.length <= 100, kind)
  }
})

test('fault.model-answer-flood: arguments, reasoning and errors that are nested 100,000 deep end the call as any invalid answer does', async () => {
  const deep = `${'{"a":'.repeat(many)}1${'}'.repeat(many)}`
  for (const body of [
    `{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":${deep}}}]}}]}`,
    `{"choices":[{"delta":{"reasoning_details":[${deep}]}}]}`,
    `{"choices":[{"delta":{"tool_calls":[{"id":"a","extra_content":${deep}}]}}]}`,
    `{"error":${deep}}`,
  ]) {
    chat.server.script([{ raw: `data: ${body}\n\n` }])
    await bounded(chat.ask({ request }))
  }
})

test('fault.model-answer-flood: a body in 100,000 chunks of one byte is kept as one buffer', async () => {
  const body = JSON.stringify(completion({ content: 'x'.repeat(many) }))
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n'
  const chunks = Array.from(body, (byte) => `1\r\n${byte}\r\n`).join('')
  await withTcpServer(
    (socket) => void socket.once('data', () => socket.write(`${head}${chunks}0\r\n\r\n`)),
    async (port) => {
      const step = await bounded(chat.ask({ request, provider: { baseUrl: `http://127.0.0.1:${port}` } }))
      assert.equal('text' in step && step.text.length, many)
    },
  )
})

test('fault.model-answer-flood: a list of 100,000 models is cut, and so is a long name in it', async () => {
  const json = JSON.stringify({ data: [{ id: 'x'.repeat(100_000) }, ...times((n) => ({ id: `m${n}` }))] })
  await withTcpServer(
    (socket) => void socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${json.length}\r\n\r\n${json}`)),
    async (port) => {
      const provider = { kind: 'openai-compatible' as const, baseUrl: `http://127.0.0.1:${port}`, apiKey }
      const names = await models.list(provider, new AbortController().signal)
      assert.ok(names.length <= 1_000 && names.every((name) => name.length <= 300), `${names.length}`)
    },
  )
})

test('fault.model-answer-flood: 100,000 vectors, or a vector of 100,000 numbers, are refused', async () => {
  const signal = new AbortController().signal
  for (const data of [times(() => ({ embedding: [1] })), [{ embedding: times(() => 1) }]]) {
    const json = JSON.stringify({ data })
    await withTcpServer(
      (socket) => void socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${json.length}\r\n\r\n${json}`)),
      async (port) => {
        const embed = models.openEmbed({ kind: 'openai-compatible', baseUrl: `http://127.0.0.1:${port}`, apiKey })
        await assert.rejects(embed('m', ['a'], signal), (error) => error instanceof ModelError && error.kind === 'refused')
      },
    )
  }
})

/** An agent on the demo model, with a journal that an earlier attempt has left. */
function generate(journal: JournalEntry[], mayGoOn = false): Promise<GenerationResult> {
  const config = formatStoredConfig({ ...agentConfig, maxSteps: 32, maxToolCalls: 128 })
  const store = {
    read: { agentVersion: async () => ({ ...agentConfig, name: '', historyMaxTokens: 0, knowledgeMaxTokens: 0, config }) },
    onChange: () => undefined,
  } as unknown as Store
  const tools = {
    open: () => ({ definitions: [], sideEffects: () => undefined, price: () => 0, call: () => assert.fail('a call') }),
  } as unknown as Tools
  const knowledge = { search: async () => [] } as unknown as Knowledge
  const log = pino({ level: 'silent' })
  const failpoints = createFailpoints('')
  const agents = createAgents({ store, sealer: {} as Sealer, models, knowledge, tools, failpoints, log, metrics: createMetrics() })
  return agents.generate({
    requestId: 'r',
    agentId: 'a',
    agentVersion: 1,
    message: 'hi',
    history: [],
    journal,
    stepsBefore: 0,
    signal: new AbortController().signal,
    onDelta: () => undefined,
    onReset: () => undefined,
    onUsage: () => undefined,
    beforeCalls: () => assert.fail('a write before calls'),
    beforeStep: async () => mayGoOn || assert.fail('a further step'),
    writeJournal: () => assert.fail('a write'),
  })
}
const bound = { promptTokens: 1, completionTokens: 1 }
const journaled = (step: number, calls: number): Step => ({
  step,
  text: '',
  toolCalls: times((n) => ({ id: `c${n}`, name: '', arguments: '' }), calls),
  usage: plainTokens(1, 1),
  usageEstimated: false,
  bound,
})
const agentConfig = {
  systemPrompt: '',
  model: 'demo/demo',
  temperature: null,
  maxSteps: 1,
  maxToolCalls: 1,
  maxOutputTokens: 1,
  history: { maxTokens: 0 },
  knowledge: { maxTokens: 0, topK: 0, embeddingModel: null, language: null },
  tools: [],
  maxMessageLength: 1,
  priceSource: null,
}

test('fault.model-answer-flood tools.caps: recovery ends a turn whose journal has 100,000 calls, in one step or in many, without a write', async () => {
  for (const journal of [[modelEntry(journaled(1, many))], times((n) => modelEntry(journaled(n + 1, many / 20)), 20)]) {
    const result = await generate(journal)
    assert.deepEqual([result.kind, 'cause' in result && result.cause], ['unusable', 'the model asked for more than 1024 tool calls'])
  }
})

test('fault.model-answer-flood tools.citations: a reply has at most 1,000 citations, whatever its tools found', async () => {
  const step = journaled(1, 1)
  const citations = times((n) => ({ documentId: `doc_${n}`, title: 'A title', section: '' }))
  const result = await generate([modelEntry(step), finishedEntry(step, 1, { text: '', isError: false, ms: 0, citations })], true)
  assert.ok(result.kind === 'reply', result.kind)
  assert.deepEqual(result.citations, citations.slice(0, 1000))
})
