/** The hosted providers against a third-party model server (aimock), over real HTTP, each with its own API. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { LLMock } from '@copilotkit/aimock'
import { ModelError } from '../../src/agent/models/model.ts'
import type { ModelRequest, ModelStep } from '../../src/agent/models/model.ts'
import { createModels } from '../../src/agent/models/models.ts'
import type { Models } from '../../src/agent/models/models.ts'
import { hostedKinds } from '../support/provider-dialects.ts'
import type { HostedKind } from '../support/provider-dialects.ts'
import { plainTokens } from '../support/token-kinds.ts'

let aimock: LLMock
let models: Models
before(async () => {
  aimock = await LLMock.create({ port: 0, chunkSize: 4 })
  models = createModels()
})
beforeEach(() => void aimock.clearFixtures())
after(async () => {
  await models.close()
  await aimock.stop()
})

/** How each API calls its model, and its token counts. */
const apis = {
  openai: { path: '/v1', modelId: 'gpt-4o-mini', usage: { input_tokens: 11, output_tokens: 7 } },
  anthropic: { path: '/v1', modelId: 'claude-haiku-4-5', usage: { input_tokens: 11, output_tokens: 7 } },
  google: { path: '/v1beta', modelId: 'gemini-2.5-flash', usage: { promptTokenCount: 11, candidatesTokenCount: 7 } },
}

const weather = {
  name: 'weather',
  description: 'Tells the weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
}

async function ask(kind: HostedKind, changes: Partial<ModelRequest> = {}): Promise<ModelStep & { pieces: string[] }> {
  const pieces: string[] = []
  const model = models.open({ kind, baseUrl: aimock.url + apis[kind].path, apiKey: 'sk-test' })
  const request = {
    modelId: apis[kind].modelId,
    messages: [{ role: 'user' as const, content: 'Hello' }],
    maxOutputTokens: 100,
    temperature: 0.5,
  }
  const step = await model.generate(
    { ...request, tools: [], passages: [], ...changes },
    { signal: new AbortController().signal, onText: (text) => pieces.push(text) },
  )
  assert.equal(pieces.join(''), step.text)
  return { ...step, pieces }
}

for (const kind of hostedKinds) {
  test(`aimock: ${kind}: text streams in pieces that add up, with the configured usage`, async () => {
    aimock.onMessage('Hello', { content: 'Grüße aus Oslo 😀!', usage: apis[kind].usage })
    const step = await ask(kind)
    assert.equal(step.text, 'Grüße aus Oslo 😀!')
    assert.ok(step.pieces.length > 2)
    assert.equal(step.finishReason, 'stop')
    assert.deepEqual(step.usage, plainTokens(11, 7))
  })

  test(`aimock: ${kind}: reasoning stays private`, async () => {
    aimock.onMessage('Hello', { content: 'Yes.', reasoning: 'They greet me.' })
    assert.equal((await ask(kind)).text, 'Yes.')
  })

  test(`aimock: ${kind}: tool calls arrive whole`, async () => {
    aimock.onMessage('Rain', {
      toolCalls: [
        { id: 'call_oslo', name: 'weather', arguments: '{"city":"Oslo"}' },
        { id: 'call_rome', name: 'weather', arguments: '{"city":"Rome"}' },
      ],
    })
    const asked = await ask(kind, { messages: [{ role: 'user', content: 'Rain?' }], tools: [weather] })
    assert.equal(asked.finishReason, 'tool_calls')
    assert.deepEqual(
      asked.toolCalls.map(({ name, arguments: args }) => [name, args]),
      [
        ['weather', '{"city":"Oslo"}'],
        ['weather', '{"city":"Rome"}'],
      ],
    )
  })

  test(`aimock: ${kind}: a full context ends as length`, async () => {
    aimock.onMessage('Hello', { content: 'Once upon', finishReason: 'length' })
    assert.equal((await ask(kind)).finishReason, 'length')
  })

  test(`aimock: ${kind}: 429 and 500 are unavailable, 400 and 401 are refused`, async () => {
    const kinds = { 429: 'unavailable', 500: 'unavailable', 400: 'refused', 401: 'refused' }
    for (const [status, expected] of Object.entries(kinds)) {
      aimock.nextRequestError(Number(status), { message: 'no' })
      const error = await ask(kind).catch((thrown: unknown) => thrown)
      assert.ok(error instanceof ModelError)
      assert.equal(error.kind, expected, status)
      if (status === '429') assert.equal(error.retryAfterMs, 1000)
    }
  })

  test(`aimock: ${kind}: a stream that breaks off is not a completion`, async () => {
    aimock.onMessage('Hello', { content: 'a long answer that never comes to its end' }, { truncateAfterChunks: 3 })
    await assert.rejects(ask(kind), { kind: 'unavailable' })
  })
}

// Gemini is left out: aimock cannot complete a loop of calls and results with its API; our scripted server covers it.
for (const kind of ['openai', 'anthropic'] as const) {
  test(`aimock: ${kind}: tool results are sent back in the provider's format`, async () => {
    aimock.onToolResult('call_oslo', { content: 'It rains in Oslo.' })
    const calls = [
      { id: 'call_rome', name: 'weather', arguments: '{"city":"Rome"}' },
      { id: 'call_oslo', name: 'weather', arguments: '{"city":"Oslo"}' },
    ]
    const answered = await ask(kind, {
      messages: [
        { role: 'user', content: 'Rain?' },
        { role: 'assistant', content: '', toolCalls: calls },
        { role: 'tool', toolCallId: 'call_rome', content: 'sun' },
        { role: 'tool', toolCallId: 'call_oslo', content: 'rain' },
      ],
      tools: [weather],
    })
    assert.equal(answered.text, 'It rains in Oslo.')
  })
}
