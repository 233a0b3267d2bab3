/** /admin/v1/openapi.json describes the admin API correctly: its paths are the routes, and real responses match its schemas. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fastify } from 'fastify'
import Schema from 'typebox/schema'
import { adminRoutes } from '../../src/http/admin/routes.ts'
import { once } from '../support/admin-app.ts'
import { startScriptedMcp, tool } from '../support/mcp-scripted-server.ts'
import { WebAuthnEmulator } from 'nid-webauthn-emulator'
import { createSignedTokens } from '../../src/operators/signed-tokens.ts'
import { dereferenced } from '../support/dereferenced.ts'
import { adminToken, parseEvents, read, startTestApp } from '../support/test-app.ts'
import type { Answer, Json } from '../support/test-app.ts'

const mcp = await startScriptedMcp()
after(() => mcp.close())
const consoleOrigin = 'https://console.acme.example'
const app = await startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: `127.0.0.1:${mcp.port}`, TURNKEEP_CONSOLE_URL: consoleOrigin } })
after(() => app.close())
const description = dereferenced(await app.made('GET', '/openapi.json'))

const methods = ['get', 'post', 'put', 'patch', 'delete']
const operations = Object.entries<Json>(description.paths).flatMap(([path, item]) =>
  methods.filter((method) => item[method]).map((method) => ({ method: method.toUpperCase(), path, operation: item[method] as Json })),
)

void test('admin openapi: is OpenAPI 3.1.0, needs the token, and every operation has a name, a summary and a success response', async () => {
  assert.deepEqual([description.openapi, description.info.version], ['3.1.0', '1.0.0'])
  assert.equal((await fetch(`${app.adminUrl}/admin/v1/openapi.json`)).status, 401)
  const names = operations.map(({ operation }) => operation.operationId)
  assert.equal(new Set(names).size, names.length)
  for (const { method, path, operation } of operations) {
    const statuses = Object.keys(operation.responses)
    assert.ok(operation.operationId && operation.summary && operation.tags.length === 1, `${method} ${path}`)
    assert.ok(
      // Two operations send a browser on.
      statuses.some((status) => status.startsWith('2') || status === '302'),
      `${method} ${path}`,
    )
    for (const always of path.startsWith('/admin/v1/session/oidc') ? ['500', '503'] : ['401', '500', '503'])
      assert.ok(statuses.includes(always), `${method} ${path} ${always}`)
  }
})

void test('admin openapi: what a body that is too large and an ID that is too long get is described, and is what they get', async () => {
  const large = JSON.stringify({ name: 'x'.repeat(1_100_000) })
  for (const { method, path, operation } of operations) {
    const url = `${app.adminUrl}${path.replace(/\{\w+\}/g, 'x'.repeat(101))}`
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
    // These two receive files, which may be larger.
    if (operation.requestBody && !operation.requestBody.content['multipart/form-data']) {
      const { status } = await read(await fetch(url, { method, headers, body: large }))
      assert.deepEqual([status, '413' in operation.responses], [413, true], `${method} ${path}`)
    }
    // A token has no account.
    if (!path.includes('{') || path.startsWith('/admin/v1/me/')) continue
    const body = operation.requestBody ? '{}' : undefined
    const { status, json } = await read(await fetch(url, { method, headers, ...(body && { body }) }))
    assert.deepEqual([status, '422' in operation.responses], [422, true], `${method} ${path} ${JSON.stringify(json)}`)
  }
})

void test('admin openapi: its paths are exactly the routes', async () => {
  const routes: string[] = []
  const layer = fastify({ ajv: { customOptions: { discriminator: true } } })
  layer.addHook('onRoute', ({ method, url }) => {
    if (url.includes('*') || url === '/admin/v1' || url === '/admin/v1/' || url.endsWith('/openapi.json')) return
    for (const name of [method].flat()) if (name !== 'HEAD') routes.push(`${name} ${url.replace(/:(\w+)/g, '{$1}')}`)
  })
  await layer.register(adminRoutes, { prefix: '/admin/v1', auth: () => undefined, streams: {} } as never)
  await layer.ready()
  await layer.close()
  assert.deepEqual(operations.map(({ method, path }) => `${method} ${path}`).toSorted(), routes.toSorted())
  assert.ok(routes.length >= 30, `${routes.length} routes`)
})

/** A schema of the document with additional properties forbidden: a field that the document does not name is an error here. */
function compile(schema: Json) {
  const closed = JSON.parse(JSON.stringify({ ...schema, components: description.components }), (_key, value: Json) =>
    value?.type === 'object' && value.properties && value.additionalProperties !== true ? { ...value, additionalProperties: false } : value,
  )
  return Schema.Compile(closed)
}

