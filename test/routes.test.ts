/** Checks that every public route must pass, generated from the existing routes: a new one is tested automatically. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { figures, startTestLayer } from './support/test-http-layer.ts'
import type { TestLayer } from './support/test-http-layer.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

type Route = { method: string; path: string }

/** Every operation of /openapi.json, with an agent that the test's key has, and the open addresses. */
async function routesOf(layer: TestLayer): Promise<{ api: Route[]; open: Route[] }> {
  const { paths } = (await (await fetch(`${layer.url}/openapi.json`)).json()) as { paths: Record<string, object> }
  const api = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => ({
      method: method.toUpperCase(),
      path: path.replace('{agent_id}', 'agt_door').replace('{conversation_id}', 'conv_1').replace('{request_id}', 'turn_1'),
    })),
  )
  return { api, open: ['/', '/healthz', '/readyz', '/openapi.json'].map((path) => ({ method: 'GET', path })) }
}

const ask = (layer: TestLayer, { method, path }: Route, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${layer.url}${path}`, { method, headers, ...(method === 'POST' ? { body: '{}' } : {}) })

/** What holds for every response. */
async function check(response: Response, title: string): Promise<string> {
  const text = await response.text()
  const requestId = response.headers.get('x-request-id')
  assert.match(requestId ?? '', uuid, `${title}: order.request-id`)
  for (const name of response.headers.keys()) {
    assert.ok(
      !name.startsWith('access-control-') && name !== 'server' && name !== 'x-powered-by' && name !== 'set-cookie',
      `${title}: ${name}`,
    )
  }
  if (response.status >= 400 && text !== '') {
    const { error } = JSON.parse(text) as { error: Record<string, string> }
    assert.deepEqual(Object.keys(error), ['code', 'message', 'request_id'], title)
    assert.equal(error['request_id'], requestId, title)
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8', title)
  }
  if (text !== '') assert.equal(response.headers.get('x-content-type-options'), 'nosniff', title)
  const limited = response.status === 429 || (response.status === 200 && response.url.includes('/v1/') && text.startsWith('{'))
  assert.equal(response.headers.has('x-ratelimit-limit'), limited, `${title}: rate.headers`)
  return text
}

void test('routes: the public routes are these', async () => {
  await using layer = await startTestLayer()
  const { api } = await routesOf(layer)
  assert.deepEqual(api.map(({ method, path }) => `${method} ${path}`).toSorted(), [
    'GET /v1/agents/agt_door/conversations',
    'GET /v1/agents/agt_door/conversations/conv_1/messages',
    'GET /v1/agents/agt_door/turns',
    'GET /v1/agents/agt_door/turns/turn_1',
    'GET /v1/agents/agt_door/turns/turn_1/stream',
    'POST /v1/agents/agt_door/chat',
    'POST /v1/agents/agt_door/chat/stream',
    'POST /v1/agents/agt_door/turns/turn_1/cancel',
    'POST /v1/agents/agt_door/turns/turn_1/feedback',
  ])
})

void test('order.route: any other method of a known path is 405 with Allow, before authentication; the path below it is 404', async () => {
  await using layer = await startTestLayer()
  const { api, open } = await routesOf(layer)
  for (const route of [...api, ...open]) {
    const allowed = route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]
    for (const method of methods.filter((name) => !allowed.includes(name))) {
      const response = await ask(layer, { method, path: route.path })
      const text = await check(response, `${method} ${route.path}`)
      assert.deepEqual([response.status, response.headers.get('allow')], [405, allowed.join(', ')], `${method} ${route.path}`)
      if (method !== 'HEAD') assert.match(text, new RegExp(`does not support this method\\. Use ${route.method}\\."`))
    }
    const below = await ask(layer, { method: route.method, path: `${route.path}/nothing/nothing` })
    await check(below, `${route.path}/nothing/nothing`)
    assert.equal(below.status, 404)
  }
  assert.equal(layer.spent, 0)
})

void test('order.authentication: 401 has the same body on every route, for every wrong key', async () => {
  await using layer = await startTestLayer()
  const { api } = await routesOf(layer)
  const bodies = new Set<string>()
  for (const route of api) {
    for (const headers of [{}, { authorization: 'Bearer bad' }, { authorization: 'Basic eA==' }, { authorization: '' }]) {
      const response = await ask(layer, route, headers as Record<string, string>)
      const text = await check(response, route.path)
      assert.deepEqual([response.status, response.headers.get('www-authenticate')], [401, 'Bearer'], route.path)
      bodies.add(text.replace(response.headers.get('x-request-id')!, ''))
    }
  }
  assert.equal(bodies.size, 1)
  assert.equal(layer.spent, 0, 'rate.spend')
})

