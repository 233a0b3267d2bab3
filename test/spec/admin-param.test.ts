/**
 * `error.param` of the admin API names the field that is refused by what is behind the schemas: amounts, times, names that are taken, what does
 * not exist. test/contract/refused-fields.test.ts refuses every field by its schema.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { once, startAdminApp } from '../support/admin-app.ts'
import { gate } from '../support/model-server.ts'
import { adminToken, read } from '../support/test-app.ts'
import type { Answer, Json } from '../support/test-app.ts'

const app = await startAdminApp()
const { ownerId, agentId } = app.caller
const scripted: Json = (await app.made('GET', '/providers'))['data'][0]
await app.made('POST', '/providers', { name: 'other', kind: 'anthropic', api_key: 'k' })
const foreign = await app.makeCaller()
const webhook = await app.made('POST', '/webhooks', { url: 'https://shop.example/hook', events: ['*'] })
await app.made('POST', '/operators', { email: 'ada@acme.example', name: 'Ada', role: 'viewer' })
await app.chat('hello')
const [turn]: Json[] = (await app.made('GET', '/turns'))['data']

const agent = { owner_id: ownerId, name: 'a', system_prompt: '', model: 'demo/demo' }
const http = { type: 'http', name: 'look', description: 'd', parameters: { type: 'object' }, method: 'GET', url: 'https://a.example/' }
const mcp = { type: 'mcp', name: 'shop', url: 'https://mcp.example/' }
const token = { name: 't', role: 'viewer' }
const operator = { email: 'grace@acme.example', name: 'Grace', role: 'viewer' }
const hook = { url: 'https://shop.example/hook', events: ['turn.completed'] }
const limit = { scope: 'end_user', usd: '1', window: 'day' }
const price = { prompt_usd_per_million: '1', completion_usd_per_million: '1' }
const agents = `/agents/${agentId}`
const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString()

const refused: [method: string, path: string, body: Json | undefined, param: string, code?: 'conflict'][] = [
  ['POST', '/owners', { name: 'o', balance_usd: '1e3' }, 'balance_usd'],
  ['POST', '/owners', { name: 'o', balance_usd: '-1' }, 'balance_usd'],
  ['PATCH', `/owners/${ownerId}`, { low_balance_usd: '-1' }, 'low_balance_usd'],
  ['PATCH', `/owners/${ownerId}`, { nonsense: 1 }, 'nonsense'],
  ['POST', `/owners/${ownerId}/ledger`, { amount_usd: '0' }, 'amount_usd'],
  ['POST', `/owners/${ownerId}/ledger`, { amount_usd: '-1000' }, 'amount_usd', 'conflict'],
  ['POST', `/owners/${ownerId}/ledger`, { amount_usd: '1000000000' }, 'amount_usd', 'conflict'],
  ['POST', '/providers', { name: 'demo', kind: 'openai', api_key: 'k' }, 'name'],
  ['POST', '/providers', { name: 'scripted', kind: 'openai', api_key: 'k' }, 'name', 'conflict'],
  ['POST', '/providers', { name: 'p', kind: 'openai-compatible', api_key: 'k' }, 'base_url'],
  ['POST', '/providers', { name: 'p', kind: 'openai', api_key: 'k', base_url: 'ftp://a' }, 'base_url'],
  ['POST', '/providers', { name: 'p', kind: 'openai', api_key: 'k', base_url: 'https://a.example/?api_key=1' }, 'base_url'],
  ['PATCH', `/providers/${scripted['id']}`, { base_url: 'https://a.example/v1' }, 'api_key'],
  ['PATCH', `/providers/${scripted['id']}`, { name: 'renamed' }, 'name', 'conflict'],
  ['POST', '/agents', { ...agent, owner_id: 'own_unknown' }, 'owner_id'],
  ['POST', '/agents', { ...agent, model: 'unknown/x' }, 'model'],
  ['POST', '/agents', { ...agent, model: 'scripted/x' }, 'price'],
  ['POST', '/agents', { ...agent, price: { ...price, prompt_usd_per_million: 'x' } }, 'price.prompt_usd_per_million'],
  ['POST', '/agents', { ...agent, price: { ...price, completion_usd_per_million: '-1' } }, 'price.completion_usd_per_million'],
  ['POST', '/agents', { ...agent, price: { ...price, cached_prompt_usd_per_million: 'x' } }, 'price.cached_prompt_usd_per_million'],
  ['POST', '/agents', { ...agent, price: { ...price, nonsense: '1' } }, 'price.nonsense'],
  ['PATCH', agents, { knowledge: { embedding_model: 'unknown/x' } }, 'knowledge.embedding_model'],
  ['PATCH', agents, { knowledge: { embedding_model: 'other/x' } }, 'knowledge.embedding_model'],
  ['PATCH', agents, { knowledge: { language: 'klingon' } }, 'knowledge.language'],
  ['PATCH', agents, { model: 'unknown/x' }, 'model'],
  ['PATCH', agents, { spend_limits: [{ ...limit, usd: '-1' }] }, 'spend_limits.0.usd'],
  ['PATCH', agents, { spend_limits: [limit, limit] }, 'spend_limits.1'],
  ['PUT', `${agents}/end-users/limits`, { external_user_id: 'u', spend_limits: [{ ...limit, scope: 'agent' }] }, 'spend_limits.0.scope'],
  ['PATCH', agents, { tools: [http, { ...mcp, url: 'https://10.0.0.1/' }] }, 'tools.1.url'],
  ['PATCH', agents, { tools: [http, http] }, 'tools.1.name'],
  ['PATCH', agents, { tools: [{ ...http, name: 'a b' }] }, 'tools.0.name'],
  ['PATCH', agents, { tools: [{ ...http, name: 'a'.repeat(65) }] }, 'tools.0.name'],
  ['PATCH', agents, { tools: [{ ...http, description: 'ä'.repeat(8000) }] }, 'tools.0.description'],
  ['PATCH', agents, { tools: [{ ...http, parameters: { type: 'string' } }] }, 'tools.0.parameters'],
  ['PATCH', agents, { tools: [{ ...http, secrets: { key: 'abc' } }] }, 'tools.0.secrets'],
  ['PATCH', agents, { tools: [{ ...http, secrets: { key: null } }] }, 'tools.0.secrets'],
  ['PATCH', agents, { tools: [{ ...http, url: 'https://{host}.example/' }] }, 'tools.0.url'],
  ['PATCH', agents, { tools: [{ ...http, headers: { Host: 'x' } }] }, 'tools.0.headers'],
  ['PATCH', agents, { tools: [{ ...http, headers: { 'X-Key': null } }] }, 'tools.0.headers'],
  ['PATCH', agents, { tools: [{ ...http, price_usd: 'x' }] }, 'tools.0.price_usd'],
  ['PATCH', agents, { tools: [{ type: 'builtin', name: 'now', price_usd: '-1' }] }, 'tools.0.price_usd'],
  ['POST', `${agents}/tools/try`, { tool: 'unknown' }, 'tool'],
  ['POST', `${agents}/tools/try`, { tool: 'look', definition: { ...http, url: 'https://10.0.0.1/' } }, 'definition.url'],
  ['POST', `${agents}/tools/try`, { tool: 'look', definition: { ...http, price_usd: '-1' } }, 'definition.price_usd'],
  ['POST', `${agents}/tools/refresh`, { approve: true, definition: mcp }, 'definition'],
  ['POST', `${agents}/tools/refresh`, { definition: { ...mcp, headers: { Accept: 'x' } } }, 'definition.headers'],
  ['POST', `${agents}/documents`, {}, 'text'],
  ['POST', `${agents}/documents`, { text: 'x' }, 'title'],
  ['POST', `${agents}/documents`, { text: 'x', title: 't', url: 'https://a.example/' }, 'url'],
  ['POST', `${agents}/documents`, { url: 'https://10.0.0.1/' }, 'url'],
  ['POST', '/webhooks', { ...hook, url: 'shop' }, 'url'],
  ['POST', '/webhooks', { ...hook, url: 'https://10.0.0.1/' }, 'url'],
  ['POST', '/webhooks', { ...hook, events: ['*', 'turn.completed'] }, 'events'],
  ['POST', '/webhooks', { ...hook, events: ['turn.unknown'] }, 'events.0'],
  ['POST', '/webhooks', { ...hook, owner_id: 'own_unknown' }, 'owner_id'],
  ['POST', '/webhooks', { ...hook, agent_id: 'agt_unknown' }, 'agent_id'],
  ['PATCH', `/webhooks/${webhook['id']}`, { owner_id: ownerId, agent_id: foreign.agentId }, 'agent_id'],
  ['POST', `/webhooks/${webhook['id']}/replay`, { from: 'x', to: '2026-01-01' }, 'from'],
  ['POST', `/webhooks/${webhook['id']}/replay`, { from: daysAgo(1), to: '2026-02-31' }, 'to'],
  ['POST', `/webhooks/${webhook['id']}/replay`, { from: daysAgo(1), to: daysAgo(2) }, 'from'],
  ['POST', `/webhooks/${webhook['id']}/replay`, { from: daysAgo(40), to: daysAgo(2) }, 'from'],
  ['POST', '/tokens', { ...token, owner_id: 'own_unknown' }, 'owner_id'],
  ['POST', '/tokens', { ...token, agent_id: 'agt_unknown' }, 'agent_id'],
  ['POST', '/tokens', { ...token, expires_at: '2020-01-01' }, 'expires_at'],
  ['POST', '/tokens', { ...token, expires_at: 'tomorrow' }, 'expires_at'],
  ['POST', '/operators', { ...operator, email: 'ada' }, 'email'],
  ['POST', '/operators', { ...operator, email: 'ada@acme.example' }, 'email', 'conflict'],
  ['POST', '/operators', { ...operator, owner_id: 'own_unknown' }, 'owner_id'],
  ['POST', `${agents}/preview`, { message: 'x', version: 99 }, 'version'],
  ['POST', `${agents}/preview`, { message: 'x'.repeat(32_001) }, 'message'],
  ['POST', `${agents}/preview`, { message: 'x', before_turn: 't', external_user_id: 'u' }, 'before_turn'],
  ['POST', `${agents}/preview`, { message: 'x', overrides: { model: 'unknown/x' } }, 'overrides.model'],
  ['POST', `${agents}/playground`, { message: 'x'.repeat(32_001) }, 'message'],
  ['POST', `/turns/${turn!['request_id']}/rerun`, { overrides: { model: 'unknown/x' } }, 'overrides.model'],
  ['GET', '/owners?limit=0', undefined, 'limit'],
  ['GET', '/owners?cursor=nonsense', undefined, 'cursor'],
  ['GET', '/owners?page=2', undefined, 'page'],
  ['GET', `${agents}/end-users?cursor=WyJ4IiwieCJd`, undefined, 'cursor'],
  ['GET', '/audit?from=2026-02-31', undefined, 'from'],
  ['GET', '/audit?from=2026-02-02&to=2026-02-01', undefined, 'from'],
  ['GET', '/conversations?from=2026-02-02&to=2026-02-01', undefined, 'from'],
  ['GET', '/ledger?from=2026-02-02&to=2026-02-01', undefined, 'from'],
  ['GET', '/turns?external_user_id=u', undefined, 'external_user_id'],
  ['GET', '/usage?group_by=week', undefined, 'group_by'],
  ['GET', '/usage?group_by=agent&bucket=day', undefined, 'bucket'],
  ['GET', '/usage?limit=5', undefined, 'limit'],
  ['GET', '/usage?cursor=x', undefined, 'cursor'],
  ['GET', '/usage?from=2026-02-02&to=2026-02-01', undefined, 'from'],
  ['GET', '/usage?from=2020-02-02&to=2026-02-01', undefined, 'from'],
  ['GET', `/turns/${turn!['request_id']}/stream?after=x`, undefined, 'after'],
]

function named({ status, json, text }: Answer, param: string, code = 'validation_error'): void {
  assert.deepEqual([status, json['error']?.code, json['error']?.param], [code === 'conflict' ? 409 : 422, code, param], text)
}

for (const [method, path, body, param, code] of refused)
  void test(`admin.param: ${method} ${path.replace(/_\w{26}/, '_…').slice(0, 60)} names ${param}`, async () =>
    named(await app.admin(method, path, body, once()), param, code))

void test('admin.param: headers are named, and so is the field of a link', async () => {
  const ledger = `/owners/${ownerId}/ledger`
  named(await app.admin('POST', ledger, { amount_usd: '1' }), 'Idempotency-Key')
  const { invitation_url: url } = await app.made('POST', '/operators', { ...operator, email: 'lin@acme.example' })
  const link = new URL(url).hash.slice(1)
  named(await app.admin('POST', '/session/invitation', { token: link, password: 'too short' }), 'password')
  const headers = { 'last-event-id': 'x' }
  named(await app.admin('GET', `/turns/${turn!['request_id']}/stream`, undefined, headers), 'Last-Event-ID')
})

async function upload(parts: [name: string, value: string | File][]): Promise<Answer> {
  const form = new FormData()
  for (const [name, value] of parts) form.append(name, value)
  const headers = { authorization: `Bearer ${adminToken}` }
  return read(await fetch(`${app.adminUrl}/admin/v1${agents}/documents`, { method: 'POST', headers, body: form }))
}

void test('admin.param: a file, its title and an unknown part are named', async () => {
  const file = new File(['# x'], 'x.md')
  named(await upload([['file', new File(['x'], 'x.exe')]]), 'file')
  named(await upload([['file', new File([''], 'x.md')]]), 'file')
  named(await upload([['file', 'no file']]), 'file')
  named(await upload([['title', 't']]), 'file')
  const long: [string, string] = ['title', 'x'.repeat(501)]
  named(await upload([long, ['file', file]]), 'title')
  named(
    await upload([
      ['other', 'x'],
      ['file', file],
    ]),
    'other',
  )
})

void test('admin.param: an error about no field has no param', async () => {
  const held = gate()
  app.model.script([held, 'x'])
  const running = app.chat('hold', { user: 'held' })
  await held.reached
  const [{ request_id: id }] = (await app.made('GET', '/turns?status=running'))['data']
  const answers = [
    await app.admin('PUT', `/turns/${id}/feedback`, { rating: 'up' }),
    await app.admin('GET', '/owners/own_unknown'),
    await app.admin('POST', '/owners', [] as unknown as Json),
    await app.admin('POST', `/owners`, { name: 'o', ['a b']: 1 }),
  ]
  held.open()
  await running
  for (const { json, text } of answers) assert.deepEqual(Object.keys(json['error']), ['code', 'message', 'request_id'], text)
})

void test('admin.param: the envelope of the public API has no param', async () => {
  const answers = [await app.chat(''), await app.chat('x'.repeat(32_001)), await app.chat('x', { idempotencyKey: 'x'.repeat(256) })]
  for (const { status, json, text } of answers) {
    assert.equal(status, 422, text)
    assert.deepEqual(Object.keys(json['error']), ['code', 'message', 'request_id'], text)
  }
})
