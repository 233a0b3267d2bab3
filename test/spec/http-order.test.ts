/**
 * The order of checks (docs/spec.md, "Endpoints and the order of checks"): the first failing check answers, from the headers alone where
 * they suffice.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RateOutcome } from '../../src/access/outcome.ts'
import { apiKey, body, chatPath, figures, startTestLayer, storedReply } from '../support/test-http-layer.ts'
import type { TestLayer, TestLayerOptions } from '../support/test-http-layer.ts'

type Sent = Parameters<TestLayer['chat']>[0]

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const ofTheFirst = '0193a6e2-5d4c-7b1a-9f3e-2c8d7a6b5e41'
const tooLarge = 'x'.repeat(1_048_577)
const rateNames = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
const exceeded = (): RateOutcome => ({ kind: 'exceeded', figures: { ...figures, remaining: 0 }, retryAfterSeconds: 17 })
const readOnly = { kind: 'authenticated', apiKey: { ...apiKey, permission: 'read-only' } } as const

/** Everything that is checked later is wrong too. */
const steps: { title: string; options?: TestLayerOptions; sent: Sent; status: number; code: string; spent: number }[] = [
  {
    title: 'order.route: an unknown route is 404 before authentication',
    sent: { path: '/v1/agents/agt_door/chats', headers: { authorization: 'no' }, body: tooLarge },
    status: 404,
    code: 'not_found',
    spent: 0,
  },
  {
    title: 'order.authentication: a key that is not valid is 401 before the agent is checked',
    options: { spend: exceeded },
    sent: { path: '/v1/agents/agt_other/chat', headers: { authorization: 'Bearer bad', 'idempotency-key': '' }, body: tooLarge },
    status: 401,
    code: 'invalid_api_key',
    spent: 0,
  },
  {
    title: 'order.authentication: a key that cannot be looked up is 503 and never 401',
    options: { authenticate: () => ({ kind: 'service_unavailable' }), spend: exceeded },
    sent: { path: '/v1/agents/agt_other/chat', body: tooLarge },
    status: 503,
    code: 'service_unavailable',
    spent: 0,
  },
  {
    title: 'order.permission: another agent is 403 agent_mismatch before the permission',
    options: { authenticate: () => readOnly, spend: exceeded },
    sent: { path: '/v1/agents/agt_other/chat', body: tooLarge },
    status: 403,
    code: 'agent_mismatch',
    spent: 0,
  },
  {
    title: 'order.permission: a read-only key is 403 permission_denied before the limiter',
    options: { authenticate: () => readOnly, spend: exceeded },
    sent: { body: tooLarge },
    status: 403,
    code: 'permission_denied',
    spent: 0,
  },
  {
    title: 'rate.fail-closed: an unavailable limiter is 503 before the body is read',
    options: { spend: () => ({ kind: 'unavailable' }) },
    sent: { body: tooLarge },
    status: 503,
    code: 'api_rate_limit_unavailable',
    spent: 1,
  },
  {
    title: 'order.rate-limit: an exhausted window is 429 before the body is read',
    options: { spend: exceeded },
    sent: { body: tooLarge },
    status: 429,
    code: 'rate_limit_exceeded',
    spent: 1,
  },
  {
    title: 'order.body-size: a body over 1 MiB is 413 before the Idempotency-Key is read',
    sent: { headers: { 'idempotency-key': '' }, body: tooLarge },
    status: 413,
    code: 'payload_too_large',
    spent: 1,
  },
]

for (const { title, options, sent, status, code, spent } of steps) {
  void test(title, async () => {
    await using layer = await startTestLayer(options)
    for (const path of [sent?.path ?? chatPath, `${sent?.path ?? chatPath}/stream`]) {
      layer.spent = 0
      const response = await layer.chat({ ...sent, path })
      const { error } = (await response.json()) as { error: Record<string, string> }
      assert.deepEqual([response.status, error['code']], [status, code], path)
      assert.deepEqual(Object.keys(error), ['code', 'message', 'request_id'])
      assert.match(error['request_id']!, uuid)
      assert.equal(response.headers.get('x-request-id'), error['request_id'], 'order.request-id')
      assert.equal(layer.spent, spent, 'rate.spend')
      assert.equal(response.headers.has('x-ratelimit-limit'), status === 429, 'rate.headers')
    }
    assert.deepEqual(layer.started, [], 'nothing began')
  })
}

