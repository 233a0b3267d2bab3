/** Admin API: trying a tool before any user chats, and looking up a model's price before an agent is saved. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { after, test } from 'node:test'
import { refused, startAdminApp } from '../support/admin-app.ts'
import { startScriptedMcp, tool } from '../support/mcp-scripted-server.ts'
import { gate } from '../support/model-server.ts'
import { makeFolder, startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp } from '../support/test-app.ts'
import { dayTool, threeTools } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'

const tools = await startToolServer()
const mcp = await startScriptedMcp({ tools: [tool('look')] })
const allowed = { TURNKEEP_ALLOW_PRIVATE_HOSTS: `${tools.address},127.0.0.1:${mcp.port}` }
const app = await startTestApp({
  env: allowed,
  agent: {
    tools: [
      ...threeTools(tools),
      { type: 'mcp', name: 'shop', url: mcp.url },
      { type: 'builtin', name: 'now' },
      { type: 'builtin', name: 'search_knowledge' },
    ],
  },
})
after(async () => {
  await app.close()
  await tools.close()
  await mcp.close()
})

const tryOf = (one: TestApp, body: Json, agentId = one.caller.agentId): Promise<Answer> =>
  one.admin('POST', `/agents/${agentId}/tools/try`, body)
const day = (name: string): Json => ({ tool: name, arguments: { day: 'Monday' } })

void test('tools/try: calls an HTTP tool for real, with a key of this request, and returns what the model would receive', async () => {
  const answer = await tryOf(app, day('book'))
  const [called] = tools.callsOf('/book')
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(answer.json, { result: 'Status 200, text/plain:\n/book done, call 1', is_error: false, ms: answer.json.ms })
  assert.ok(Number.isInteger(answer.json.ms))
  assert.deepEqual([called!.method, called!.body], ['POST', '{"day":"Monday"}'])
  assert.equal(called!.idempotencyKey, `${answer.headers.get('x-request-id')}:1:1`)
})

void test('tools/try: finds MCP tools by the name that the model sees and built-in tools by their own; arguments are optional', async () => {
  const { json } = await tryOf(app, { tool: 'shop__look', arguments: { x: 'y' } })
  assert.deepEqual([json.result, json.is_error], ['did look', false])
  assert.deepEqual(mcp.callsOf('tools/call')[0]!.params.arguments, { x: 'y' })
  const now = await tryOf(app, { tool: 'now' })
  assert.equal(now.json.is_error, false)
  assert.match(now.json.result, /"utc":/)
  const { json: searched } = await tryOf(app, { tool: 'search_knowledge', arguments: { query: 'anything' } })
  assert.equal(searched.is_error, false, searched.result)
})

void test('tools/try: reports a failing tool and invalid arguments exactly as the model would receive them', async () => {
  tools.when('/cancel', { status: 500, body: 'out of order' })
  const failed = (await tryOf(app, day('cancel'))).json
  assert.deepEqual([failed.is_error, failed.result], [true, 'Status 500, text/plain:\nout of order'])
  const before = tools.calls.length
  for (const given of [{ day: 7 }, {}, { day: 'Monday', host: 'evil.example' }]) {
    const { json } = await tryOf(app, { tool: 'look', arguments: given })
    assert.equal(json.is_error, true)
    assert.match(json.result, /^Error: .*(day|host)/)
  }
  assert.equal(tools.calls.length, before, 'nothing was called')
})

void test('tools/try: calls an HTTP tool that is not saved, with the stored secrets of the saved tool of its name, and saves nothing', async () => {
  const saved = { ...dayTool(tools, 'look'), headers: { 'X-Key': '{key}' }, secrets: { key: 'stored-secret' } }
  const agent = await app.makeAgent(app.caller.ownerId, { tools: [saved] })
  const definition = { ...saved, headers: { 'X-Key': null, 'X-Try': '{word}' }, secrets: { key: null, word: 'trial' } }
  const { status, json, text } = await tryOf(app, { ...day('look'), definition }, agent.id)
  assert.deepEqual([status, json.is_error], [200, false], text)
  const { headers } = tools.callsOf('/look').at(-1)!
  assert.deepEqual([headers['x-key'], headers['x-try']], ['stored-secret', 'trial'])
  assert.deepEqual((await app.made('GET', `/agents/${agent.id}`)).version, 1)

  const refusals: [Json, RegExp][] = [
    [{ ...definition, url: 'https://example.com/' }, /points to another server/],
    [{ ...definition, name: 'new' }, /has no stored value/],
    [{ ...definition, name: 'new', headers: {}, secrets: {} }, /of this agent: new\./],
    [{ ...definition, url: 'http://10.0.0.1/', headers: {}, secrets: {} }, /must start with https/],
    [{ type: 'builtin', name: 'now' }, /definition/],
  ]
  for (const [given, words] of refusals)
    await refused(tryOf(app, { ...day('look'), definition: given }, agent.id), 422, 'validation_error', words)
})

void test('tools/refresh: lists the tools of an MCP server that is not saved, with the stored headers of the saved one of its name, and saves nothing', async () => {
  const saved = { type: 'mcp', name: 'shop', url: mcp.url, headers: { 'X-Key': 'stored-secret' } }
  const agent = await app.makeAgent(app.caller.ownerId, { tools: [saved] })
  const path = `/agents/${agent.id}/tools/refresh`
  const ask = (definition: Json, rest: Json = {}): Promise<Answer> => app.admin('POST', path, { definition, ...rest })
  const definition = { ...saved, headers: { 'X-Key': null, 'X-Try': 'trial' } }
  const { status, json, text } = await ask(definition)
  assert.equal(status, 200, text)
  const parameters = { type: 'object', properties: { x: { type: 'string' } } }
  const now = { name: 'look', description: 'Does look.', parameters, side_effects: true }
  assert.deepEqual(json, { data: [{ server: 'shop', tool: 'look', change: 'added', now }], unusable: [], version: 1 })
  const { headers } = mcp.callsOf('tools/list').at(-1)!
  assert.deepEqual([headers['x-key'], headers['x-try']], ['stored-secret', 'trial'])
  assert.equal((await ask({ ...definition, name: 'other', headers: {}, allowed: ['look'] })).json.data[0].server, 'other')

  const asked = mcp.callsOf('initialize').length
  const refusals: [Json, RegExp][] = [
    [{ ...definition, url: 'https://example.com/' }, /points to another server/],
    [{ ...definition, name: 'new' }, /X-Key of the tool new has no stored value/],
    [{ ...definition, name: 'a b', headers: {} }, /tool name/],
    [{ ...definition, url: 'http://10.0.0.1/', headers: {} }, /must start with https/],
    [{ ...definition, url: 'https://10.0.0.1/', headers: {} }, /address/],
    [{ ...definition, url: undefined }, /url/],
    [{ type: 'builtin', name: 'now' }, /definition/],
  ]
  for (const [given, words] of refusals) await refused(ask(given), 422, 'validation_error', words)
  await refused(ask(definition, { approve: true }), 422, 'validation_error', /approve or definition, not both/)
  assert.equal(mcp.callsOf('initialize').length, asked, 'nothing was called')
  await refused(ask({ ...definition, allowed: ['missing'] }), 422, 'validation_error', /MCP server shop: .*missing/)
  assert.equal((await app.made('GET', `/agents/${agent.id}`)).version, 1)
  const { data } = await app.made('GET', '/audit?limit=100')
  assert.deepEqual(
    data.filter(({ verb, subject_id: subject }: Json) => verb === 'try' && subject === agent.id).map(({ fields }: Json) => fields),
    [['tools.shop'], ['tools.other'], ['tools.shop']],
  )
  assert.ok(!JSON.stringify(data).includes('stored-secret'))
})

void test('tools/try: truncates a long result as it would for a model', async () => {
  tools.when('/look', { body: 'x'.repeat(200_000) })
  const { json } = await tryOf(app, day('look'))
  assert.match(json.result, /x\n\[The answer is longer and is cut here\.\]$/)
  assert.ok(json.result.length < 40_000)
})

void test('tools/try: an invalid request is refused with the field name, and nothing is called', async () => {
  const before = tools.calls.length
  await refused(
    tryOf(app, { tool: 'nothing' }),
    422,
    'validation_error',
    /^tool .*: book, look, cancel, shop__look, now, search_knowledge\.$/,
  )
  await refused(tryOf(app, { tool: 'constructor' }), 422, 'validation_error', /^tool /)
  await refused(tryOf(app, { tool: '' }), 422, 'validation_error', /^tool /)
  await refused(tryOf(app, { arguments: {} }), 422, 'validation_error', /^tool /)
  await refused(tryOf(app, { tool: 'look', arguments: ['Monday'] }), 422, 'validation_error', /^arguments /)
  await refused(tryOf(app, { ...day('look'), run: 1 }), 422, 'validation_error', /run/)
  await refused(tryOf(app, day('look'), 'agt_none'), 404, 'not_found')
  const bare = await app.makeAgent(app.caller.ownerId)
  await refused(tryOf(app, day('look'), bare.id), 422, 'validation_error', /^tool .*none/)
  await app.made('DELETE', `/agents/${bare.id}`)
  await refused(tryOf(app, day('look'), bare.id), 404, 'not_found')
  assert.equal(tools.calls.length, before)
})

void test('tools/try: uses the saved version, also of a disabled agent, and creates no turn or charge', async () => {
  const agent = await app.makeAgent(app.caller.ownerId, { tools: [dayTool(tools, 'earlier')] })
  await app.made('PATCH', `/agents/${agent.id}`, { tools: [dayTool(tools, 'later')], enabled: false })
  const seen = async (): Promise<unknown[]> => [
    await app.made('GET', '/turns'),
    await app.made('GET', `/owners/${app.caller.ownerId}/ledger`),
  ]
  const before = await seen()
  assert.equal((await tryOf(app, day('later'), agent.id)).json.is_error, false)
  await refused(tryOf(app, day('earlier'), agent.id), 422, 'validation_error', /^tool /)
  assert.deepEqual(await seen(), before)
})

void test('tools/try: the guard blocks private addresses as it does in a turn', async (t) => {
  const folder = await makeFolder()
  const first = await startTestApp({ folder, env: allowed, agent: { tools: [dayTool(tools, 'private')] } })
  await first.app.drain()
  const second = await startTestApp({ folder, model: first.model, seeded: first })
  t.after(async () => {
    await second.close()
    await first.model.close()
    await first.data.drop()
    await rm(folder, { recursive: true })
  })
  const { status, json } = await tryOf(second, day('private'))
  assert.deepEqual([status, json.is_error], [200, true])
  assert.deepEqual(tools.callsOf('/private'), [])
})

void test('tools/try: a call that is still running when a drain ends is abandoned with service_unavailable', async (t) => {
  const held = gate()
  t.after(() => held.open())
  tools.when('/held', held)
  await using own = await startTestApp({ env: allowed, agent: { tools: [dayTool(tools, 'held', { timeout_seconds: 60 })] } })
  const asked = refused(tryOf(own, day('held')), 503, 'service_unavailable')
  await tools.waitFor('/held', 1)
  await Promise.all([own.app.drain(), asked])
})

const plain = await startAdminApp()
const priced = (model: string): Promise<Json> => plain.made('GET', `/models/price?model=${encodeURIComponent(model)}`)

void test("models/price: returns the price that an agent without its own price would get, and the model's context window", async () => {
  await plain.made('POST', '/providers', { name: 'hosted', kind: 'openai', api_key: 'sk-x' })
  const known = await priced('hosted/gpt-5.4-mini')
  assert.deepEqual(known, {
    model: 'hosted/gpt-5.4-mini',
    price: {
      prompt_usd_per_million: '0.75000000',
      completion_usd_per_million: '4.50000000',
      cached_prompt_usd_per_million: '0.07500000',
      cache_write_usd_per_million: null,
    },
    price_source: known.price_source,
    context_tokens: known.context_tokens,
  })
  assert.ok(known.context_tokens > 100_000)
  assert.equal(known.price_source.from, 'price_list')
  const demo = await priced('demo/demo')
  assert.equal(demo.context_tokens, null)
  for (const { model, price } of [known, demo]) {
    const agent = await plain.makeAgent(plain.caller.ownerId, { model, price: undefined })
    assert.deepEqual(agent.price, price)
  }
})

void test('models/price: an unknown provider, an unlisted model and a self-hosted server have no price', async () => {
  for (const model of [`nobody-${randomUUID()}/gpt-5.4-mini`, 'hosted/gpt-unheard-of', 'scripted/gpt-5.4-mini'])
    assert.deepEqual(await priced(model), { model, price: null, price_source: null, context_tokens: null })
})

void test('models/price: text that does not name a model is refused with the field name', async () => {
  for (const query of ['', '?model=', '?model=gpt', '?model=%2Fgpt', '?model=hosted%2F', '?model=a%20b%2Fc', '?model=a%2Fb&model=c%2Fd'])
    await refused(plain.admin('GET', `/models/price${query}`), 422, 'validation_error', /model/)
  await refused(plain.admin('GET', '/models/price?model=a%2Fb&at=now'), 422, 'validation_error', /at/)
})
