/** Admin API: agents, their versions, and the enabled flag, which is not versioned. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allPages, badNames, refused, startAdminApp } from '../support/admin-app.ts'
import { gate } from '../support/model-server.ts'
import type { Caller, Json } from '../support/test-app.ts'

const app = await startAdminApp()
const { ownerId } = app.caller

const body = (changes: Json = {}): Json => ({
  owner_id: ownerId,
  name: 'Helper',
  system_prompt: 'You help.',
  model: 'scripted/test-model',
  price: { prompt_usd_per_million: '0.15', completion_usd_per_million: '0.6' },
  ...changes,
})
const unnamed = { embedding_model: null, language: null }
const make = (changes: Json = {}): Promise<Json> => app.made('POST', '/agents', body(changes))
const patch = (id: string, changes: Json): Promise<Json> => app.made('PATCH', `/agents/${id}`, changes)

/** Neither is set: both are the prompt price. */
const noCachePrices = { cached_prompt_usd_per_million: null, cache_write_usd_per_million: null }

async function callerOf(agent: Json): Promise<Caller> {
  const key = await app.made('POST', `/agents/${agent.id}/keys`, { permission: 'full' })
  return { agentId: agent.id, apiKey: key.api_key, ownerId }
}

void test('agents: creates an agent with the documented defaults', async () => {
  const { status, json } = await app.admin('POST', '/agents', body())
  assert.equal(status, 201)
  assert.match(json.id, /^agt_[0-9a-hjkmnp-tv-z]{26}$/)
  assert.deepEqual(json, {
    id: json.id,
    owner_id: ownerId,
    version: 1,
    enabled: true,
    spend_limits: [],
    warnings: [],
    name: 'Helper',
    system_prompt: 'You help.',
    model: 'scripted/test-model',
    price: { prompt_usd_per_million: '0.15000000', completion_usd_per_million: '0.60000000', ...noCachePrices },
    price_source: { from: 'operator', list: null, date: json.price_source.date },
    max_output_tokens: 2048,
    temperature: null,
    max_steps: 8,
    max_tool_calls: 16,
    max_message_length: 32_000,
    history: { max_tokens: 8000 },
    knowledge: { max_tokens: 1500, top_k: 6, embedding_model: null, language: null },
    tools: [],
    created_at: json.created_at,
    updated_at: json.created_at,
  })
  assert.deepEqual(await app.made('GET', `/agents/${json.id}`), json)
})

void test('agents: stores every field that is given', async () => {
  const given = {
    max_output_tokens: 100,
    temperature: 0.3,
    max_steps: 3,
    max_tool_calls: 0,
    max_message_length: 500,
    history: { max_tokens: 0 },
    knowledge: { max_tokens: 10, top_k: 1, embedding_model: 'scripted/embed', language: 'german' },
  }
  const agent = await make({ ...given, tools: [] })
  for (const [field, value] of Object.entries(given)) assert.deepEqual(agent[field], value)
  assert.deepEqual((await make({ knowledge: { top_k: 2 } })).knowledge, { ...unnamed, max_tokens: 1500, top_k: 2 })
})

void test('agents: the settings reach the model', async () => {
  const agent = await make({ system_prompt: 'Say less.', temperature: 0.3, max_output_tokens: 77, model: 'scripted/org/some-model' })
  await app.chat('hi', { caller: await callerOf(agent) })
  const call = app.model.calls.at(-1)!
  assert.deepEqual([call.body['model'], call.body['temperature'], call.body['max_tokens']], ['org/some-model', 0.3, 77])
  assert.deepEqual(call.messages[0], { role: 'system', content: 'Say less.' })
})

void test('agents: an agent whose model has no known price cannot be created without one; the demo model has a price', async () => {
  await refused(app.admin('POST', '/agents', body({ price: undefined })), 422, 'validation_error', /price/)
  const demo = await make({ model: 'demo/demo', price: undefined })
  assert.deepEqual(demo.price, { prompt_usd_per_million: '0.15000000', completion_usd_per_million: '0.60000000', ...noCachePrices })
  assert.deepEqual(demo.price_source, { from: 'built_in', list: null, date: null })
  await refused(app.admin('PATCH', `/agents/${demo.id}`, { model: 'scripted/other' }), 422, 'validation_error', /price/)
  const price = { prompt_usd_per_million: '0', completion_usd_per_million: '10000' }
  const moved = await patch(demo.id, { model: 'scripted/other', price })
  assert.deepEqual(moved.price, {
    prompt_usd_per_million: '0.00000000',
    completion_usd_per_million: '10000.00000000',
    ...noCachePrices,
  })
  assert.deepEqual((await patch(demo.id, { model: 'scripted/other' })).version, moved.version)
})