const messages: [title: string, sent: Sent, message: RegExp][] = [
  ['Idempotency-Key', { headers: { 'idempotency-key': '', 'content-type': 'text/plain' }, body: '{' }, /Idempotency-Key/],
  ['content type', { headers: { 'content-type': 'text/plain' }, body: '{' }, /Content-Type/],
  ['JSON', { body: '{"external_user_id":' }, /JSON/],
  ['fields', { body: '{"external_user_id":"","message":1}' }, /external_user_id/],
]

void test('order.validation: 422 names the first of: Idempotency-Key, content type, JSON, fields', async () => {
  await using layer = await startTestLayer()
  for (const [title, sent, message] of messages) {
    const response = await layer.chat(sent)
    const { error } = (await response.json()) as { error: Record<string, string> }
    assert.deepEqual([response.status, error['code']], [422, 'validation_error'], title)
    assert.match(error['message']!, message, title)
    assert.ok(!rateNames.some((name) => response.headers.has(name)), 'rate.headers')
  }
  assert.equal(layer.spent, messages.length, 'rate.spend 422 spends')
  assert.deepEqual(layer.started, [])
})

void test('order.permission: a read-only key may read conversations', async () => {
  await using layer = await startTestLayer({ authenticate: () => readOnly })
  const response = await fetch(`${layer.url}/v1/agents/agt_door/conversations`)
  assert.equal(response.status, 200)
})

void test('order.permission: the agent of the path is percent-decoded and compared case-sensitively', async () => {
  await using layer = await startTestLayer()
  assert.equal((await layer.chat({ path: '/v1/agents/agt%5Fdoor/chat' })).status, 200)
  for (const agent of ['AGT_DOOR', 'agt_door%00', 'agt_door;x', 'a'.repeat(3000)]) {
    const response = await layer.chat({ path: `/v1/agents/${agent}/chat` })
    assert.equal(response.status, 403, agent)
    await response.text()
  }
})

void test("order.permission: the path may name the key's agent by the slug of its name", async () => {
  let agentName = 'Café Support'
  await using layer = await startTestLayer({ authenticate: () => ({ kind: 'authenticated', apiKey: { ...apiKey, agentName } }) })
  const statusOf = async (agent: string): Promise<number> => (await layer.chat({ path: `/v1/agents/${agent}/chat` })).status
  assert.equal(await statusOf('cafe-support'), 200)
  for (const agent of ['Caf%C3%A9%20Support', 'Cafe-Support', 'cafe', 'cafe-support-']) assert.equal(await statusOf(agent), 403, agent)
  agentName = '支持'
  for (const agent of ['%20', '-']) assert.equal(await statusOf(agent), 403, 'a name without Latin letters and digits has no slug')
})

void test('rate.headers: 429 carries the rate limit headers and Retry-After as computed', async () => {
  await using layer = await startTestLayer({ spend: exceeded })
  const { headers } = await layer.chat()
  assert.deepEqual(
    [...rateNames, 'retry-after'].map((name) => headers.get(name)),
    ['120', '0', String(figures.resetAt), '17'],
  )
})

void test("rate.headers: 200 JSON carries the rate limit headers and the turn's request id; the event stream carries no rate limit headers", async () => {
  await using layer = await startTestLayer({ begin: () => ({ kind: 'replay', reply: storedReply('hi', ofTheFirst) }) })
  const reply = await layer.chat()
  assert.deepEqual(
    rateNames.map((name) => reply.headers.get(name)),
    ['120', '119', String(figures.resetAt)],
  )
  assert.equal(reply.headers.get('x-request-id'), ofTheFirst)
  const stream = await layer.chat({ path: `${chatPath}/stream` })
  assert.ok(!rateNames.some((name) => stream.headers.has(name)))
  assert.equal(stream.headers.get('x-request-id'), ofTheFirst)
})

const refusals = {
  idempotency_conflict: [409, null],
  idempotency_in_progress: [409, '2'],
  conversation_busy: [409, '2'],
  agent_not_found: [404, null],
  agent_disabled: [403, null],
  insufficient_balance: [402, null],
  service_unavailable: [503, '5'],
  not_found: [404, null],
} as const

void test('order.admission: a refused turn is JSON with its status and Retry-After on both transports, under a new request id', async () => {
  let code: keyof typeof refusals = 'not_found'
  await using layer = await startTestLayer({ begin: () => ({ kind: 'refused', code }) })
  for (const [refused, expected] of Object.entries(refusals)) {
    code = refused as keyof typeof refusals
    for (const path of [chatPath, `${chatPath}/stream`]) {
      const response = await layer.chat({ path })
      const { error } = (await response.json()) as { error: Record<string, string> }
      assert.deepEqual([response.status, response.headers.get('retry-after')], expected, code)
      assert.equal(error['code'], code)
      assert.equal(error['request_id'], response.headers.get('x-request-id'))
      assert.ok(!rateNames.some((name) => response.headers.has(name)))
    }
  }
})

