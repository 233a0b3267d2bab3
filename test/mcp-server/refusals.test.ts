/** What POST /mcp refuses: as HTTP before the message is read, as JSON-RPC for a wrong message, and as a result of the tool for a turn. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gate } from '../support/model-server.ts'
import { read, startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp } from '../support/test-app.ts'
import { startTestLayer } from '../support/test-http-layer.ts'
import { connect, errorOf, post } from './clients.ts'

const ada = { external_user_id: 'ada' }
const makeKey = async (app: TestApp, fields: Json): Promise<string> =>
  (await app.made('POST', `/agents/${app.caller.agentId}/keys`, { permission: 'full', ...fields })).api_key

/** A raw body. */
async function send(server: { url: string }, body: string, headers: Record<string, string> = {}): Promise<Answer> {
  const usual = { authorization: 'Bearer good', 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  return read(await fetch(`${server.url}/mcp`, { method: 'POST', headers: { ...usual, ...headers }, body }))
}

void test('order.authentication: the SDK gets 401 with WWW-Authenticate for a wrong key, and 403 with the reason for a key without MCP', async () => {
  await using app = await startTestApp()
  const wrong = await read(await post(app, 'svc_live_wrong.wrong', 'ping'))
  assert.deepEqual([wrong.status, wrong.headers.get('www-authenticate'), wrong.json.error.code], [401, 'Bearer', 'invalid_api_key'])
  await assert.rejects(connect(app, 'svc_live_wrong.wrong'), /invalid_api_key/)

  await assert.rejects(connect(app, await makeKey(app, { mcp: false })), /permission_denied.*may not use MCP.*setting mcp of the key/)
  await assert.rejects(connect(app, await makeKey(app, { permission: 'read-only' })), /permission_denied.*read-only/)
})

void test('order.permission: mcp false of a key refuses only MCP, and takes effect for a client that is connected', async () => {
  await using app = await startTestApp()
  const { data } = await app.made('GET', `/agents/${app.caller.agentId}/keys`)
  await using mcp = await connect(app)
  await mcp.call({ message: 'Hi', ...ada })
  await app.made('PATCH', `/keys/${data[0].id}`, { mcp: false })
  await assert.rejects(mcp.call({ message: 'Hi', ...ada }), /may not use MCP/)
  assert.equal((await app.chat('Hi')).status, 200)
})

void test('order.rate-limit: every message to /mcp spends one unit before its body is read, and a 429 has Retry-After', async () => {
  await using app = await startTestApp({ key: { rate_limit: { limit: 3, window_seconds: 60 } } })
  const key = app.caller.apiKey
  for (const method of ['ping', 'tools/list']) assert.equal((await post(app, key, method)).status, 200)
  // Not JSON, so no tool is called.
  assert.equal((await send(app, '{', { authorization: `Bearer ${key}` })).status, 400)
  const refused = await read(await post(app, key, 'ping'))
  assert.deepEqual([refused.status, refused.json.error?.code], [429, 'rate_limit_exceeded'])
  assert.match(refused.headers.get('retry-after')!, /^\d+$/)
  assert.equal(refused.headers.get('x-ratelimit-remaining'), '0')
})

void test('mcp.origin: a page of another origin is refused before its key is looked up; this service and this machine are not', async () => {
  await using layer = await startTestLayer({ publicUrl: 'https://chat.example' })
  const status = async (origin: string): Promise<number> => (await post(layer, 'good', 'ping', {}, { origin })).status
  for (const origin of ['https://evil.example', 'https://chat.example.evil.example', 'http://chat.example', 'null', 'localhost'])
    assert.equal(await status(origin), 403, origin)
  assert.equal(layer.spent, 0)
  for (const origin of ['https://chat.example', 'http://localhost:6274', 'http://127.0.0.1:1', 'http://[::1]:1'])
    assert.equal(await status(origin), 200, origin)
  const { json } = await send(layer, '{}', { origin: 'https://evil.example', authorization: 'Bearer bad' })
  assert.match(json.error.message, /API key must never reach a browser/)
})

void test('order.route: GET and DELETE of /mcp are 405, before authentication', async () => {
  await using layer = await startTestLayer()
  for (const method of ['GET', 'DELETE']) {
    const response = await fetch(`${layer.url}/mcp`, { method, headers: { accept: 'text/event-stream' } })
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'POST'])
  }
})