void test('admin openapi: the real responses of every route match its schema', async () => {
  const answered = new Set<string>()

  function fits(method: string, path: string, answer: Answer): void {
    const found = operations.find(
      (one) => one.method === method && new RegExp(`^${one.path.replace(/\{\w+\}/g, '[^/?]+')}$`).test(`/admin/v1${path.split('?')[0]}`),
    )
    assert.ok(found, `${method} ${path} is not described`)
    const name = `${method} ${found.path} ${answer.status}`
    const described = found.operation.responses[answer.status]
    assert.ok(described, `${name} is not described: ${answer.text}`)
    answered.add(name)
    const type = answer.headers.get('content-type')?.split(';')[0]
    if (type === undefined) return assert.equal(described.content, undefined, name)
    assert.ok(described.content[type], `${name} ${type}`)
    const { schema } = described.content[type]
    const isStream = type === 'text/event-stream'
    const check = compile(isStream ? schema.contentSchema : schema)
    const values = isStream
      ? parseEvents(answer.text)
      : [type === 'text/csv' || type === 'application/x-ndjson' ? answer.text : answer.json]
    for (const value of values) assert.ok(check.Check(value), `${name}: ${JSON.stringify(value)} ${JSON.stringify(check.Errors(value)[1])}`)
  }

  async function ask(method: string, path: string, body?: Json, headers: Record<string, string> = {}): Promise<Json> {
    const init = {
      method,
      headers: { authorization: `Bearer ${adminToken}`, ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    }
    const answer = await read(await fetch(`${app.adminUrl}/admin/v1${path}`, init))
    fits(method, path, answer)
    return answer.json
  }

  const owner = await ask('POST', '/owners', { name: 'o', balance_usd: '5' })
  await ask('POST', '/owners', { name: 7 })
  await ask('GET', '/owners')
  await ask('GET', `/owners/${owner.id}`)
  await ask('GET', '/owners/own_x')
  await ask('PATCH', `/owners/${owner.id}`, { name: 'p' })
  await ask('POST', `/owners/${owner.id}/ledger`, { amount_usd: '-1', note: 'n' }, once())
  await ask('POST', `/owners/${owner.id}/ledger`, { amount_usd: '-100' }, once())

  const model = { name: 'described', kind: 'openai-compatible', base_url: app.model.baseUrl, api_key: 'k' }
  const provider = await ask('POST', '/providers', model)
  await ask('POST', '/providers', model)
  await ask('GET', '/providers')
  await ask('GET', `/providers/${provider.id}`)
  await ask('PATCH', `/providers/${provider.id}`, { api_key: 'k2' })
  await ask('POST', `/providers/${provider.id}/test`, { model: 'm' })
  await ask('GET', `/providers/${provider.id}/models`)
  app.model.script({ status: 401, body: 'no' })
  await ask('POST', `/providers/${provider.id}/test`, { model: 'm' })

  const price = { prompt_usd_per_million: '1', completion_usd_per_million: '1' }
  const agent = await ask('POST', '/agents', { owner_id: owner.id, name: 'a', system_prompt: 's', model: 'described/m', price })
  await ask('GET', '/agents')
  await ask('GET', `/agents/${agent.id}`)
  await ask('PATCH', `/agents/${agent.id}`, { temperature: 0.5 })
  await ask('GET', `/agents/${agent.id}/versions`)
  await ask('GET', `/agents/${agent.id}/prices`)
  const dayLimit = { scope: 'end_user', usd: '1', window: 'day' }
  await ask('PATCH', `/agents/${agent.id}`, { spend_limits: [dayLimit, { scope: 'agent', usd: '1', window: 'total' }] })
  await ask('GET', `/agents/${agent.id}/spending`)
  await ask('PUT', `/agents/${agent.id}/end-users/limits`, { external_user_id: 'ann', spend_limits: [dayLimit] })
  await ask('GET', `/agents/${agent.id}/end-users/limits?external_user_id=ann`)
  await ask('GET', `/agents/${agent.id}/end-users/limits?external_user_id=ben`)
  await ask('DELETE', `/agents/${agent.id}/end-users/limits?external_user_id=ann`)
  await ask('DELETE', `/agents/${agent.id}/end-users/limits?external_user_id=ann`)
  await ask('GET', `/agents/agt_x/spending`)
  const tools = [
    {
      type: 'http',
      name: 'h',
      description: 'd',
      parameters: { type: 'object' },
      method: 'GET',
      url: 'https://example.com/',
      headers: { A: 'b' },
    },
    { type: 'mcp', name: 'm', url: mcp.url },
    { type: 'builtin', name: 'now' },
  ]
  await ask('PATCH', `/agents/${agent.id}`, { tools })
  mcp.offer([tool('looked'), tool('turned')])
  await ask('POST', `/agents/${agent.id}/tools/refresh`, { approve: true })
  await ask('POST', `/agents/${agent.id}/tools/try`, { tool: 'now', arguments: {} })
  await ask('POST', `/agents/${agent.id}/tools/try`, { tool: 'none' })
  await ask('GET', '/models/price?model=demo%2Fdemo')
  await ask('GET', '/models/price?model=nobody%2Fknows')
  const document = await ask('POST', `/agents/${agent.id}/documents`, { title: 'd', text: '# Head\n\nA word is found.' })
  await ask('POST', `/agents/${agent.id}/documents`, { text: 'x' })
  await ask('GET', `/agents/${agent.id}/documents`)
  await ask('GET', `/agents/${agent.id}/documents/doc_x`)
  for (let status = 'queued'; status !== 'ready';) status = (await ask('GET', `/agents/${agent.id}/documents/${document.id}`)).status
  assert.equal((await ask('POST', `/agents/${agent.id}/search`, { query: 'word' })).data.length, 1)
  await ask('GET', `/agents/${agent.id}/documents/${document.id}/chunks`)
  await ask('GET', `/agents/${agent.id}/documents/doc_x/chunks`)
  await ask('GET', `/agents/${agent.id}/documents/${document.id}/chunks?limit=0`)
  await ask('PUT', `/agents/${agent.id}/documents/${document.id}`, { title: 'd', text: 'Another.' })
  await ask('DELETE', `/agents/${agent.id}/documents/${document.id}`)
  await ask('POST', `/agents/${agent.id}/rollback`, { version: 1 })
  await ask('DELETE', `/providers/${provider.id}`)

  const key = await ask('POST', `/agents/${agent.id}/keys`, { permission: 'full', name: 'k' })
  await ask('GET', `/agents/${agent.id}/keys`)
  await ask('PATCH', `/keys/${key.id}`, { name: null })
  const rotated = await ask('POST', `/keys/${key.id}/rotate`, { grace_seconds: 60 })
  const caller = { agentId: agent.id, apiKey: rotated.api_key, ownerId: owner.id }

  const webhook = await ask('POST', '/webhooks', { url: 'https://shop.example/', events: ['*'] })
  app.model.script([{ toolCall: { id: 'c', name: 'none', arguments: '{}' } }], 'done')
  const { json: reply } = await app.chat('hi', { user: 'ann', caller })
  app.model.script({ status: 400, body: 'no' })
  const { json: released } = await app.chat('hi', { user: 'ben', caller })
  await ask('POST', `/agents/${agent.id}/playground`, { message: 'hi' })
  await ask('POST', `/agents/${agent.id}/playground`, { message: '' })
  await ask('POST', `/agents/${agent.id}/preview`, { message: 'hi' })
  await ask('POST', `/agents/${agent.id}/preview`, { message: 'hi', version: 99 })
  await ask('GET', '/conversations')
  await ask('GET', `/conversations/${reply.conversation_id}`)
  await ask('GET', `/conversations/${reply.conversation_id}/messages`)
  await ask('GET', '/turns')
  await ask('GET', `/turns/${reply.request_id}`)
  await ask('GET', `/turns/${released.error.request_id}`)
  for (const id of [reply.request_id, released.error.request_id]) {
    await ask('GET', `/turns/${id}/trace`)
    await ask('POST', `/turns/${id}/rerun`, { overrides: { system_prompt: 'Be brief.' } })
  }
  await ask('GET', '/turns?trace_id=4bf92f3577b34da6a3ce929d0e0e4736')
  await app.chatRequest({ rating: 'down', comment: 'c', tags: ['t'] }, { caller, path: `turns/${reply.request_id}/feedback` })
  await ask('GET', '/feedback')
  await ask('GET', '/feedback?rating=good')
  await ask('GET', `/turns/${reply.request_id}`)
  await ask('PUT', `/turns/${reply.request_id}/feedback`, { rating: 'up', comment: 'c', tags: ['t'] })
  await ask('PUT', `/turns/${reply.request_id}/feedback`, { rating: 'good' })
  await ask('PUT', '/turns/none/feedback', { rating: 'up' })
  await ask('DELETE', `/turns/${reply.request_id}/feedback`)
  await ask('DELETE', '/turns/none/feedback')
  await ask('POST', `/turns/${reply.request_id}/cancel`)
  await ask('POST', '/turns/none/cancel')
  await ask('GET', `/turns/${reply.request_id}/stream`)
  await ask('GET', `/turns/${reply.request_id}/stream?after=end`)
  await ask('GET', `/turns/${reply.request_id}/stream?after=x`)
  await ask('GET', '/turns/none/stream')
  await ask('GET', `/owners/${owner.id}/ledger`)
  await ask('GET', `/owners/${owner.id}/ledger`, undefined, { accept: 'text/csv' })
  await ask('GET', '/ledger')
  await ask('GET', '/ledger', undefined, { accept: 'text/csv' })
  await ask('GET', '/usage')
  await ask('GET', '/usage?group_by=end_user,month')
  await ask('GET', '/usage?group_by=agent', undefined, { accept: 'text/csv' })
  await ask('GET', `/agents/${agent.id}/end-users`)
  await ask('GET', `/agents/${agent.id}/end-users/detail?external_user_id=ann`)
  await ask('GET', `/agents/${agent.id}/end-users/export?external_user_id=ann`)
  await ask('GET', '/attention')
  await ask('GET', '/status')
  await ask('POST', '/verify')
  await ask('GET', '/usage?bucket=week')
  await ask('DELETE', `/conversations/${reply.conversation_id}`)
  await ask('DELETE', `/agents/${agent.id}/end-users?external_user_id=ben`)
  await ask('GET', '/conversations')
  await ask('GET', '/turns')
  await ask('GET', '/audit')
  await ask('GET', '/webhooks')
  await ask('GET', `/webhooks/${webhook.id}`)
  await ask('GET', '/webhooks/whk_x')
  await ask('PATCH', `/webhooks/${webhook.id}`, { url: 'http://127.0.0.1/' })
  await ask('PATCH', `/webhooks/${webhook.id}`, { description: 'd' })
  await ask('POST', `/webhooks/${webhook.id}/rotate-secret`)
  await ask('POST', `/webhooks/${webhook.id}/test`)
  const deliveries = await ask('GET', `/webhooks/${webhook.id}/deliveries`)
  await ask('GET', `/webhooks/${webhook.id}/deliveries/${deliveries.data[0].id}`)
  await ask('POST', `/webhooks/${webhook.id}/deliveries/${deliveries.data[0].id}/retry`)
  await ask('POST', `/webhooks/${webhook.id}/deliveries/evt_x/retry`)
  await ask('POST', `/webhooks/${webhook.id}/replay`, { from: new Date(Date.now() - 60_000).toISOString(), to: '2100-01-01' })
  await ask('DELETE', `/webhooks/${webhook.id}`)
  await ask('DELETE', `/keys/${key.id}`)
  await ask('PATCH', `/keys/${key.id}`, { name: 'x' })
  await ask('DELETE', `/agents/${agent.id}`)
  await ask('DELETE', `/providers/${provider.id}`)
  await ask('GET', '/owners', undefined, { authorization: 'Bearer x' })

  async function atConsole(method: string, headers: Record<string, string>, body?: Json, path = '/session'): Promise<Answer> {
    const init = {
      method,
      headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    }
    const answer = await read(await fetch(`${app.adminUrl}/admin/v1${path}`, init))
    fits(method, path, answer)
    return answer
  }
  const [cookie = ''] = (await atConsole('POST', {}, { token: adminToken })).headers.getSetCookie()
  const browser = { 'x-turnkeep-console': '1', cookie: cookie.split(';')[0]! }
  await atConsole('GET', browser)
  await atConsole('GET', { ...browser, authorization: `Bearer ${adminToken}` })
  await atConsole('DELETE', browser)
  await atConsole('DELETE', browser)
  await atConsole('POST', {}, { token: 7 })
  for (let guess = 0; guess < 11; guess++) await atConsole('POST', {}, { token: 'x' })
  await askAsOperator()

  async function askAsOperator(): Promise<void> {
    const password = 'a lamp in the attic'
    const operator = await ask('POST', '/operators', { email: 'ada@acme.example', name: 'Ada', role: 'admin' })
    const { invitation_url: url } = await ask('POST', `/operators/${operator.id}/invite`, {})
    await ask('GET', '/operators')
    await ask('GET', `/operators/${operator.id}`)
    await ask('PATCH', `/operators/${operator.id}`, { name: 'Ada Lovelace' })
    const link = { token: new URL(url).hash.slice(1) }
    await ask('GET', '/session/options')
    await ask('POST', '/session/invitation/look-up', link)
    const accepted = await atConsole('POST', {}, { ...link, password }, '/session/invitation')
    const cookies = { 'x-turnkeep-console': '1', cookie: accepted.headers.getSetCookie()[0]!.split(';')[0]! }
    const own = async (method: string, path: string, body?: Json): Promise<Json> => (await atConsole(method, cookies, body, path)).json
    await own('GET', '/me')
    await own('PATCH', '/me', { name: 'Ada' })
    await own('PUT', '/me/password', { current_password: password, new_password: 'two lamps in the attic' })
    const device = new WebAuthnEmulator()
    const created = device.createJSON(consoleOrigin, (await own('POST', '/me/passkeys/options', {})) as never)
    const passkey = await own('POST', '/me/passkeys', { name: 'Laptop', response: created })
    await own('GET', '/me/passkeys')
    const response = device.getJSON(consoleOrigin, (await ask('POST', '/session/passkey/options', {})) as never)
    await atConsole('POST', {}, { response }, '/session/passkey')
    await atConsole('POST', {}, { email: 'ada@acme.example', password }, '/session')
    await own('DELETE', `/me/passkeys/${passkey.id}`)
    const token = `svc_recover_${createSignedTokens([app.encryptionKey]).sign('recovery', Date.now() + 60_000)}`
    await atConsole('POST', {}, { token, email: 'grace@acme.example', password }, '/session/recovery')
    await atConsole('POST', {}, { email: 'grace@acme.example', password }, '/session')
    const { data } = await own('GET', '/me/sessions')
    await own('DELETE', `/me/sessions/${data[0].id}`)
    for (const path of ['/session/oidc', '/session/oidc/callback'])
      fits('GET', path, await read(await fetch(`${app.adminUrl}/admin/v1${path}`, { redirect: 'manual' })))
    await ask('DELETE', `/operators/${operator.id}/sessions`)
    const program = await ask('POST', '/tokens', { name: 'CI', role: 'viewer' })
    await ask('GET', '/tokens')
    await ask('GET', `/tokens/${program.id}`)
    await ask('DELETE', `/tokens/${program.id}`)
    await ask('DELETE', `/operators/${operator.id}`)
  }

  const successes = operations.flatMap(({ method, path, operation }) =>
    Object.keys(operation.responses)
      .filter((status) => status.startsWith('2'))
      .map((status) => `${method} ${path} ${status}`),
  )
  assert.deepEqual(
    successes.filter((name) => !answered.has(name)),
    [],
    'these were not asked',
  )
})