void test('turn.states: a stored failure is JSON with its status on both transports, under the stored request_id', async () => {
  await using layer = await startTestLayer({ begin: () => ({ kind: 'replayed_failure', requestId: ofTheFirst, code: 'internal_error' }) })
  for (const path of [chatPath, `${chatPath}/stream`]) {
    const response = await layer.chat({ path })
    const { error } = (await response.json()) as { error: Record<string, string> }
    assert.deepEqual([response.status, error['request_id'], response.headers.get('x-request-id')], [500, ofTheFirst, ofTheFirst])
  }
})

void test('order.request-id: an incoming X-Request-ID is ignored, and an internal error is logged but its cause is not returned', async () => {
  await using layer = await startTestLayer({
    begin() {
      throw new Error('select * from secrets')
    },
  })
  const response = await layer.chat({ headers: { 'x-request-id': 'mine' } })
  const text = await response.text()
  const id = response.headers.get('x-request-id')
  assert.equal(response.status, 500)
  assert.match(id!, uuid)
  assert.ok(text.includes('"internal_error"') && text.includes(id!) && !text.includes('secrets'))
  assert.deepEqual(
    layer.logged.map(({ request_id, level }) => [request_id, level]),
    [[id, 50]],
  )
  assert.ok(!JSON.stringify(layer.logged).includes('hello'), 'no message text in the log')
})

void test('order.validation: a message longer than any agent allows is refused here, one longer than its own agent allows by the admission', async () => {
  await using layer = await startTestLayer({
    begin: ({ message }) => (message === 'long' ? { kind: 'message_too_long', longest: 3 } : { kind: 'replay', reply: storedReply('hi') }),
  })
  for (const path of [chatPath, `${chatPath}/stream`]) {
    const refusal = async (message: string): Promise<[number, string]> => {
      const response = await layer.chat({ path, body: body(message) })
      return [response.status, ((await response.json()) as any).error.message]
    }
    layer.started.length = 0
    assert.deepEqual(await refusal('x'.repeat(1_000_001)), [422, 'message must have at most 1000000 characters.'], path)
    assert.deepEqual(layer.started, [], path)
    assert.deepEqual(await refusal('long'), [422, 'message must have at most 3 characters.'], path)
    const most = await layer.chat({ path, body: body('x'.repeat(1_000_000)) })
    await most.body?.cancel()
    assert.equal(most.status, 200, path)
  }
})

void test('rate.spend: every request that passes the permission check spends one unit, and one that is refused before spends none', async () => {
  await using layer = await startTestLayer({
    authenticate: (header) =>
      header === 'Bearer read' ? readOnly : { kind: header === 'Bearer good' ? 'authenticated' : 'invalid_api_key', apiKey },
    begin: ({ message }) =>
      message === 'busy' ? { kind: 'refused', code: 'conversation_busy' } : { kind: 'replay', reply: storedReply('hi') },
  })
  const list = (): Promise<Response> =>
    fetch(`${layer.url}/v1/agents/agt_door/conversations`, { headers: { authorization: 'Bearer good' } })
  const requests: [what: string, spends: number, send: () => Promise<Response>][] = [
    ['a replay', 1, () => layer.chat()],
    ['a 409', 1, () => layer.chat({ body: body('busy') })],
    ['a 422', 1, () => layer.chat({ body: '{' })],
    ['a listing', 1, list],
    ['a 401', 0, () => layer.chat({ headers: { authorization: 'Bearer bad' } })],
    ['another agent', 0, () => layer.chat({ path: '/v1/agents/agt_other/chat' })],
    ['a read-only key', 0, () => layer.chat({ headers: { authorization: 'Bearer read' } })],
  ]
  for (const [what, spends, send] of requests) {
    layer.spent = 0
    await (await send()).text()
    assert.equal(layer.spent, spends, what)
  }
})

void test('rate.headers stream.established: a refused turn is not a stream and carries no rate limit headers', async () => {
  await using layer = await startTestLayer({ begin: () => ({ kind: 'refused', code: 'insufficient_balance' }) })
  for (const path of [chatPath, `${chatPath}/stream`]) {
    const { status, headers, body: sent } = await layer.chat({ path })
    await sent?.cancel()
    assert.deepEqual([status, headers.get('content-type')], [402, 'application/json; charset=utf-8'], path)
    assert.ok(!rateNames.some((name) => headers.has(name)), path)
  }
})