const refusals: Record<string, [Json, RegExp]> = {
  'an unknown owner': [{ owner_id: 'own_x' }, /owner_id does not exist/],
  'no owner': [{ owner_id: undefined }, /owner_id/],
  'no system prompt': [{ system_prompt: undefined }, /system_prompt/],
  'NUL in the system prompt': [{ system_prompt: 'a\u0000' }, /system_prompt/],
  'a system prompt of 100,001 letters': [{ system_prompt: 'a'.repeat(100_001) }, /system_prompt/],
  'a model without a provider': [{ model: 'gpt' }, /model/],
  'a model without a name': [{ model: 'scripted/' }, /model/],
  'a model of an unknown provider': [{ model: 'nobody/m' }, /nobody\/m/],
  'a negative price': [{ price: { prompt_usd_per_million: '-1', completion_usd_per_million: '1' } }, /prompt_usd_per_million/],
  'a price above the largest': [
    { price: { prompt_usd_per_million: '1', completion_usd_per_million: '10000.00000001' } },
    /completion_usd_per_million/,
  ],
  'a price with nine places': [
    { price: { prompt_usd_per_million: '0.000000001', completion_usd_per_million: '1' } },
    /prompt_usd_per_million/,
  ],
  'a price as a number': [{ price: { prompt_usd_per_million: 0.15, completion_usd_per_million: '1' } }, /prompt_usd_per_million/],
  'half a price': [{ price: { prompt_usd_per_million: '1' } }, /completion_usd_per_million/],
  'no output': [{ max_output_tokens: 0 }, /max_output_tokens/],
  'half a token': [{ max_output_tokens: 1.5 }, /max_output_tokens/],
  'tokens as text': [{ max_output_tokens: '100' }, /max_output_tokens/],
  'a temperature above 2': [{ temperature: 2.1 }, /temperature/],
  'no steps': [{ max_steps: 0 }, /max_steps/],
  'no message': [{ max_message_length: 0 }, /max_message_length/],
  'a negative history': [{ history: { max_tokens: -1 } }, /history/],
  'an unknown field of the history': [{ history: { messages: 5 } }, /messages/],
  'a history that is a number': [{ history: 8000 }, /history/],
  'half a tool': [{ tools: [{ type: 'http' }] }, /tools\.0/],
  'an unknown field': [{ top_p: 1 }, /top_p/],
  'the enabled flag at creation': [{ enabled: false }, /enabled/],
}
for (const [what, [changes, words]] of Object.entries(refusals)) {
  void test(`agents: ${what} is refused with the field name, and nothing is created`, async () => {
    const before = (await app.made('GET', '/agents?limit=1')).data[0]
    await refused(app.admin('POST', '/agents', body(changes)), 422, 'validation_error', words)
    assert.deepEqual((await app.made('GET', '/agents?limit=1')).data[0], before)
  })
}

for (const [what, name] of Object.entries(badNames)) {
  void test(`agents: a name that is ${what} is refused with the field name`, async () => {
    await refused(app.admin('POST', '/agents', body({ name })), 422, 'validation_error', /name/)
  })
}

void test('agents: every change creates a version, a change without a difference creates none, and enabled is not versioned', async () => {
  const agent = await make()
  assert.equal((await patch(agent.id, { name: 'Helper', history: { max_tokens: 8000 }, price: agent.price })).version, 1)
  assert.equal((await patch(agent.id, {})).version, 1)
  const off = await patch(agent.id, { enabled: false })
  assert.deepEqual([off.version, off.enabled], [1, false])
  const second = await patch(agent.id, { system_prompt: 'You help much.', enabled: true })
  assert.deepEqual([second.version, second.enabled, second.name], [2, true, 'Helper'])
  const third = await patch(agent.id, { knowledge: { top_k: 9 }, temperature: 1 })
  assert.deepEqual([third.version, third.knowledge, third.temperature], [3, { ...unnamed, max_tokens: 1500, top_k: 9 }, 1])
  assert.equal((await patch(agent.id, { temperature: null })).temperature, null)

  const versions = await allPages(app, `/agents/${agent.id}/versions`, 3)
  assert.deepEqual(
    versions.map(({ version, system_prompt, temperature }) => [version, system_prompt, temperature]),
    [
      [4, 'You help much.', null],
      [3, 'You help much.', 1],
      [2, 'You help much.', null],
      [1, 'You help.', null],
    ],
  )
  const { owner_id: _, id: __, enabled: ___, updated_at: ____, spend_limits: _____, warnings: ______, ...first } = agent
  assert.deepEqual(versions.at(-1), first)
})

