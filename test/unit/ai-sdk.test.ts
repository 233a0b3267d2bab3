/** The hosted providers over real HTTP, against a scripted server for each API: what is sent, and how a response is read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiKey } from '../support/ask-model.ts'
import { startProviderAsker } from '../support/ask-provider.ts'
import { gate } from '../support/model-server.ts'
import { hostedKinds, usage } from '../support/provider-dialects.ts'
import type { HostedKind } from '../support/provider-dialects.ts'
import { plainTokens } from '../support/token-kinds.ts'

const asker = startProviderAsker()
const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const tools = [{ name: 'weather', description: 'Tells it', parameters }]
const oslo = { id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' }
const rome = { id: 'call_2', name: 'weather', arguments: '{"city":"Rome"}' }

/** A conversation with a step of two tool calls, one of them with arguments that are not JSON. */
const conversation = {
  messages: [
    { role: 'system' as const, content: 'Be brief.' },
    { role: 'user' as const, content: 'Hi' },
    { role: 'assistant' as const, content: 'Hello.' },
    { role: 'user' as const, content: 'Rain?' },
    { role: 'assistant' as const, content: '', toolCalls: [oslo, { ...rome, arguments: '{"city' }] },
    { role: 'tool' as const, toolCallId: 'call_1', content: 'rain' },
    { role: 'tool' as const, toolCallId: 'call_2', content: 'Error: no JSON' },
  ],
  tools,
  temperature: 0,
}

/** The exact request that is sent for it. */
const asked: Record<HostedKind, { path: string; key: string; body: object }> = {
  openai: {
    path: '/openai/v1/responses',
    key: 'authorization',
    body: {
      model: 'some-model',
      input: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
        { role: 'assistant', content: 'Hello.' },
        { role: 'user', content: [{ type: 'input_text', text: 'Rain?' }] },
        { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' },
        { type: 'function_call', call_id: 'call_2', name: 'weather', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'rain' },
        { type: 'function_call_output', call_id: 'call_2', output: 'Error: no JSON' },
      ],
      temperature: 0,
      max_output_tokens: 100,
      store: false,
      tools: [{ type: 'function', name: 'weather', description: 'Tells it', parameters, strict: false }],
      stream: true,
    },
  },
  anthropic: {
    path: '/anthropic/v1/messages',
    key: 'x-api-key',
    body: {
      model: 'some-model',
      max_tokens: 100,
      temperature: 0,
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] },
        { role: 'user', content: [{ type: 'text', text: 'Rain?' }] },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Oslo' } },
            { type: 'tool_use', id: 'call_2', name: 'weather', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1', content: 'rain' },
            { type: 'tool_result', tool_use_id: 'call_2', content: 'Error: no JSON' },
          ],
        },
      ],
      tools: [{ name: 'weather', description: 'Tells it', input_schema: parameters }],
      stream: true,
    },
  },
  google: {
    path: '/google/v1/models/some-model:streamGenerateContent?alt=sse',
    key: 'x-goog-api-key',
    body: {
      generationConfig: { maxOutputTokens: 100, temperature: 0 },
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }] },
        { role: 'model', parts: [{ text: 'Hello.' }] },
        { role: 'user', parts: [{ text: 'Rain?' }] },
        {
          role: 'model',
          parts: [
            { functionCall: { id: 'call_1', name: 'weather', args: { city: 'Oslo' } } },
            { functionCall: { id: 'call_2', name: 'weather', args: {} } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'call_1', name: 'weather', response: { name: 'weather', content: 'rain' } } },
            { functionResponse: { id: 'call_2', name: 'weather', response: { name: 'weather', content: 'Error: no JSON' } } },
          ],
        },
      ],
      tools: [{ functionDeclarations: [{ name: 'weather', description: 'Tells it', parametersJsonSchema: parameters }] }],
    },
  },
}

