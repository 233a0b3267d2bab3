/** Admin API: providers over real HTTP. Their API keys are sent to the provider and never appear anywhere else. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { allPages, refused, startAdminApp } from '../support/admin-app.ts'
import type { Json } from '../support/test-app.ts'

const app = await startAdminApp()
const secret = 'sk-canary-4f1d0e7c9b'
let count = 0

const body = (changes: Json = {}): Json => ({
  name: `p${++count}`,
  kind: 'openai-compatible',
  base_url: app.model.baseUrl,
  api_key: secret,
  ...changes,
})
const make = (changes: Json = {}): Promise<Json> => app.made('POST', '/providers', body(changes))

/** A separate model server for this test. */
async function serve(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

void test('providers: a provider is created, listed, read and deleted, and no response contains its key', async () => {
  const { status, json, text } = await app.admin('POST', '/providers', body())
  assert.equal(status, 201)
  assert.match(json.id, /^prv_[0-9a-hjkmnp-tv-z]{26}$/)
  assert.deepEqual(Object.keys(json), ['id', 'name', 'kind', 'base_url', 'created_at', 'updated_at'])
  const one = await app.admin('GET', `/providers/${json.id}`)
  assert.deepEqual(one.json, json)
  const list = await app.admin('GET', '/providers')
  assert.ok(list.json.data.some(({ id }: Json) => id === json.id))
  for (const seen of [text, one.text, list.text]) assert.ok(!seen.includes(secret))
  const gone = await app.admin('DELETE', `/providers/${json.id}`)
  assert.deepEqual([gone.status, gone.text], [204, ''])
  await refused(app.admin('GET', `/providers/${json.id}`), 404, 'not_found')
  await refused(app.admin('DELETE', `/providers/${json.id}`), 404, 'not_found')
  await refused(app.admin('PATCH', `/providers/${json.id}`, { name: 'x' }), 404, 'not_found')
  await refused(app.admin('POST', `/providers/${json.id}/test`), 404, 'not_found')
})

void test('paging: providers are listed page by page, each once', async () => {
  await Promise.all(Array.from({ length: 5 }, () => make()))
  const all = await allPages(app, '/providers', 2)
  assert.equal(new Set(all.map(({ id }) => id)).size, all.length)
  assert.ok(all.length >= 5)
})

const refusals: Record<string, [Json, RegExp]> = {
  'a name with capitals': [{ name: 'OpenAI' }, /name/],
  'a name with a slash': [{ name: 'a/b' }, /name/],
  'the built-in name': [{ name: 'demo' }, /demo/],
  'an unknown kind': [{ kind: 'bedrock' }, /kind must be one of openai, anthropic, google, openai-compatible/],
  'no base URL where it is needed': [{ base_url: undefined }, /^base_url /],
  'null for a base URL where it is needed': [{ base_url: null }, /^base_url /],
  'a base URL of another scheme': [{ base_url: 'ftp://example.com' }, /^base_url /],
  'an invalid base URL': [{ base_url: 'example.com/v1' }, /^base_url /],
  'a base URL with a password': [{ base_url: 'https://me:secret@example.com/v1' }, /^base_url /],
  'a base URL with a user name': [{ base_url: 'https://sk-live-1@example.com/v1' }, /^base_url /],
  'a base URL with a key in its query': [
    { base_url: 'https://example.com/v1?api-version=1&api_key=sk-live-1' },
    /api_key, which is stored encrypted/,
  ],
  'a base URL with a token in its query': [{ base_url: 'https://example.com/v1?access-token=sk-live-1' }, /stored encrypted/],
  'a base URL with a line break': [{ base_url: 'https://example.com/\nv1' }, /^base_url /],
  'an empty key': [{ api_key: '' }, /api_key/],
  'a key with a line break': [{ api_key: 'sk-1\r\nx: y' }, /api_key/],
  'no key': [{ api_key: undefined }, /api_key/],
  'an unknown field': [{ region: 'eu' }, /region/],
}
for (const [what, [changes, words]] of Object.entries(refusals)) {
  void test(`providers: ${what} is refused with an explanation that does not contain the key`, async () => {
    const asked = app.admin('POST', '/providers', body(changes))
    await refused(asked, 422, 'validation_error', words)
    assert.ok(!(await asked).text.includes(secret))
  })
}

void test('providers: a name is unique, also for 20 concurrent requests', async () => {
  const name = `p${++count}`
  const answers = await Promise.all(Array.from({ length: 20 }, () => app.admin('POST', '/providers', { ...body(), name })))
  assert.equal(answers.filter(({ status }) => status === 201).length, 1)
  assert.equal(answers.filter(({ status, json }) => status === 409 && json.error.code === 'conflict').length, 19)
})

void test('providers: openai, anthropic and google need no base URL', async () => {
  for (const kind of ['openai', 'anthropic', 'google']) assert.equal((await make({ kind, base_url: undefined })).base_url, null)
})

void test('providers: a new key is used from the next call on', async () => {
  const provider = await make()
  const agent = await app.makeAgent(app.caller.ownerId, { model: `${provider.name}/m` })
  const key = await app.made('POST', `/agents/${agent.id}/keys`, { permission: 'full' })
  const caller = { agentId: agent.id, apiKey: key.api_key, ownerId: app.caller.ownerId }
  await app.chat('one', { caller })
  assert.equal(app.model.calls.at(-1)!.headers.authorization, `Bearer ${secret}`)
  const changed = await app.admin('PATCH', `/providers/${provider.id}`, { api_key: 'sk-second' })
  assert.equal(changed.status, 200)
  assert.ok(!changed.text.includes('sk-second'))
  await app.chat('two', { caller })
  assert.equal(app.model.calls.at(-1)!.headers.authorization, 'Bearer sk-second')
})

void test('providers: the base URL can be changed, and cannot be removed from a kind that needs it', async () => {
  const provider = await make()
  // A gateway may need a query string; only a parameter that contains a credential is refused.
  const address = 'https://example.com/v1?api-version=2024-10-21&monkey=1'
  const changed = await app.made('PATCH', `/providers/${provider.id}`, { base_url: address, name: `${provider.name}b`, api_key: secret })
  assert.deepEqual([changed.base_url, changed.name], [address, `${provider.name}b`])
  await refused(
    app.admin('PATCH', `/providers/${provider.id}`, { base_url: 'https://example.com/?sig=x' }),
    422,
    'validation_error',
    /stored encrypted/,
  )
  await refused(app.admin('PATCH', `/providers/${provider.id}`, { base_url: null }), 422, 'validation_error', /^base_url /)
  await refused(app.admin('PATCH', `/providers/${provider.id}`, { name: 'demo' }), 422, 'validation_error', /demo/)
  await refused(app.admin('PATCH', `/providers/${provider.id}`, { name: 'scripted' }), 409, 'conflict', /scripted/)
  await refused(app.admin('PATCH', `/providers/${provider.id}`, { kind: 'openai' }), 422, 'validation_error', /kind/)
})

void test('providers: a base URL on another server needs the key in the same request, so that a stored key is sent nowhere else', async (t) => {
  const seen: string[] = []
  const elsewhere = await serve(t, (request, response) => {
    seen.push(request.headers.authorization ?? '')
    response.setHeader('content-type', 'application/json').end('{"object":"list","data":[]}')
  })
  const provider = await make()
  const path = `/providers/${provider.id}`
  const again = /^api_key must be sent again, because base_url points to another server/
  for (const address of [
    elsewhere,
    app.model.baseUrl.replace('http:', 'https:'),
    'https://example.com/v1',
    app.model.baseUrl.replace('127.0.0.1', 'localhost'),
  ])
    await refused(app.admin('PATCH', path, { base_url: address }), 422, 'validation_error', again)
  assert.deepEqual(await app.made('GET', path), provider, 'nothing has changed')
  assert.equal((await app.made('POST', `${path}/test`, { model: 'm' })).ok, true)
  assert.deepEqual(seen, [])
  const moved = await app.made('PATCH', path, { base_url: elsewhere, api_key: 'sk-for-elsewhere' })
  assert.equal(moved.base_url, elsewhere)
  await app.made('POST', `${path}/test`)
  assert.deepEqual(seen, ['Bearer sk-for-elsewhere'])
  // The same server, at another path.
  await app.made('PATCH', path, { base_url: `${elsewhere}/more` })
  await app.made('POST', `${path}/test`)
  assert.deepEqual(seen, ['Bearer sk-for-elsewhere', 'Bearer sk-for-elsewhere'])

  const hosted = await make({ kind: 'openai', base_url: undefined })
  await refused(app.admin('PATCH', `/providers/${hosted.id}`, { base_url: elsewhere }), 422, 'validation_error', again)
  await app.made('PATCH', `/providers/${hosted.id}`, { base_url: 'https://api.openai.com/v1/' })
  await app.made('PATCH', `/providers/${hosted.id}`, { base_url: null })
})

void test('providers: whichever of many concurrent changes is last, the key belongs to the base URL', async (t) => {
  const seen: string[] = []
  const names = ['a', 'b', 'c']
  const servers = await Promise.all(
    names.map((name) =>
      serve(t, (request, response) => {
        seen.push(`${name} ${request.headers.authorization}`)
        response.setHeader('content-type', 'application/json').end('{"object":"list","data":[]}')
      }),
    ),
  )
  const provider = await make({ base_url: servers[0], api_key: 'a' })
  const path = `/providers/${provider.id}`
  const changes = Array.from({ length: 30 }, (_, n) => ({ base_url: servers[n % 3]!, api_key: names[n % 3]! }))
  const answers = await Promise.all(
    changes.flatMap((change) => [app.admin('PATCH', path, change), app.admin('PATCH', path, { base_url: change.base_url })]),
  )
  for (const { status, text } of answers) assert.ok(status === 200 || status === 422, text)
  await app.made('POST', `${path}/test`)
  const [said] = seen
  assert.match(said!, /^(\w) Bearer \1$/)
})

void test('providers: a provider that an agent uses cannot be deleted or renamed until the agent is moved or deleted', async () => {
  const provider = await make()
  const agent = await app.makeAgent(app.caller.ownerId, { model: `${provider.name}/m` })
  await refused(app.admin('DELETE', `/providers/${provider.id}`), 409, 'conflict', new RegExp(agent.id))
  await refused(app.admin('PATCH', `/providers/${provider.id}`, { name: 'elsewhere' }), 409, 'conflict', new RegExp(agent.id))
  await app.made('PATCH', `/agents/${agent.id}`, { model: 'demo/demo' })
  assert.equal((await app.admin('DELETE', `/providers/${provider.id}`)).status, 204)
  await refused(app.admin('POST', `/agents/${agent.id}/rollback`, { version: 1 }), 409, 'conflict', /version 1/i)
})

void test('providers: a provider that an agent uses only for embeddings cannot be deleted or renamed either', async () => {
  const provider = await make()
  const path = `/providers/${provider.id}`
  const agent = await app.makeAgent(app.caller.ownerId, { model: 'demo/demo', knowledge: { embedding_model: `${provider.name}/m` } })
  await refused(app.admin('DELETE', path), 409, 'conflict', new RegExp(agent.id))
  await refused(app.admin('PATCH', path, { name: 'elsewhere' }), 409, 'conflict', new RegExp(agent.id))
  await app.made('PATCH', path, { api_key: 'another' })
  assert.equal((await app.made('GET', path)).name, provider.name)

  await app.made('PATCH', `/agents/${agent.id}`, { knowledge: { embedding_model: null } })
  assert.equal((await app.made('PATCH', path, { name: `${provider.name}x` })).name, `${provider.name}x`)
  // Version 1 names a provider that no longer exists.
  await refused(app.admin('POST', `/agents/${agent.id}/rollback`, { version: 1 }), 409, 'conflict', /embedding model .* no longer exists/)
  await app.made('PATCH', `/agents/${agent.id}`, { knowledge: { embedding_model: `${provider.name}x/m` } })
  await refused(app.admin('DELETE', path), 409, 'conflict', new RegExp(agent.id))
  await app.admin('DELETE', `/agents/${agent.id}`)
  assert.equal((await app.admin('DELETE', path)).status, 204)
})

void test('providers: an agent that is saved while its embedding provider is deleted: one of the two is refused', async () => {
  for (let round = 0; round < 10; round++) {
    const provider = await make()
    const [saved, deleted] = await Promise.all([
      app.admin('POST', '/agents', {
        owner_id: app.caller.ownerId,
        name: 'A',
        system_prompt: '',
        model: 'demo/demo',
        knowledge: { embedding_model: `${provider.name}/m` },
      }),
      app.admin('DELETE', `/providers/${provider.id}`),
    ])
    assert.ok(
      [saved.status, deleted.status].join() === '201,409' || [saved.status, deleted.status].join() === '422,204',
      saved.text + deleted.text,
    )
  }
})

void test('providers: a test calls the given model, or one that an agent uses', async () => {
  const provider = await make()
  const named = await app.made('POST', `/providers/${provider.id}/test`, { model: 'tiny' })
  assert.deepEqual([named.ok, named.model, Object.keys(named)], [true, 'tiny', ['ok', 'model', 'latency_ms']])
  assert.ok(Number.isInteger(named.latency_ms))
  assert.equal(app.model.calls.at(-1)!.body['model'], 'tiny')
  await app.makeAgent(app.caller.ownerId, { model: `${provider.name}/org/large` })
  assert.equal((await app.made('POST', `/providers/${provider.id}/test`)).model, 'org/large')
  await refused(app.admin('POST', `/providers/${provider.id}/test`, { prompt: 'x' }), 422, 'validation_error', /prompt/)
})

void test("providers: a failed test returns the provider's message, truncated and without the key", async () => {
  const provider = await make()
  app.model.script({ status: 401, body: `key ${secret} is wrong ${'x'.repeat(10_000)}` })
  const { status, text, json } = await app.admin('POST', `/providers/${provider.id}/test`, { model: 'tiny' })
  assert.deepEqual([status, json.ok, json.model], [200, false, 'tiny'])
  assert.match(json.error, /401.*is wrong/)
  assert.ok(text.length < 1000)
  assert.ok(!text.includes(secret))
})

void test('providers: a test of an address where nothing listens reports that', async (t) => {
  const gone = createServer()
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
  const { port } = gone.address() as AddressInfo
  await new Promise((resolve) => gone.close(resolve))
  t.diagnostic(`port ${port}`)
  const provider = await make({ base_url: `http://127.0.0.1:${port}/v1` })
  for (const wish of [undefined, { model: 'm' }]) {
    const { ok, error } = await app.made('POST', `/providers/${provider.id}/test`, wish)
    assert.equal(ok, false)
    assert.match(error, /ECONNREFUSED/)
  }
})

void test('providers: without a model, a test asks the server for its models and calls the first', async (t) => {
  const asked: string[] = []
  const base = await serve(t, (request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    response.setHeader('content-type', 'application/json')
    if (request.method === 'GET') return response.end('{"object":"list","data":[{"id":"first"},{"id":"second"}]}')
    request.resume()
    return response.end('{"choices":[{"message":{"content":"ready"},"finish_reason":"stop"}]}')
  })
  const own = await make({ base_url: `${base}/` })
  assert.deepEqual((await app.made('POST', `/providers/${own.id}/test`)).model, 'first')
  assert.deepEqual(asked, [`GET /v1/models Bearer ${secret}`, `POST /v1/chat/completions Bearer ${secret}`])

  const openai = await make({ kind: 'openai', base_url: base })
  const { ok, model } = await app.made('POST', `/providers/${openai.id}/test`)
  assert.deepEqual([ok, model, asked.length], [true, undefined, 3])
})

for (const [what, answer, words] of [
  ['a refusal', [401, `no: ${secret}`], /401.*no/],
  ['not JSON', [200, '<html>'], /not JSON/],
  ['not a list', [200, '{"data":{}}'], /not understood/],
  ['an empty list', [200, '{"data":[]}'], /no model/],
  ['too much', [200, ' '.repeat(5_000_000)], /too long/],
  ['a redirect', [302, ''], /302/],
] as const) {
  void test(`providers: a list of models that is ${what} fails the test with an explanation, without the key`, async (t) => {
    const base = await serve(t, (_request, response) => response.writeHead(answer[0], { location: '/elsewhere' }).end(answer[1]))
    const provider = await make({ base_url: base })
    const { json, text } = await app.admin('POST', `/providers/${provider.id}/test`)
    assert.equal(json.ok, false)
    assert.match(json.error, words)
    assert.ok(!text.includes(secret))
  })
}

void test('providers: the models are those that the provider lists, each once, with a price if it is known', async (t) => {
  const listed = JSON.stringify({ data: [{ id: 'gpt-4o' }, { id: 'gpt-4o' }, { id: 'org/own' }] })
  const asked: string[] = []
  const base = await serve(t, (request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    response.setHeader('content-type', 'application/json').end(listed)
  })
  const { id } = await make({ kind: 'openai', base_url: base })
  const { ok, data, error } = await app.made('GET', `/providers/${id}/models`)
  assert.deepEqual([ok, error, data.map((model: Json) => model.id)], [true, undefined, ['gpt-4o', 'org/own']])
  assert.deepEqual(asked, [`GET /v1/models Bearer ${secret}`])
  assert.match(data[0].price.prompt_usd_per_million, /^[1-9]/)
  assert.ok(data[0].context_tokens > 1000)
  assert.deepEqual([data[1].price, data[1].context_tokens], [null, null])
  await refused(app.admin('GET', `/providers/prv_${'0'.repeat(26)}/models`), 404, 'not_found')
})

for (const [what, answer, words] of [
  ['a refusal', [401, `no: ${secret}`], /401.*no/],
  ['not a list', [200, '{"data":{}}'], /not understood/],
  ['too much', [200, ' '.repeat(5_000_000)], /too long/],
] as const) {
  void test(`providers: a list of models that is ${what} is an empty list with the reason, without the key`, async (t) => {
    const base = await serve(t, (_request, response) => response.writeHead(answer[0]).end(answer[1]))
    const provider = await make({ base_url: base })
    const { status, json, text } = await app.admin('GET', `/providers/${provider.id}/models`)
    assert.deepEqual([status, json.ok, json.data], [200, false, []])
    assert.match(json.error, words)
    assert.ok(!text.includes(secret))
  })
}
