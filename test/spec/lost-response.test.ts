/**
 * A client that never saw a response to its message: what leads it to its turn, on every public surface (`idempotency.in-progress`,
 * `conversation.busy`, `turn.resource`).
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { gate } from '../support/model-server.ts'
import type { Gate } from '../support/model-server.ts'
import { askOpenAi, completionBody, responseBody } from '../support/openai-caller.ts'
import { read, startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp } from '../support/test-app.ts'
import { until } from '../support/until.ts'

const get = async (app: TestApp, path: string, apiKey = app.caller.apiKey, method = 'GET'): Promise<Answer> =>
  read(await fetch(`${app.url}${path}`, { method, headers: { authorization: `Bearer ${apiKey}` } }))

const findPath = (app: TestApp, key: string): string => `/v1/agents/${app.caller.agentId}/turns?idempotency_key=${encodeURIComponent(key)}`
const find = (app: TestApp, key: string, apiKey?: string): Promise<Answer> => get(app, findPath(app, key), apiKey)
const turnPath = (app: TestApp, requestId: string): string => `/v1/agents/${app.caller.agentId}/turns/${requestId}`
const otherKey = async (app: TestApp, permission = 'full'): Promise<string> =>
  (await app.made('POST', `/agents/${app.caller.agentId}/keys`, { permission }))['api_key']

/** A turn whose model waits. Its caller has left without a response. */
async function startLost(app: TestApp, key: string): Promise<{ requestId: string; held: Gate }> {
  const held = gate()
  app.model.when('weather', ['It ', held, 'rains.'])
  const leave = new AbortController()
  const body = { external_user_id: 'user-1', message: 'weather' }
  const lost = app.chatRequest(body, { idempotencyKey: key, signal: leave.signal }).catch(() => undefined)
  await held.reached
  leave.abort()
  await lost
  const { data } = await app.made('GET', '/turns?status=running')
  return { requestId: data[0].request_id, held }
}