void test('order.body-size: a body over 1 MiB to /mcp is 413', async () => {
  await using layer = await startTestLayer()
  const answer = await send(layer, `"${'x'.repeat(1024 * 1024)}"`)
  assert.deepEqual([answer.status, answer.json.error.code], [413, 'payload_too_large'])
})

void test('mcp.tool: what is not one JSON-RPC message, or names no tool, is a JSON-RPC error', async () => {
  await using layer = await startTestLayer()
  const error = async (body: string, headers: Record<string, string> = {}): Promise<[number, number, string]> => {
    const { status, text } = await send(layer, body, headers)
    const { error: found = { code: 0, message: 'no error' } } = JSON.parse(/^(?:event: message\ndata: )?(\{.*\})/.exec(text)![1]!)
    return [status, found.code, found.message]
  }
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
  assert.deepEqual((await error('{')).slice(0, 2), [400, -32_700])
  assert.deepEqual((await error('')).slice(0, 2), [400, -32_700])
  assert.deepEqual((await error('{"id":1,"id":2}')).slice(0, 2), [400, -32_700])
  const twice = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test-agent","arguments":{"message":"a","message":"b"}}}`
  assert.deepEqual(await error(twice), [400, -32_700, 'The body contains the same field more than once.'])
  assert.deepEqual((await error(ping, { 'content-type': 'text/plain' })).slice(0, 2), [400, -32_700])
  assert.deepEqual((await error(ping, { 'content-encoding': 'gzip' })).slice(0, 2), [400, -32_700])
  assert.deepEqual((await error(`[${ping},${ping}]`)).slice(0, 2), [400, -32_600])
  assert.equal((await error('{"id":1}'))[0], 400)
  assert.deepEqual((await error('{"jsonrpc":"2.0","id":1,"method":"nothing"}'))[1], -32_601)
  assert.deepEqual((await error('{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}')).slice(0, 2), [404, -32_601])
  const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'other', arguments: {} } })
  assert.deepEqual((await error(call)).slice(1), [-32_602, 'Unknown tool. This server has one tool: test-agent. List the tools again.'])
  assert.equal(layer.started.length, 0)
})

void test('order.validation idempotency.key-text: wrong arguments are a result with isError that names the argument, and start nothing', async () => {
  await using layer = await startTestLayer()
  await using mcp = await connect({ url: layer.url })
  const text = async (args: Record<string, unknown>): Promise<string> => {
    const result = await mcp.call(args)
    assert.equal(result.isError, true, JSON.stringify(args))
    assert.deepEqual(errorOf(result), { code: 'validation_error' })
    return result.content[0]!.text
  }
  const hi = { message: 'Hi', ...ada }
  assert.equal(await text(ada), 'validation_error: message is required.')
  for (const none of [{}, { external_user_id: null }])
    assert.match(await text({ message: 'Hi', ...none }), /external_user_id is required.*default_external_user_id/)
  for (const wrong of [1, '', 'x'.repeat(1_000_001), 'a\0', '\ud800']) assert.match(await text({ ...hi, message: wrong }), /: message must/)
  assert.equal(await text({ ...ada, message: null }), 'validation_error: message is required.')
  for (const wrong of [1, '', 'x'.repeat(256)]) assert.match(await text({ ...hi, external_user_id: wrong }), /: external_user_id must/)
  for (const wrong of [1, '', 'x'.repeat(256), 'a\nb', ' a', 'a '])
    assert.match(await text({ ...hi, idempotency_key: wrong }), /: idempotency_key must/)
  assert.match(await text({ ...hi, userid: 'x' }), /unknown field\. The fields are message, external_user_id, idempotency_key\.$/)
  assert.equal(layer.started.length, 0)
  // 255 characters outside of the BMP are 510 code units.
  assert.equal((await mcp.call({ ...hi, external_user_id: '🌧'.repeat(255) })).isError, undefined)
})

