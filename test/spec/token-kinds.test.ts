/** Tokens by kind over the API: prices, charges, details in the turn and in the admin API, impossible kinds, and the history of prices. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

const price = {
  prompt_usd_per_million: '3.00000000',
  completion_usd_per_million: '15.00000000',
  cached_prompt_usd_per_million: '0.30000000',
  cache_write_usd_per_million: '3.75000000',
}
const kinds = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 7 },
  completion_tokens_details: { reasoning_tokens: 15 },
}
const details = { prompt_tokens_details: kinds.prompt_tokens_details, completion_tokens_details: kinds.completion_tokens_details }

const turnOf = async (app: TestApp, requestId: string): Promise<Json> => {
  const { agentId, apiKey } = app.caller
  const response = await fetch(`${app.url}/v1/agents/${agentId}/turns/${requestId}`, { headers: { authorization: `Bearer ${apiKey}` } })
  return (await response.json()) as Json
}

void test('billing.token-kinds: each kind is charged at its own price, rounded up once, and explained line by line', async () => {
  await using app = await startTestApp({ agent: { price } })
  app.model.script(['reply', { usage: kinds }])
  const { json } = await app.chat('hi')
  // 33 × 3 + 60 × 0.3 + 7 × 3.75 + 20 × 15 millionths
  assert.deepEqual(json.usage, { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, charged_usd: '0.00044325' })
  assert.deepEqual((await turnOf(app, json.request_id)).usage, { ...json.usage, ...details, tool_calls_usd: '0.00000000' })
  const turn = await app.made('GET', `/turns/${json.request_id}`)
  assert.deepEqual(turn.usage, { ...json.usage, ...details, tool_calls_usd: '0.00000000', estimated: false })
  assert.deepEqual(turn.price, price)
  const { price_calculation: calculation } = turn
  assert.deepEqual(
    calculation.lines.map((line: Json) => [line.kind, line.tokens, line.usd_per_million, line.amount_usd]),
    [
      ['prompt', 33, '3.00000000', '0.00009900'],
      ['cached_prompt', 60, '0.30000000', '0.00001800'],
      ['cache_write', 7, '3.75000000', '0.00002625'],
      ['completion', 20, '15.00000000', '0.00030000'],
    ],
  )
  assert.deepEqual([calculation.cost_usd, calculation.charged_usd, calculation.limited_to_hold], ['0.00044325', '0.00044325', false])
  const { spans } = await app.made('GET', `/turns/${json.request_id}/trace`)
  assert.deepEqual(spans.find(({ type }: Json) => type === 'settlement').price_calculation, calculation)
  const modelCall = spans.find(({ type }: Json) => type === 'model_call')
  assert.deepEqual(modelCall.usage, { prompt_tokens: 100, completion_tokens: 20, ...details, estimated: false })
  await app.verify()
})

void test('billing.token-kinds: steps are added by kind and rounded together', async () => {
  const exact = {
    ...price,
    prompt_usd_per_million: '0.00000100',
    completion_usd_per_million: '0',
    cached_prompt_usd_per_million: '0.00000001',
  }
  await using app = await startTestApp({ agent: { price: exact } })
  const usage = { ...kinds, prompt_tokens_details: { cached_tokens: 60 }, completion_tokens_details: null }
  app.model.script([{ usage }], ['second', { usage }])
  const { json } = await app.chat('hi')
  // An empty answer is repeated: 80 × 100 + 120 × 1 in 10⁻⁸ USD per million tokens, far below one unit, rounded up once.
  assert.deepEqual([json.usage.prompt_tokens, json.usage.charged_usd], [200, '0.00000001'])
  const turn = await app.made('GET', `/turns/${json.request_id}`)
  assert.equal(turn.usage.prompt_tokens_details.cached_tokens, 120)
  assert.equal(turn.price_calculation.rounding_usd, '0.0000000099188')
  await app.verify()
})

void test('billing.token-kinds: a price that is not set is the prompt price, and never zero', async () => {
  const { cached_prompt_usd_per_million: _, cache_write_usd_per_million: __, ...plain } = price
  await using app = await startTestApp({ agent: { price: plain } })
  app.model.script(['reply', { usage: kinds }])
  const { json } = await app.chat('hi')
  assert.equal(json.usage.charged_usd, '0.00060000')
  const agent = await app.made('GET', `/agents/${app.caller.agentId}`)
  assert.deepEqual(agent.price, { ...plain, cached_prompt_usd_per_million: null, cache_write_usd_per_million: null })
  await app.verify()
})

void test('fault.model-usage-wrong billing.token-kinds: impossible kinds are billed at the undiscounted price, and the turn is marked', async () => {
  await using app = await startTestApp({ agent: { price } })
  for (const cached of [101, -1, 'many']) {
    app.model.script(['reply', { usage: { ...kinds, prompt_tokens_details: { cached_tokens: cached } } }])
    const { json } = await app.chat('hi')
    assert.equal(json.usage.charged_usd, '0.00060000', String(cached))
    const { usage } = await app.made('GET', `/turns/${json.request_id}`)
    assert.deepEqual(
      [usage.estimated, usage.prompt_tokens_details.cached_tokens, usage.completion_tokens_details.reasoning_tokens],
      [true, 0, 0],
    )
  }
  await app.verify()
})

void test('billing.token-kinds: of a cancelled turn with text, the kinds of its finished steps are charged', async () => {
  await using app = await startTestApp({ agent: { price, max_steps: 3 } })
  app.model.script([{ usage: kinds }], ['second', { usage: kinds }])
  const { json } = await app.chat('hi')
  const { usage } = await app.made('GET', `/turns/${json.request_id}`)
  assert.deepEqual(usage.prompt_tokens_details, { cached_tokens: 120, cache_write_tokens: 14 })
  assert.equal(json.usage.charged_usd, '0.00088650')
  await app.verify()
})

void test('turn.cancel billing.token-kinds: a turn that is cancelled after text is charged for the tokens that its provider had reported', async () => {
  await using app = await startTestApp({ agent: { price } })
  const held = gate()
  app.model.script([{ event: { choices: [{ index: 0, delta: { content: 'It rains' } }], usage: kinds } }, held, ' in Oslo.'])
  const response = await app.chatRequest({ external_user_id: 'user-1', message: 'weather' }, { path: 'chat/stream' })
  const requestId = response.headers.get('x-request-id')!
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    text += next.value
    if (text.includes('rains')) break
  }
  const { agentId, apiKey } = app.caller
  const headers = { authorization: `Bearer ${apiKey}` }
  await fetch(`${app.url}/v1/agents/${agentId}/turns/${requestId}/cancel`, { method: 'POST', headers })
  while (!(await reader.read()).done);
  const { usage } = await app.made('GET', `/turns/${requestId}`)
  const { prompt_tokens, completion_tokens } = kinds
  const charged = { prompt_tokens, completion_tokens, total_tokens: 120, charged_usd: '0.00044325' }
  assert.deepEqual(usage, { ...charged, ...details, tool_calls_usd: '0.00000000', estimated: false })
  await app.verify()
})

void test('billing.hold: the hold is at the dearest price of a prompt token', async () => {
  const holdAt = async (changes: Json): Promise<number> => {
    await using app = await startTestApp({ agent: { price: { ...price, ...changes } } })
    app.model.script('reply')
    const { json } = await app.chat('hi')
    const { spans } = await app.made('GET', `/turns/${json.request_id}/trace`)
    return Number(spans.find(({ type }: Json) => type === 'admission').held_usd)
  }
  const undiscounted = await holdAt({ cached_prompt_usd_per_million: null, cache_write_usd_per_million: null })
  assert.equal(await holdAt({ cache_write_usd_per_million: null }), undiscounted, 'a cheaper kind lowers no hold')
  const dearer = await holdAt({ cache_write_usd_per_million: '30.00000000' })
  const prompt = await holdAt({ prompt_usd_per_million: '30.00000000', cache_write_usd_per_million: null })
  assert.equal(dearer, prompt)
  assert.ok(dearer > undiscounted)
})

void test('billing.token-kinds: an agent shows where its price comes from, and every price that it had', async () => {
  await using app = await startTestApp()
  await app.made('POST', '/providers', { name: 'openai', kind: 'openai', api_key: 'none' })
  const path = `/agents/${app.caller.agentId}`
  const before = await app.made('GET', path)
  assert.equal(before.price_source.from, 'operator')
  const listed = await app.made('PATCH', path, { model: 'openai/gpt-5.4-mini' })
  assert.equal(listed.price.cached_prompt_usd_per_million, '0.07500000')
  assert.equal(listed.price_source.from, 'price_list')
  assert.match(listed.price_source.list, /^@pydantic\/genai-prices \d+\.\d+\.\d+$/)
  assert.match(listed.price_source.date, /^\d{4}-\d{2}-\d{2}$/)
  await app.made('PATCH', path, { system_prompt: 'Another prompt.' })
  const same = await app.made('PATCH', path, { price: listed.price })
  assert.deepEqual(same.price_source, listed.price_source, 'the same price keeps its source')
  const own = await app.made('PATCH', path, { price: { ...listed.price, cache_write_usd_per_million: '1' } })
  assert.deepEqual([own.price_source.from, own.price.cache_write_usd_per_million], ['operator', '1.00000000'])
  const { data } = await app.made('GET', `${path}/prices`)
  assert.deepEqual(
    data.map((one: Json) => [one.version, one.price.cache_write_usd_per_million, one.price_source.from]),
    [
      [own.version, '1.00000000', 'operator'],
      [listed.version, null, 'price_list'],
      [1, null, 'operator'],
    ],
  )
  const { data: rest, next_cursor: next } = await app.made('GET', `${path}/prices?limit=2`)
  assert.equal(rest.length, 2)
  assert.deepEqual((await app.made('GET', `${path}/prices?limit=2&cursor=${next}`)).data, data.slice(2))
})
