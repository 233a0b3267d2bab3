/**
 * One usage in the four dialects, as each API documents it: the model port reads the same kinds from all of them, and the ledger prices them
 * as an independent calculation does, to 10⁻⁸ USD.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { calcPrice, extractUsage, findProvider } from '@pydantic/genai-prices'
import { knownModel } from '../../src/admin/providers/known-price.ts'
import { createModels } from '../../src/agent/models/models.ts'
import type { ModelStep } from '../../src/agent/models/model.ts'
import { charge, cost, maxAmount } from '../../src/ledger/ledger.ts'
import { recorded } from '../support/recorded-answers.ts'
import { plainTokens } from '../support/token-kinds.ts'

type Kind = keyof typeof recorded
type Json = Record<string, any>
const kinds = Object.keys(recorded) as Kind[]

let answer: { type: 'text/event-stream' | 'application/json'; body: string }
const server = createServer((request, response) => {
  request.resume()
  response.setHeader('content-type', answer.type)
  response.end(answer.body)
})
const models = createModels()
before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
after(async () => {
  await models.close()
  server.close()
})

const frame = (data: Json | string): string =>
  typeof data === 'string'
    ? `data: ${data}\n\n`
    : `${typeof data['type'] === 'string' ? `event: ${data['type']}\n` : ''}data: ${JSON.stringify(data)}\n\n`

/** What the port makes of these events, or of an answer that is not streamed. */
async function read(kind: Kind, given: (Json | string)[] | Json): Promise<ModelStep> {
  answer = Array.isArray(given)
    ? { type: 'text/event-stream', body: given.map(frame).join('') }
    : { type: 'application/json', body: JSON.stringify(given) }
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const request = {
    modelId: 'm',
    messages: [{ role: 'user' as const, content: 'Hi' }],
    tools: [],
    maxOutputTokens: 1000,
    temperature: null,
    passages: [],
  }
  return models.open({ kind, baseUrl, apiKey: '' }).generate(request, { signal: new AbortController().signal, onText: () => undefined })
}

/** The recorded events with other counts in place of the documented ones. */
const withUsage = (kind: Kind, changes: Json): (Json | string)[] =>
  JSON.parse(JSON.stringify(recorded[kind].events), (key, value: Json) =>
    (key === 'usage' || key === 'usageMetadata') && value !== null ? merge(value, changes) : value,
  ) as Json[]

const merge = (value: Json, changes: Json): Json =>
  Object.fromEntries(
    Object.entries({ ...value, ...changes }).map(([key, now]) => [
      key,
      typeof value[key] === 'object' && typeof changes[key] === 'object' ? { ...value[key], ...changes[key] } : now,
    ]),
  )

const expected = (kind: Kind) => ({
  promptTokens: 2000,
  cachedPromptTokens: 1200,
  // Gemini reports no writes.
  cacheWriteTokens: kind === 'google' ? 0 : 300,
  completionTokens: 400,
  reasoningTokens: 250,
})

for (const kind of kinds)
  test(`billing.token-kinds: ${kind}: a streamed answer has the same kinds as its documentation`, async () => {
    const { text, usage, usageImpossible } = await read(kind, recorded[kind].events)
    assert.deepEqual([text, usage, usageImpossible], ['Yes.', expected(kind), undefined])
  })

test('billing.token-kinds: openai-compatible: so has an answer that is not streamed', async () => {
  const { text, usage } = await read('openai-compatible', recorded['openai-compatible'].json)
  assert.deepEqual([text, usage], ['Yes.', expected('openai-compatible')])
})

test('billing.token-kinds: openai-compatible: the names of DeepSeek, Moonshot and xAI', async () => {
  const chat = recorded['openai-compatible']
  const readUsage = async (usage: Json) => (await read('openai-compatible', { ...chat.json, usage })).usage
  const totals = { prompt_tokens: 2000, completion_tokens: 400, total_tokens: 2400 }
  const cached = { ...plainTokens(2000, 400), cachedPromptTokens: 1200 }
  assert.deepEqual(await readUsage({ ...totals, prompt_cache_hit_tokens: 1200, prompt_cache_miss_tokens: 800 }), cached)
  assert.deepEqual(await readUsage({ ...totals, cached_tokens: 1200 }), cached)
  const reasoned = { ...totals, completion_tokens: 150, completion_tokens_details: { reasoning_tokens: 250 } }
  assert.deepEqual(await readUsage(reasoned), { ...plainTokens(2000, 400), reasoningTokens: 250 })
})