void test('agents: owner and version cannot be changed', async () => {
  const agent = await make()
  await refused(app.admin('PATCH', `/agents/${agent.id}`, { owner_id: ownerId }), 422, 'validation_error', /owner_id/)
  await refused(app.admin('PATCH', `/agents/${agent.id}`, { version: 9 }), 422, 'validation_error', /version/)
})

void test('agents: 20 concurrent changes of different fields are all stored, each as a version', async () => {
  const agent = await make()
  const changes = [{ name: 'N' }, { system_prompt: 'S' }, { max_steps: 2 }, { max_output_tokens: 5 }, { temperature: 1 }]
  await Promise.all(changes.map((change) => patch(agent.id, change)))
  const now = await app.made('GET', `/agents/${agent.id}`)
  assert.equal(now.version, 6)
  assert.deepEqual([now.name, now.system_prompt, now.max_steps, now.max_output_tokens, now.temperature], ['N', 'S', 2, 5, 1])
})

void test('agents: a rollback creates a new version with the old content', async () => {
  const agent = await make()
  await patch(agent.id, { name: 'Other', max_steps: 2 })
  const { id: _, version: __, updated_at: ___, ...content } = agent
  const back = await app.made('POST', `/agents/${agent.id}/rollback`, { version: 1 })
  assert.equal(back.version, 3)
  for (const [field, value] of Object.entries(content)) assert.deepEqual(back[field], value, field)
  assert.equal((await app.made('POST', `/agents/${agent.id}/rollback`, { version: 1 })).version, 3)
  await refused(app.admin('POST', `/agents/${agent.id}/rollback`, { version: 9 }), 404, 'not_found', /version 9/)
  await refused(app.admin('POST', `/agents/${agent.id}/rollback`, { version: 0 }), 422, 'validation_error', /version/)
})

void test('agents: a change applies from the next turn on, and a running turn finishes on its own version', async () => {
  const agent = await make({ system_prompt: 'One.' })
  const caller = await callerOf(agent)
  const held = gate()
  app.model.script([held, 'x'])
  const running = app.chat('hi', { caller })
  await held.reached
  await patch(agent.id, { system_prompt: 'Two.' })
  held.open()
  const { json } = await running
  assert.equal((await app.made('GET', `/turns/${json.request_id}`)).agent_version, 1)
  await app.chat('again', { caller })
  assert.equal(app.model.calls.at(-1)!.messages[0]!.content, 'Two.')
})

void test('order.admission: a disabled agent is 403 and a deleted one is 404 for callers with its keys', async () => {
  const agent = await make()
  const caller = await callerOf(agent)
  await patch(agent.id, { enabled: false })
  await refused(app.chat('hi', { caller }), 403, 'agent_disabled')
  await patch(agent.id, { enabled: true })
  assert.equal((await app.chat('hi', { caller })).status, 200)

  const gone = await app.admin('DELETE', `/agents/${agent.id}`)
  assert.deepEqual([gone.status, gone.text], [204, ''])
  await refused(app.chat('hi', { caller }), 404, 'agent_not_found')
  for (const [method, path, sent] of [
    ['GET', '', undefined],
    ['PATCH', '', { enabled: true }],
    ['DELETE', '', undefined],
    ['GET', '/versions', undefined],
    ['POST', '/rollback', { version: 1 }],
    ['GET', '/keys', undefined],
    ['POST', '/keys', { permission: 'full' }],
  ] as const) {
    await refused(app.admin(method, `/agents/${agent.id}${path}`, sent), 404, 'not_found')
  }
  assert.ok(!(await allPages(app, '/agents', 100)).some(({ id }) => id === agent.id))
})