void test("order.permission: every route of the API checks the key's agent, then the limiter", async () => {
  let allowed = true
  await using layer = await startTestLayer({
    spend: () => (allowed ? { kind: 'allowed', figures } : { kind: 'exceeded', figures, retryAfterSeconds: 1 }),
  })
  const { api } = await routesOf(layer)
  const headers = { authorization: 'Bearer good' }
  for (const route of api) {
    const mismatch = await ask(layer, { ...route, path: route.path.replace('agt_door', 'agt_other') }, headers)
    await check(mismatch, route.path)
    assert.equal(mismatch.status, 403, route.path)
    allowed = true
    layer.spent = 0
    await check(await ask(layer, route, headers), route.path)
    assert.equal(layer.spent, 1, `rate.spend ${route.path}`)
    allowed = false
    const refused = await ask(layer, route, headers)
    await check(refused, route.path)
    assert.equal(refused.status, 429, route.path)
  }
})

void test('order.request-id: open addresses respond without a key, and HEAD as GET', async () => {
  await using layer = await startTestLayer()
  for (const route of (await routesOf(layer)).open) {
    for (const method of ['GET', 'HEAD']) {
      const response = await ask(layer, { ...route, method })
      assert.equal(response.status, 200, route.path)
      assert.equal((await check(response, route.path)) === '', method === 'HEAD')
    }
  }
})

const asked: string[] = []
const page = { data: [], nextCursor: 'bmV4dA' }
const listing = {
  idOf: async () => undefined,
  list: async (wanted: object) => (asked.push(JSON.stringify(wanted)), page),
  messages: async () => ({ kind: 'found' as const, ...page }),
}

void test('paging: limit is 1 to 100 in plain digits, 20 if absent; an unknown or repeated parameter is 422', async () => {
  await using layer = await startTestLayer({ conversations: listing })
  const headers = { authorization: 'Bearer good' }
  const base = '/v1/agents/agt_door/conversations'
  for (const path of [base, `${base}/conv_1/messages`]) {
    const bad = ['0', '101', '-1', '1.5', '1e1', '+5', '05', '', 'x', '20&limit=20', '9999999999999']
    for (const query of [...bad.map((limit) => `limit=${limit}`), 'offset=1', '__proto__=1', 'cursor=a&cursor=b']) {
      const response = await ask(layer, { method: 'GET', path: `${path}?${query}` }, headers)
      await check(response, query)
      assert.equal(response.status, 422, query)
    }
    for (const query of ['', '?limit=1', '?limit=100&cursor=x']) {
      const response = await ask(layer, { method: 'GET', path: `${path}${query}` }, headers)
      assert.equal(response.status, 200, query)
      assert.equal(await check(response, query), '{"data":[],"next_cursor":"bmV4dA"}')
    }
  }
  const users = ['external_user_id=', 'external_user_id=%00', 'external_user_id=%ff', `external_user_id=${'u'.repeat(256)}`]
  for (const query of users) assert.equal((await ask(layer, { method: 'GET', path: `${base}?${query}` }, headers)).status, 422, query)
  asked.length = 0
  await (await ask(layer, { method: 'GET', path: `${base}?external_user_id=%F0%9F%98%80%20a&cursor=c` }, headers)).text()
  assert.deepEqual(asked, ['{"apiKeyId":"key_door","shareOf":"own_door","limit":20,"cursor":"c","externalUserId":"😀 a"}'])
})

void test("conversation.identity: another key's or an erased conversation is 404 not_found", async () => {
  await using layer = await startTestLayer()
  const response = await ask(
    layer,
    { method: 'GET', path: '/v1/agents/agt_door/conversations/conv_1/messages' },
    { authorization: 'Bearer good' },
  )
  assert.match(await check(response, 'messages'), /"code":"not_found"/)
  assert.equal(response.status, 404)
})

void test('time.format: times of a listing are UTC with milliseconds and a Z', async () => {
  const [createdAt, lastMessageAt] = [1_700_000_000_000, 1_700_000_000_007]
  const conversation = { conversationId: 'conv_1', externalUserId: 'u', createdAt, lastMessageAt, messageCount: 2 }
  const message = {
    id: 'msg_1',
    role: 'user',
    content: 'hi',
    createdAt,
    requestId: '0193a6e2-5d4c-7b1a-9f3e-2c8d7a6b5e41',
    cutOff: false,
  } as const
  await using layer = await startTestLayer({
    conversations: {
      idOf: async () => undefined,
      list: async () => ({ data: [conversation], nextCursor: null }),
      messages: async () => ({ kind: 'found', data: [message], nextCursor: null }),
    },
  })
  const reported = async (path: string): Promise<any> =>
    ((await (await ask(layer, { method: 'GET', path }, { authorization: 'Bearer good' })).json()) as any).data[0]
  const shown = await reported('/v1/agents/agt_door/conversations')
  assert.deepEqual([shown.created_at, shown.last_message_at], ['2023-11-14T22:13:20.000Z', '2023-11-14T22:13:20.007Z'])
  assert.equal((await reported('/v1/agents/agt_door/conversations/conv_1/messages')).created_at, '2023-11-14T22:13:20.000Z')
})