test('billing.token-kinds: openai-compatible: reasoning that is only in the total, as Gemini reports it', async () => {
  const chat = recorded['openai-compatible']
  const readUsage = async (usage: Json) => (await read('openai-compatible', { ...chat.json, usage })).usage
  const totals = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 105 }
  const reasoned = { ...plainTokens(9, 96), reasoningTokens: 93 }
  assert.deepEqual(await readUsage(totals), reasoned)
  const cached = { ...totals, prompt_tokens_details: { cached_tokens: 4 } }
  assert.deepEqual(await readUsage(cached), { ...reasoned, cachedPromptTokens: 4 })
  // Totals that say nothing about reasoning.
  assert.deepEqual(await readUsage({ ...totals, total_tokens: 12 }), plainTokens(9, 3))
  assert.deepEqual(await readUsage({ ...totals, total_tokens: 7 }), plainTokens(9, 3))
  assert.deepEqual(await readUsage({ ...totals, total_tokens: undefined }), plainTokens(9, 3))
  const apart = { ...totals, total_tokens: 16, cached_tokens: 4 }
  assert.deepEqual(await readUsage(apart), { ...plainTokens(9, 3), cachedPromptTokens: 4 }, 'its prompt tokens exclude the cache')
  const reported = { ...totals, total_tokens: 20, completion_tokens_details: { reasoning_tokens: 2 } }
  assert.deepEqual(await readUsage(reported), { ...plainTokens(9, 3), reasoningTokens: 2 })
})

/** Counts that no call can have, and the totals that are billed at the undiscounted price. */
const impossible: Record<Kind, [Json, { prompt?: number; completion?: number }][]> = {
  openai: [
    [{ input_tokens_details: { cached_tokens: 2001 } }, {}],
    [{ input_tokens_details: { cached_tokens: -5 } }, {}],
    [{ input_tokens_details: { cached_tokens: 1800 } }, {}],
    [{ input_tokens_details: { cached_tokens: true } }, {}],
    [{ output_tokens_details: { reasoning_tokens: 401 } }, {}],
  ],
  anthropic: [
    // A negative part would make the sum smaller.
    [{ cache_read_input_tokens: -500 }, { prompt: 500 + 300 }],
    [{ cache_creation_input_tokens: -500 }, { prompt: 500 + 1200 }],
    [{ output_tokens_details: { thinking_tokens: 401 } }, {}],
  ],
  google: [
    [{ cachedContentTokenCount: 2001 }, {}],
    [{ cachedContentTokenCount: -1 }, {}],
  ],
  'openai-compatible': [
    [{ prompt_tokens_details: { cached_tokens: 2001 } }, {}],
    [{ prompt_tokens_details: { cached_tokens: 'seven' } }, {}],
    [{ prompt_tokens_details: { cache_write_tokens: 801 } }, {}],
    [{ completion_tokens_details: { reasoning_tokens: -1 } }, {}],
  ],
}

for (const kind of kinds)
  test(`billing.token-kinds: ${kind}: impossible kinds are billed at the undiscounted price, and the answer is marked`, async () => {
    for (const [changes, { prompt = 2000, completion = 400 }] of impossible[kind]) {
      const { usage, usageImpossible } = await read(kind, withUsage(kind, changes))
      assert.deepEqual([usage, usageImpossible], [plainTokens(prompt, completion), true], JSON.stringify(changes))
    }
  })

/** The model, and its provider's name or address in the price list. Its prices do not depend on the length of the prompt or the hour. */
const priced: Record<Kind, { modelId: string; baseUrl: string | null; flavor: string }> = {
  openai: { modelId: 'gpt-5.4-mini', baseUrl: null, flavor: 'responses' },
  anthropic: { modelId: 'claude-haiku-4-5', baseUrl: null, flavor: 'default' },
  google: { modelId: 'gemini-2.5-flash', baseUrl: null, flavor: 'default' },
  'openai-compatible': { modelId: 'gpt-4o-mini', baseUrl: 'https://api.openai.com/v1', flavor: 'chat' },
}

for (const kind of kinds)
  test(`billing.token-kinds: ${kind}: the charge is that of an independent calculation, to 10⁻⁸ USD`, async () => {
    const { modelId, baseUrl, flavor } = priced[kind]
    const { usage } = await read(kind, recorded[kind].events)
    const { price } = await knownModel({ kind, baseUrl }, modelId)
    const listed = baseUrl === null ? { providerId: kind } : { providerApiUrl: baseUrl }
    const provider = findProvider(listed)!
    const independent = calcPrice(extractUsage(provider, recorded[kind].json, flavor).usage, modelId, listed)!
    const { charged, writtenOff } = charge(usage!, 0n, price!, maxAmount)
    assert.equal(writtenOff, 0n)
    // Rounded up once; the float of the other calculation has an error far below that.
    assert.equal(charged, BigInt(Math.ceil(independent.total_price * 1e8 - 1e-6)))
    const undiscounted = cost(plainTokens(usage!.promptTokens, usage!.completionTokens), price!)
    assert.ok(price!.cachedPromptPerMillion! < price!.promptPerMillion && charged < undiscounted, 'cached tokens are cheaper')
  })