for (const kind of hostedKinds) {
  test(`${kind}: messages, tools, limits and the key are sent in the provider's format`, async () => {
    await asker.ask(kind, { request: conversation })
    const { path, headers, body } = asker.server.calls.at(-1)!
    assert.equal(path, asked[kind].path)
    assert.deepEqual(body, asked[kind].body)
    assert.equal(String(headers[asked[kind].key]).replace('Bearer ', ''), apiKey)
    assert.deepEqual([headers['user-agent'], headers['accept-encoding']], ['turnkeep', 'identity'])
  })

  test(`${kind}: without temperature and tools none are sent, and a query of the base URL is kept`, async () => {
    await asker.ask(kind, { provider: { baseUrl: `${asker.server.baseUrl(kind)}/?version=7` } })
    const { path, body } = asker.server.calls.at(-1)!
    const [address, query] = asked[kind].path.split('?')
    assert.equal(path, `${address}?${query === undefined ? '' : `${query}&`}version=7`)
    assert.ok(!('tools' in body) && !JSON.stringify(body).includes('temperature'))
  })

  test(`${kind}: text is passed on piece by piece as it arrives, and the step has the whole with usage`, async () => {
    const held = gate()
    asker.server.script(['Grü', held, 'ße 😀'])
    const pieces: string[] = []
    const first = Promise.withResolvers<void>()
    const step = asker.ask(kind, {
      onText(text) {
        pieces.push(text)
        first.resolve()
      },
    })
    await first.promise
    assert.deepEqual(pieces, ['Grü'])
    held.open()
    const { text, finishReason, toolCalls } = await step
    assert.deepEqual([text, finishReason, toolCalls], ['Grüße 😀', 'stop', []])
    assert.deepEqual(pieces, ['Grü', 'ße 😀'])
  })

  test(`${kind}: usage includes cached and reasoning tokens`, async () => {
    const step = await asker.answer(kind, ['Hi'])
    assert.deepEqual(step.usage, {
      ...plainTokens(usage.prompt, usage.completion),
      cachedPromptTokens: usage.cached,
      reasoningTokens: usage.reasoning,
    })
  })

  test(`billing.usage-missing: ${kind}: no usage, two zeros and invalid counts are undefined`, async () => {
    const none = { prompt: 0, cached: 0, completion: 0, reasoning: 0 }
    for (const given of [null, none, { ...usage, completion: 57.5, reasoning: 0 }, { ...none, prompt: -5, completion: 3 }]) {
      assert.equal((await asker.answer(kind, ['Hi', { usage: given }])).usage, undefined, JSON.stringify(given))
    }
  })

  test(`billing.unpaid: ${kind}: the bytes of text, reasoning and tool calls are reported as they arrive, each once`, async () => {
    let bytes = 0
    const onGenerated = (more: number): void => void (bytes += more)
    asker.server.script([{ reasoning: 'They greet me.' }, 'Grüße', { toolCall: oslo }])
    await asker.ask(kind, { onGenerated })
    assert.equal(bytes, 14 + 7 + oslo.name.length + oslo.arguments.length)
  })

  test(`${kind}: reasoning stays private`, async () => {
    const step = await asker.answer(kind, [{ reasoning: 'They greet me.' }, 'Yes.'])
    assert.equal(step.text, 'Yes.')
  })

  test(`${kind}: tool calls arrive whole beside text`, async () => {
    const step = await asker.answer(kind, ['Let me look.', { toolCall: oslo }, { toolCall: rome }])
    assert.deepEqual([step.text, step.finishReason, step.toolCalls], ['Let me look.', 'tool_calls', [oslo, rome]])
  })

  test(`${kind}: a full context ends as length, a content filter as other`, async () => {
    assert.equal((await asker.answer(kind, ['Once', { finish: 'length' }])).finishReason, 'length')
    assert.equal((await asker.answer(kind, ['Once', { finish: 'filtered' }])).finishReason, kind === 'anthropic' ? 'refused' : 'filtered')
  })
}

for (const kind of hostedKinds) {
  test(`${kind}: the list of models is requested with the key`, async () => {
    const provider = { kind, baseUrl: asker.server.baseUrl(kind), apiKey }
    assert.deepEqual(await asker.models.list(provider, new AbortController().signal), ['first', 'second'])
    const { path, headers } = asker.server.calls.at(-1)!
    assert.equal(path, `/${kind}/v1/models`)
    assert.equal(String(headers[asked[kind].key]).replace('Bearer ', ''), apiKey)
  })
}

test('openai: a tool call that is truncated by the token limit is returned as far as it came, so that the loop sees it', async () => {
  const item = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'weather', arguments: '' }
  const events = [
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 0, delta: '{"ci' },
  ]
  const raw = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  const step = await asker.answer('openai', [{ raw }, { finish: 'length' }])
  assert.deepEqual([step.finishReason, step.toolCalls], ['length', [{ ...oslo, arguments: '{"ci' }]])
})