async function callMcp(app: TestApp, given: Json): Promise<Json> {
  const headers = { authorization: `Bearer ${app.caller.apiKey}`, 'content-type': 'application/json', accept: 'application/json' }
  const params = { name: 'test-agent', arguments: { external_user_id: 'user-1', message: 'weather', ...given } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  return (await read(await fetch(`${app.url}/mcp`, { method: 'POST', headers, body }))).json['result']
}

void test('idempotency.in-progress: the 409 has the request ID of the turn and its location, on every surface, and the turn is read, followed and cancelled with it', async () => {
  await using app = await startTestApp()
  const { requestId, held } = await startLost(app, 'key 1')
  const location = turnPath(app, requestId)
  const key = { 'idempotency-key': 'key 1' }
  for (const [path, headers] of [
    ['chat', {}],
    ['chat', { prefer: 'respond-async' }],
    ['chat/stream', {}],
  ] as const) {
    const answer = await app.chat('weather', { path, idempotencyKey: 'key 1', headers })
    assert.deepEqual(
      [answer.status, answer.json['error'].code, answer.json['error'].request_id, answer.headers.get('retry-after')],
      [409, 'idempotency_in_progress', requestId, '2'],
      path,
    )
    assert.deepEqual([answer.headers.get('x-request-id'), answer.headers.get('location')], [requestId, location], path)
  }
  for (const stream of [false, true])
    for (const [path, body] of [
      ['/v1/chat/completions', completionBody(app, 'weather', { stream })],
      ['/v1/responses', responseBody(app, 'weather', { stream })],
      ['/v1/responses', responseBody(app, 'weather', { background: true, stream })],
    ] as const) {
      const answer = await askOpenAi(app, { path, body, headers: key })
      assert.deepEqual([answer.status, answer.json['error'].code], [409, 'idempotency_in_progress'], path)
      assert.deepEqual(
        [answer.headers.get('x-request-id'), answer.headers.get('location'), answer.headers.get('x-should-retry')],
        [requestId, location, 'true'],
        path,
      )
    }
  const { isError, _meta: meta, content } = await callMcp(app, { idempotency_key: 'key 1' })
  const error = { code: 'idempotency_in_progress', request_id: requestId, retry_after_seconds: 2, location }
  assert.deepEqual([isError, meta['turnkeep/error']], [true, error])
  assert.ok(content[0].text.includes(requestId))

  assert.equal((await get(app, location)).json['status'], 'running')
  const followed = get(app, `${location}/stream`)
  assert.equal((await get(app, `${location}/cancel`, undefined, 'POST')).status, 200)
  await until('the turn ends', async () => (await get(app, location)).json['status'] === 'completed')
  assert.match((await followed).text, /response\.completed/)
  const replay = await app.chat('weather', { idempotencyKey: 'key 1' })
  assert.deepEqual([replay.status, replay.json['request_id'], replay.headers.has('location')], [200, requestId, false])
  held.open()
  await app.verify()
})

void test('conversation.busy: the 409 has the location of the running turn of the same API key, and never that of another one', async () => {
  await using app = await startTestApp()
  const { requestId, held } = await startLost(app, 'key 1')
  const location = turnPath(app, requestId)
  const busy = await app.chat('and tomorrow?', { idempotencyKey: 'key 2' })
  assert.deepEqual(
    [busy.status, busy.json['error'].code, busy.headers.get('location'), busy.headers.get('retry-after')],
    [409, 'conversation_busy', location, '2'],
  )
  assert.notEqual(busy.json['error'].request_id, requestId)
  assert.equal(busy.headers.get('x-request-id'), busy.json['error'].request_id)
  for (const body of [completionBody(app, 'and tomorrow?'), completionBody(app, 'and tomorrow?', { stream: true })])
    assert.equal((await askOpenAi(app, { body })).headers.get('location'), location)
  assert.equal((await callMcp(app, { message: 'and tomorrow?' }))['_meta']['turnkeep/error'].location, location)
  // The same end user through another key has another conversation, and the same Idempotency-Key is another one.
  app.model.when('hello', 'Hello.')
  const apiKey = await otherKey(app)
  const other = await app.chat('hello', { apiKey, idempotencyKey: 'key 1' })
  assert.deepEqual([other.status, other.headers.has('location')], [200, false])
  const waiting = gate()
  app.model.script([waiting, 'Later.'])
  const running = app.chat('wait', { apiKey, idempotencyKey: 'key 2' })
  await waiting.reached
  const { json: own } = await find(app, 'key 2', apiKey)
  assert.equal((await app.chat('another', { apiKey })).headers.get('location'), turnPath(app, own['request_id']))
  assert.equal((await app.chat('another')).headers.get('location'), location)
  waiting.open()
  await running
  const conflict = await app.chat('another body', { idempotencyKey: 'key 1' })
  assert.deepEqual([conflict.json['error'].code, conflict.headers.has('location')], ['idempotency_conflict', false])
  held.open()
  await app.verify()
})

void test('turn.resource: the turn of an Idempotency-Key is found in every state, as its request ID finds it', async () => {
  await using app = await startTestApp()
  const same = async (key: string, status: string): Promise<string> => {
    const found = await find(app, key)
    assert.deepEqual([found.status, found.json['status']], [200, status], found.text)
    assert.deepEqual((await get(app, turnPath(app, found.json['request_id']))).json, found.json)
    assert.ok(found.headers.has('x-ratelimit-limit'))
    return found.json['request_id']
  }
  const { requestId, held } = await startLost(app, 'key 1')
  assert.equal(await same('key 1', 'running'), requestId)
  held.open()
  await until('the turn ends', async () => (await find(app, 'key 1')).json['status'] === 'completed')
  assert.equal(await same('key 1', 'completed'), requestId)
  app.model.script({ status: 400, body: { error: { message: 'no' } } })
  await app.chat('bad', { idempotencyKey: 'key 2' })
  await same('key 2', 'released')
  app.model.script([{ finish: 'stop' }], [{ finish: 'stop' }])
  await app.chat('empty', { idempotencyKey: 'key 3' })
  await same('key 3', 'failed')
  const waiting = gate()
  app.model.script([waiting, 'never'])
  const lost = app.chat('cancel', { idempotencyKey: 'key 4' })
  await waiting.reached
  await get(app, `${turnPath(app, await same('key 4', 'running'))}/cancel`, undefined, 'POST')
  await lost
  await same('key 4', 'cancelled')
  // A key is opaque: nothing in it is read as something else.
  for (const key of ['"quoted"', 'a b', '50%', 'a+b&c=d', 'schlüssel', '🌧'.repeat(63), 'x'.repeat(255), '%00']) {
    const header = Buffer.from(key).toString('latin1')
    const { json } = await app.chat('hello', { idempotencyKey: header, user: key })
    assert.equal((await find(app, key)).json['request_id'], json['request_id'], key)
  }
})

void test('turn.resource: the turn of an Idempotency-Key of another API key, and one that is unknown, erased or expired, is the same 404', async () => {
  await using app = await startTestApp()
  const { json } = await app.chat('hello', { idempotencyKey: 'key 1' })
  const [stranger, reader] = [await otherKey(app), await otherKey(app, 'read-only')]
  const missing = (await find(app, 'key 2')).json['error']
  assert.deepEqual([missing.code, (await find(app, 'key 2')).status], ['not_found', 404])
  for (const apiKey of [stranger, reader]) {
    const { status, json: body } = await find(app, 'key 1', apiKey)
    assert.deepEqual([status, body['error']?.message], [404, missing.message])
  }
  // Both have a key 1.
  const other = await app.chat('hello', { idempotencyKey: 'key 1', apiKey: stranger })
  assert.equal((await find(app, 'key 1', stranger)).json['request_id'], other.json['request_id'])
  assert.equal((await find(app, 'key 1')).json['request_id'], json['request_id'])
  assert.equal((await get(app, findPath(app, 'key 1').replace(app.caller.agentId, 'agt_none'))).json['error'].code, 'agent_mismatch')
  await app.chat('erase me', { idempotencyKey: 'key 3', user: 'user-3' })
  const erased = (await find(app, 'key 3')).json
  await app.made('DELETE', `/conversations/${erased['conversation_id']}`)
  assert.deepEqual([(await find(app, 'key 3')).status, (await find(app, 'key 3')).json['error']?.message], [404, missing.message])
  await app.moveClock(24 * 60 * 60 * 1000 - 60_000)
  assert.equal((await find(app, 'key 1')).status, 200)
  await app.moveClock(120_000)
  assert.equal((await find(app, 'key 1')).status, 404)
  assert.equal((await get(app, turnPath(app, json['request_id']))).status, 200, 'the turn itself remains')
})

void test('turn.resource: without exactly one idempotency_key that a header can carry, 422, and only GET', async () => {
  await using app = await startTestApp()
  const base = `/v1/agents/${app.caller.agentId}/turns`
  const bad = [
    '',
    '?idempotency_key=',
    `?idempotency_key=${'x'.repeat(256)}`,
    '?idempotency_key=a&idempotency_key=b',
    '?idempotency_key=a&limit=1',
  ]
  for (const query of [
    ...bad,
    '?key=a',
    '?idempotency_key=%01a',
    '?idempotency_key=%00',
    '?idempotency_key=%ff',
    '?idempotency_key=a%0d%0a',
  ]) {
    const { status, json } = await get(app, base + query)
    assert.deepEqual([status, json['error'].code], [422, 'validation_error'], query)
  }
  assert.match((await get(app, base)).json['error'].message, /idempotency_key/)
  assert.equal((await get(app, `${base}?idempotency_key=a`, 'svc_live_none')).status, 401)
  assert.equal((await get(app, `${base}?idempotency_key=a`, undefined, 'POST')).status, 405)
  // A key that the server made for a request without one is no key of a caller.
  await askOpenAi(app, { body: completionBody(app, 'hello') })
  const [row] = await app.query("select idempotency_key from turns where idempotency_key like '\u0001%'")
  assert.equal((await find(app, String(row!['idempotency_key']))).status, 422)
})

void test('idempotency.in-progress turn.resource: the same key several times at once: every response and every look-up has the same turn, or none before its admission', async () => {
  await using app = await startTestApp()
  for (let round = 0; round < 12; round++) {
    const key = randomUUID()
    const send = () => app.chat('hello', { idempotencyKey: key, user: `user-${round}` })
    const answers = [send(), send(), find(app, key), send(), find(app, key), find(app, key)]
    const ids = new Set<string>()
    for (const { status, json, headers } of await Promise.all(answers)) {
      assert.ok([200, 404, 409].includes(status), String(status))
      if (status === 404) continue
      if (status === 409) assert.equal(headers.get('location'), turnPath(app, json['error'].request_id))
      ids.add(json['request_id'] ?? json['error'].request_id)
    }
    assert.deepEqual([...ids], [(await find(app, key)).json['request_id']])
  }
  await app.verify()
})

void test('idempotency.in-progress: in the playground, the location is the one of operators', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.when('weather', [held, 'It rains.'])
  const send = () => app.admin('POST', `/agents/${app.caller.agentId}/playground`, { message: 'weather' }, { 'idempotency-key': 'key 1' })
  const first = send()
  await held.reached
  const again = await send()
  const requestId = again.json['error'].request_id as string
  assert.deepEqual([again.status, again.headers.get('location')], [409, `/admin/v1/turns/${requestId}`])
  assert.equal((await app.made('GET', `/turns/${requestId}`)).state, 'running')
  held.open()
  await first
})
