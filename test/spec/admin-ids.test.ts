/** IDs and names that no database can store: the same error on every store, and never 500. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

const app = await startTestApp()
after(() => app.close())

void test('text.well-formed: an ID with U+0000 in the path is 404 on every route', async () => {
  const { paths } = await app.made('GET', '/openapi.json')
  let asked = 0
  for (const [path, methods] of Object.entries(paths as Json)) {
    if (!path.includes('{')) continue
    for (const method of Object.keys(methods as Json)) {
      const url = path.slice('/admin/v1'.length).replaceAll(/\{\w+\}/g, 'x%00')
      const { status, json } = await app.admin(method.toUpperCase(), url)
      assert.equal(status, 404, `${method} ${path}: ${JSON.stringify(json)}`)
      asked++
    }
  }
  assert.ok(asked > 50, `${asked} routes`)
})

void test('text.well-formed: the ID of a conversation with U+0000 is 404 for a caller, as any other that does not exist', async () => {
  const { agentId, apiKey } = app.caller
  for (const id of ['%00', 'conv_x%00']) {
    const response = await fetch(`${app.url}/v1/agents/${agentId}/conversations/${id}/messages`, {
      headers: { authorization: `Bearer ${apiKey}` },
    })
    assert.deepEqual([response.status, ((await response.json()) as Json)['error'].code], [404, 'not_found'])
  }
})

void test('text.well-formed: a provider with U+0000 in the name of a model is refused with the field', async () => {
  const price = await app.admin('GET', '/models/price?model=%00a%2Fx')
  assert.deepEqual([price.status, price.json['error']?.code], [422, 'validation_error'])
  const changed = await app.admin('PATCH', `/agents/${app.caller.agentId}`, { model: 'a\0/b' })
  assert.deepEqual([changed.status, changed.json['error']?.code], [422, 'validation_error'])
  assert.match(changed.json['error'].message, /model/)
})
