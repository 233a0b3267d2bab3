/** No secret appears in a response that does not need it, in the log, or in any byte of the data folder. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { test } from 'node:test'
import { startModelServer } from '../support/model-server.ts'
import { startServer } from '../support/server-process.ts'
import { makeStoreUnderTest } from '../support/store-under-test.ts'
import { makeFolder, startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

void test('security: no database file contains a provider key or an API secret, which are stored encrypted or hashed', async () => {
  await using app = await startTestApp()
  const canary = `sk-canary-${randomUUID()}`
  const provider = await app.made('POST', '/providers', {
    name: 'sealed',
    kind: 'openai-compatible',
    base_url: app.model.baseUrl,
    api_key: canary,
  })
  const rotated = `${canary}-rotated`
  await app.made('PATCH', `/providers/${provider.id}`, { api_key: rotated })
  await app.made('POST', `/providers/${provider.id}/test`, { model: 'm' })
  await app.chat(`hi, ${canary.toUpperCase()}`)
  const secret = app.caller.apiKey.split('.')[1]!

  let reported = 0
  for await (const { name: file, content } of app.data.files()) {
    if (content.includes(canary.toUpperCase())) reported += 1
    for (const hidden of [canary, secret, 'model-key']) assert.equal(content.indexOf(hidden), -1, `${file} holds a secret`)
  }
  assert.ok(reported > 0, 'the files with the rows were read')
})

void test('security: neither the log nor standard output contains a key or token, even when a provider echoes its key', async (t) => {
  const folder = await makeFolder()
  const model = await startModelServer()
  const canary = 'sk-canary-77aa01c4e2'
  const token = 'canary-admin-token-5521'
  const data = await makeStoreUnderTest(folder)
  const server = await startServer({
    TURNKEEP_DATA_DIR: folder,
    TURNKEEP_ADMIN_TOKEN: token,
    TURNKEEP_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    TURNKEEP_LOG_LEVEL: 'trace',
    ...data.env,
  })
  t.after(async () => {
    await server.kill()
    await model.close()
    await data.drop()
    await rm(folder, { recursive: true, force: true })
  })
  const post = async (path: string, body: Json, authorization = `Bearer ${token}`): Promise<Response> =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', 'idempotency-key': 'k' },
      body: JSON.stringify(body),
    })
  const made = async (path: string, body: Json): Promise<Json> => (await post(`/admin/v1${path}`, body)).json() as Promise<Json>

  const provider = await made('/providers', { name: 'p', kind: 'openai-compatible', base_url: model.baseUrl, api_key: canary })
  const owner = await made('/owners', { name: 'o', balance_usd: '1' })
  const price = { prompt_usd_per_million: '1', completion_usd_per_million: '1' }
  const agent = await made('/agents', { owner_id: owner['id'], name: 'a', system_prompt: 's', model: 'p/m', price })
  const key = await made(`/agents/${agent['id']}/keys`, { permission: 'full' })
  const refusal = { status: 401, body: `the key ${canary} is wrong` }
  model.script(refusal, refusal)
  await made(`/providers/${provider['id']}/test`, { model: 'm' })
  const chat = await post(`/v1/agents/${agent['id']}/chat`, { external_user_id: 'u', message: 'hi' }, `Bearer ${key['api_key']}`)
  assert.equal(chat.status, 500)
  await chat.text()
  await post('/admin/v1/owners', { name: 'x' }, 'Bearer wrong-token-9c')

  const said = JSON.stringify(server.log) + server.stdout.join('\n')
  assert.match(said, /provider_401/, 'the kind of the cause is in the log')
  assert.ok(!said.includes('is wrong'), 'the words of the provider are not')
  for (const hidden of [canary, token, 'wrong-token-9c', key['api_key'].split('.')[1]]) assert.ok(!said.includes(hidden), hidden)
})
