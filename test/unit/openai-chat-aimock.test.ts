/** The OpenAI Chat Completions API against a third-party model server (aimock), over real HTTP. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { LLMock } from '@copilotkit/aimock'
import { ModelError } from '../../src/agent/models/model.ts'
import type { ModelRequest, ModelStep } from '../../src/agent/models/model.ts'
import { createModels } from '../../src/agent/models/models.ts'
import type { Models } from '../../src/agent/models/models.ts'
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

const weather = {
  name: 'weather',
  description: 'Tells the weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
}

async function ask(changes: Partial<ModelRequest> = {}): Promise<ModelStep & { pieces: string[] }> {
  const pieces: string[] = []
  const model = models.open({ kind: 'openai-compatible', baseUrl: `${aimock.url}/v1`, apiKey: 'sk-test' })
  const request = {
    modelId: 'gpt-4o-mini',
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

test('aimock: text streams in pieces that add up, with the configured usage', async () => {
  aimock.onMessage('Hello', { content: 'Grüße aus Oslo 😀!', usage: { prompt_tokens: 11, completion_tokens: 7 } })
  const step = await ask()
  assert.equal(step.text, 'Grüße aus Oslo 😀!')
  assert(step.pieces.length > 2)
  assert.equal(step.finishReason, 'stop')
  assert.deepEqual(step.usage, plainTokens(11, 7))
})

test('aimock: usage without counts is undefined', async () => {
  aimock.onMessage('Hello', { content: 'Hi', usage: { total_tokens: 3 } })
  assert.equal((await ask()).usage, undefined)
})

test('aimock: reasoning stays private', async () => {
  aimock.onMessage('Hello', { content: 'Yes.', reasoning: 'They greet me.' })
  assert.equal((await ask()).text, 'Yes.')
})

test("aimock: tool calls arrive whole, and their results are sent back in the provider's format", async () => {
  aimock.onToolResult('call_oslo', { content: 'It rains in Oslo.' })
  aimock.onMessage('Rain', {
    toolCalls: [
      { id: 'call_oslo', name: 'weather', arguments: '{"city":"Oslo"}' },
      { id: 'call_rome', name: 'weather', arguments: '{"city":"Rome"}' },
    ],
  })
  const question = { role: 'user' as const, content: 'Rain?' }
  const asked = await ask({ messages: [question], tools: [weather] })
  assert.equal(asked.finishReason, 'tool_calls')
  assert.deepEqual(asked.toolCalls, [
    { id: 'call_oslo', name: 'weather', arguments: '{"city":"Oslo"}' },
    { id: 'call_rome', name: 'weather', arguments: '{"city":"Rome"}' },
  ])
  const answered = await ask({
    messages: [
      question,
      { role: 'assistant', content: asked.text, toolCalls: asked.toolCalls },
      { role: 'tool', toolCallId: 'call_rome', content: 'sun' },
      { role: 'tool', toolCallId: 'call_oslo', content: 'rain' },
    ],
    tools: [weather],
  })
  assert.equal(answered.text, 'It rains in Oslo.')
})

test('aimock: a full context ends as length', async () => {
  aimock.onMessage('Hello', { content: 'Once upon', finishReason: 'length' })
  assert.equal((await ask()).finishReason, 'length')
})

test('aimock: 429 and 500 are unavailable, 400 and 401 are refused', async () => {
  const kinds = { 429: 'unavailable', 500: 'unavailable', 400: 'refused', 401: 'refused' }
  for (const [status, kind] of Object.entries(kinds)) {
    aimock.nextRequestError(Number(status), { message: 'no' })
    const error = await ask().catch((thrown: unknown) => thrown)
    assert(error instanceof ModelError)
    assert.equal(error.kind, kind, status)
    if (status === '429') assert.equal(error.retryAfterMs, 1000)
  }
})

test('aimock: a stream that breaks off is not a completion', async () => {
  aimock.onMessage('Hello', { content: 'a long answer that never comes to its end' }, { truncateAfterChunks: 3 })
  await assert.rejects(ask(), { kind: 'unavailable' })
})