void test('mcp.tool: a key with a default end user needs no external_user_id, and one that is given counts', async () => {
  await using app = await startTestApp({ key: { default_external_user_id: 'desk' } })
  await using mcp = await connect(app)
  assert.deepEqual((await mcp.client.listTools()).tools[0]!.inputSchema.required, ['message'])
  await mcp.call({ message: 'Hi' })
  await mcp.call({ message: 'Hi', ...ada })
  assert.deepEqual([(await app.messages('desk')).length, (await app.messages('ada')).length], [2, 2])
})

void test('mcp.tool: a turn without a reply is a result with isError: the code, what to do, and the key that makes a retry safe', async () => {
  await using app = await startTestApp({ balanceUsd: '0.00001' })
  await using mcp = await connect(app)
  await mcp.client.listTools()
  const poor = await mcp.call({ message: 'Hi', ...ada })
  assert.equal(poor.isError, true)
  assert.match(poor.content[0]!.text, /^insufficient_balance: .*Nothing was charged\.\nThe operator of the agent has to add/)

  await app.made('POST', `/owners/${app.caller.ownerId}/ledger`, { amount_usd: '1', note: 'test' }, { 'idempotency-key': 'fund' })
  const held = gate()
  app.model.script([held, 'one'])
  const first = mcp.call({ message: 'one', ...ada })
  await held.reached
  const busy = await mcp.call({ message: 'two', ...ada })
  assert.equal(errorOf(busy).code, 'conversation_busy')
  const [, key] = /^conversation_busy: .*\nCall the tool again in 2 s, with the same message and idempotency_key "(.+)"\.$/.exec(
    busy.content[0]!.text,
  )!
  held.open()
  await first
  assert.equal((await mcp.call({ message: 'two', ...ada, idempotency_key: key })).isError, undefined)

  app.model.script({ status: 400, body: { error: { message: 'secret words' } } })
  const failed = await mcp.call({ message: 'three', ...ada, idempotency_key: 'three' })
  const { code, request_id: requestId } = errorOf(failed)
  assert.ok(failed.isError && typeof requestId === 'string', JSON.stringify(failed))
  assert.ok(failed.content[0]!.text.startsWith(`${code}: `) && failed.content[0]!.text.endsWith(`\nrequest_id: ${requestId}`))
  assert.doesNotMatch(JSON.stringify(failed), /secret words/)

  await app.made('PATCH', `/agents/${app.caller.agentId}`, { enabled: false })
  assert.match((await mcp.call({ message: 'four', ...ada })).content[0]!.text, /^agent_disabled: .*\nAsk the operator/)
  await app.made('DELETE', `/agents/${app.caller.agentId}`)
  assert.match((await mcp.call({ message: 'five', ...ada })).content[0]!.text, /^agent_not_found: .*\nAsk the operator/)
  await app.verify()
})

void test('mcp.tool: an internal error shows nothing of the inside and is logged', async () => {
  const begin = (): never => {
    throw new Error('secret words')
  }
  await using layer = await startTestLayer({ begin })
  await using mcp = await connect({ url: layer.url })
  await assert.rejects(mcp.call({ message: 'Hi', ...ada }), (error: Error) => {
    assert.match(error.message, /internal_error/)
    assert.doesNotMatch(error.message, /secret words/)
    return true
  })
  assert.deepEqual(
    layer.logged.map(({ msg }) => msg),
    ['MCP request failed: internal error'],
  )
})

void test('mcp.tool: the versions that the official SDK supports', async () => {
  await using layer = await startTestLayer()
  for (const version of ['2025-11-25', '2025-06-18', '2025-03-26']) {
    const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    const text = await (await post(layer, 'good', 'initialize', params)).text()
    assert.equal(JSON.parse(text.split('data: ')[1]!).result.protocolVersion, version)
    assert.equal((await post(layer, 'good', 'tools/list', {}, { 'mcp-protocol-version': version })).status, 200)
  }
  assert.equal((await post(layer, 'good', 'tools/list', {}, { 'mcp-protocol-version': '2001-01-01' })).status, 400)
})
