/** Which field of a form of the console a refusal of a real server belongs to. test/browser/refused-fields.test.ts shows it in the forms. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { failureOf } from '../../packages/console/src/api/client.ts'
import type { ApiFailure } from '../../packages/console/src/api/client.ts'
import { refusalOfKey } from '../../packages/console/src/pages/keys/key-form.ts'
import { refusalOf, relocated, within } from '../../packages/console/src/show/refusal.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

const app = await startTestApp()
after(() => app.close())
const { agentId, ownerId } = app.caller

async function failureAt(method: string, path: string, body: Json): Promise<ApiFailure> {
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
  return failureOf(await fetch(`${app.adminUrl}/admin/v1${path}`, { method, headers, body: JSON.stringify(body) }))
}

// As in the form of an agent, whose model has two fields.
const fieldPaths = [
  'owner_id',
  'model.provider',
  'model.id',
  'price.prompt_usd_per_million',
  'price.completion_usd_per_million',
  'history.max_tokens',
  'knowledge.embedding_model',
]
const agent = { owner_id: ownerId, name: 'a', system_prompt: '', model: 'demo/demo' }
const ofAgents: [body: Json, field: string][] = [
  [{ ...agent, owner_id: 'own_unknown' }, 'owner_id'],
  [{ ...agent, model: 'unknown/x' }, 'model.provider'],
  [{ ...agent, model: 'scripted/x' }, 'price.prompt_usd_per_million'],
  [{ ...agent, knowledge: { embedding_model: 'unknown/x' } }, 'knowledge.embedding_model'],
  [{ ...agent, history: { max_tokens: -1 } }, 'history.max_tokens'],
]
for (const [body, field] of ofAgents)
  void test(`console: admin.param: a refusal is shown at ${field} of the form of an agent`, async () => {
    const failure = await failureAt('POST', '/agents', body)
    const refusal = refusalOf(failure, fieldPaths)
    assert.deepEqual([refusal.field, refusal.at(field), refusal.rest], [field, failure.message, null])
  })

void test('console: admin.param: a part of a field belongs to the field, and fields of a key have names of their own', async () => {
  const rate = await failureAt('POST', `/agents/${agentId}/keys`, { permission: 'full', rate_limit: { limit: 0, window_seconds: 1 } })
  assert.equal(refusalOfKey(rate).field, 'rate_limit.limit')
  const events = await failureAt('POST', '/webhooks', { url: 'https://shop.example/', events: ['turn.unknown'] })
  assert.equal(refusalOf(events, ['url', 'events']).field, 'events')
})

void test('console: admin.param: a refusal of another field, and one of none, is shown below the form', async () => {
  const taken = await failureAt('POST', '/providers', { name: 'scripted', kind: 'openai', api_key: 'k' })
  assert.equal(refusalOf(taken, ['name']).rest, null)
  for (const [error, fields] of [
    [taken, ['base_url']],
    [await failureAt('PATCH', '/owners/own_unknown', { name: 'o' }), ['name']],
    [new Error('offline'), ['name']],
  ] as const) {
    const { field, at, rest } = refusalOf<string>(error, fields)
    assert.deepEqual([field, at('name'), rest], [undefined, undefined, error])
  }
})

void test('console: admin.param: in the form of one tool, paths and messages start at the tool', async () => {
  const failure = await failureAt('PATCH', `/agents/${agentId}`, { tools: [{ type: 'builtin', name: 'now', price_usd: 'x' }] })
  const ofTool = relocated(failure, within('tools.0')) as ApiFailure
  assert.deepEqual([ofTool.param, ofTool.status, ofTool.requestId], ['price_usd', 422, failure.requestId])
  assert.match(ofTool.message, /^price_usd must be a decimal/)
  assert.equal((relocated(failure, within('tools.1')) as ApiFailure).param, null)
})
