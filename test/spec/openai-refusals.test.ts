/** What the OpenAI endpoints refuse, in OpenAI's form: parameters, and every failure before the handler, in the order of the other endpoints. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RateOutcome } from '../../src/access/outcome.ts'
import { completionParameters, responseParameters } from '../../src/http/openai/parameters.ts'
import { apiKey, figures, startTestLayer } from '../support/test-http-layer.ts'
import type { TestLayer, TestLayerOptions } from '../support/test-http-layer.ts'
import { PauseWatch } from '../support/pause-watch.ts'
import { exchange } from '../support/raw-socket.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'
import { askOpenAi, completionBody, responseBody } from '../support/openai-caller.ts'

const exceeded = (): RateOutcome => ({ kind: 'exceeded', figures: { ...figures, remaining: 0 }, retryAfterSeconds: 17 })
const readOnly = { kind: 'authenticated', apiKey: { ...apiKey, permission: 'read-only' } } as const
const tooLarge = 'x'.repeat(1_048_577)
const bodies = {
  '/v1/chat/completions': { model: 'agt_door', user: 'u', messages: [{ role: 'user', content: 'hello' }] },
  '/v1/responses': { model: 'agt_door', user: 'u', input: 'hello' },
}
type Path = keyof typeof bodies

type Sent = { path?: string; method?: string; headers?: Record<string, string>; body?: string }
type Step = { title: string; options?: TestLayerOptions; sent: Sent; status: number; code: string; type?: string; spent: number }

/** Everything that is checked later is wrong too. */
const steps: Step[] = [
  {
    title: 'openai.errors order.route: a wrong method is 405 before authentication',
    sent: { method: 'PUT', headers: { authorization: 'no' }, body: tooLarge },
    status: 405,
    code: 'method_not_allowed',
    spent: 0,
  },
  {
    title: 'openai.errors order.authentication: a key that is not valid is 401 before the rate limit',
    options: { spend: exceeded },
    sent: { headers: { authorization: 'Bearer bad' }, body: tooLarge },
    status: 401,
    code: 'invalid_api_key',
    spent: 0,
  },
  {
    title: 'openai.errors order.permission: a read-only key is 403 before the limiter',
    options: { authenticate: () => readOnly, spend: exceeded },
    sent: { body: tooLarge },
    status: 403,
    code: 'permission_denied',
    spent: 0,
  },
  {
    title: 'openai.errors rate.fail-closed: an unavailable limiter is 503 before the body is read',
    options: { spend: () => ({ kind: 'unavailable' }) },
    sent: { body: tooLarge },
    status: 503,
    code: 'api_rate_limit_unavailable',
    type: 'server_error',
    spent: 1,
  },
  {
    title: 'openai.errors order.rate-limit: an exhausted window is 429 before the body is read',
    options: { spend: exceeded },
    sent: { body: tooLarge },
    status: 429,
    code: 'rate_limit_exceeded',
    type: 'rate_limit_error',
    spent: 1,
  },
  {
    title: 'openai.errors order.body-size: a body over 1 MiB is 413 before the Idempotency-Key is read',
    sent: { headers: { 'idempotency-key': '' }, body: tooLarge },
    status: 413,
    code: 'payload_too_large',
    spent: 1,
  },
  {
    title: 'openai.errors order.validation: an Idempotency-Key that is not valid is refused before the content type',
    sent: { headers: { 'idempotency-key': '\u0001', 'content-type': 'text/plain' }, body: '{' },
    status: 400,
    code: 'validation_error',
    spent: 1,
  },
]

/** A replay asks for the kinds of tokens. */
const withoutDetails: TestLayerOptions = { resource: { find: async () => ({ details: null }) as never } }

const send = (layer: TestLayer, path: string, { method = 'POST', headers = {}, body }: Sent): Promise<Response> =>
  fetch(`${layer.url}${path}`, {
    method,
    headers: { authorization: 'Bearer good', 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
  })

for (const { title, options, sent, status, code, type = 'invalid_request_error', spent } of steps) {
  void test(title, async () => {
    await using layer = await startTestLayer(options)
    for (const path of Object.keys(bodies)) {
      layer.spent = 0
      const headers = Object.fromEntries(Object.entries(sent.headers ?? {}).map(([name, value]) => [name, value.replace('\u0001', '')]))
      const response = await send(layer, path, { ...sent, headers })
      const { error } = (await response.json()) as { error: Json }
      assert.deepEqual([response.status, error['code'], error['type']], [status, code, type], path)
      assert.deepEqual(Object.keys(error), ['message', 'type', 'param', 'code'])
      assert.match(response.headers.get('x-request-id')!, /^[0-9a-f-]{36}$/)
      assert.equal(layer.spent, spent, 'rate.spend')
      if (status === 429) assert.deepEqual([response.headers.get('retry-after'), response.headers.get('x-ratelimit-limit')], ['17', '120'])
    }
    assert.deepEqual(layer.started, [], 'nothing began')
  })
}

void test('openai.errors: what never reaches a route has the same form on these paths, and the envelope on all others', async () => {
  using pauses = new PauseWatch()
  await using layer = await startTestLayer()
  for (const path of ['/v1/chat/unknown', '/v1/responses/a/b', '/v1/models/a/b', '/v1/responses?a=b']) {
    const { status, error } = await errorAt(await send(layer, path, { method: 'DELETE' }))
    assert.deepEqual([status === 404 || status === 405, Object.keys(error)], [true, ['message', 'type', 'param', 'code']], path)
  }
  assert.deepEqual(Object.keys((await errorAt(await send(layer, '/v1/chats', {}))).error), ['code', 'message', 'request_id'])
  await using impatient = await startTestLayer({ times: { requestMs: 300, headersMs: 300 } })
  const [late] = await exchange(
    impatient.port,
    'POST /v1/responses HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\nContent-Length: 9\r\n\r\n{',
  )
  const { status, code } = pauses.refusalOfLate(late?.status)
  const type = status === 503 ? 'server_error' : 'invalid_request_error'
  assert.deepEqual([late?.status, late?.json.error], [status, { ...late?.json.error, code, type, param: null }])
  const [unmet] = await exchange(layer.port, 'POST /v1/responses HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\nContent-Length: 0\r\n\r\n')
  const expected = { ...unmet?.json.error, code: 'bad_request', type: 'invalid_request_error', param: null }
  assert.deepEqual([unmet?.status, unmet?.json.error], [417, expected])
})

const errorAt = async (response: Response): Promise<{ status: number; error: Json }> => ({
  status: response.status,
  error: ((await response.json()) as Json)['error'],
})

void test('openai.refused-parameters: what would change the agent is refused by its name, and null is as good as absent', async () => {
  await using layer = await startTestLayer(withoutDetails)
  const refused: Record<Path, Json> = {
    '/v1/chat/completions': {
      tools: [{ type: 'function', function: { name: 'f' } }],
      tool_choice: 'required',
      functions: [{ name: 'f' }],
      function_call: { name: 'f' },
      response_format: { type: 'json_object' },
      modalities: ['text', 'audio'],
      n: 2,
      logprobs: true,
      top_logprobs: 1,
      audio: { voice: 'alloy', format: 'mp3' },
      web_search_options: {},
    },
    '/v1/responses': {
      tools: [{ type: 'web_search' }],
      tool_choice: { type: 'function', name: 'f' },
      instructions: 'Be brief.',
      prompt: { id: 'pmpt_1' },
      text: { format: { type: 'json_schema', name: 'a', schema: {} } },
      include: ['message.output_text.logprobs'],
      top_logprobs: 1,
      image: { url: 'https://a.example/a.png' },
    },
  }
  // Each request refuses what the other one refuses.
  const ofBoth = { ...refused['/v1/responses'], ...refused['/v1/chat/completions'] }
  const tables = { '/v1/chat/completions': completionParameters, '/v1/responses': responseParameters }
  for (const path of Object.keys(bodies) as Path[]) {
    const names = Object.entries(tables[path]).flatMap(([name, { does }]) => (does === 'refused' ? [name] : []))
    assert.deepEqual(Object.keys(ofBoth).toSorted(), names.toSorted(), 'every refused parameter of the table')
    for (const [name, value] of Object.entries({ ...ofBoth, ...refused[path] })) {
      const { status, error } = await errorAt(await send(layer, path, { body: JSON.stringify({ ...bodies[path], [name]: value }) }))
      assert.deepEqual([status, error['code'], error['param']], [400, 'unsupported_parameter', name], `${path} ${name}`)
    }
    assert.deepEqual(layer.started, [])
    const absent = Object.fromEntries(Object.keys(tables[path]).map((name) => [name, null]))
    const answer = await send(layer, path, { body: JSON.stringify({ ...absent, ...bodies[path] }) })
    assert.equal(answer.status, 200, await answer.text())
    const { error } = await errorAt(await send(layer, path, { body: JSON.stringify({ ...bodies[path], temprature: 1 }) }))
    assert.deepEqual([error['code'], error['param']], ['unknown_parameter', 'temprature'])
    layer.started.length = 0
  }
})

void test('openai.refused-parameters: values that change nothing are accepted, and so is everything that is ignored', async () => {
  await using layer = await startTestLayer(withoutDetails)
  const accepted: Record<Path, Json> = {
    '/v1/chat/completions': {
      tools: [],
      tool_choice: 'auto',
      functions: [],
      function_call: 'none',
      response_format: { type: 'text' },
      modalities: ['text'],
      n: 1,
      logprobs: false,
      top_logprobs: 0,
    },
    '/v1/responses': {
      tools: [],
      tool_choice: 'none',
      text: { format: { type: 'text' }, verbosity: 'low' },
      include: ['reasoning.encrypted_content'],
    },
  }
  const tables = { '/v1/chat/completions': completionParameters, '/v1/responses': responseParameters }
  for (const path of Object.keys(bodies) as Path[]) {
    const ignored = Object.entries(tables[path]).flatMap(([name, { does }]) => (does === 'ignored' ? [[name, { any: 'thing' }]] : []))
    const body = { ...bodies[path], ...accepted[path], ...Object.fromEntries(ignored) }
    const answer = await send(layer, path, { body: JSON.stringify(body) })
    assert.equal(answer.status, 200, await answer.text())
  }
  assert.deepEqual(
    layer.started.map(({ externalUserId, message }) => [externalUserId, message]),
    [
      ['u', 'hello'],
      ['u', 'hello'],
    ],
  )
})

const user = (content: unknown): Json => ({ role: 'user', content })
/** What is refused in `messages` and in `input`. */
const wrongMessages: [code: string, messages: unknown][] = [
  ['unsupported_parameter', [{ role: 'system', content: 'Be brief.' }, user('hello')]],
  ['unsupported_parameter', [{ role: 'developer', content: 'Be brief.' }, user('hello')]],
  ['unsupported_parameter', [user('hello'), { role: 'tool', tool_call_id: 'c', content: '1' }]],
  ['unsupported_parameter', [user([{ type: 'image_url', image_url: { url: 'https://a.example/a.png' } }])]],
  ['unsupported_parameter', [user('hello'), user([{ type: 'input_image', image_url: 'https://a.example/a.png' }])]],
  [
    'unsupported_parameter',
    [
      user([
        { type: 'text', text: 'a' },
        { type: 'input_file', file_id: 'f' },
      ]),
    ],
  ],
  ['unsupported_parameter', [user([{ type: 'input_audio', input_audio: { data: '', format: 'mp3' } }])]],
  ['unsupported_parameter', [user('hello'), { type: 'function_call_output', call_id: 'c', output: '1' }]],
  ['validation_error', []],
  ['validation_error', [{ role: 'assistant', content: 'hello' }]],
  ['validation_error', [user('')]],
  ['validation_error', [user([])]],
  ['validation_error', [user(null)]],
  ['validation_error', [user([{ type: 'text' }])]],
  ['validation_error', [user('a\0')]],
  ['validation_error', ['hello']],
  ['validation_error', { role: 'user', content: 'hello' }],
  ['validation_error', [user('a'.repeat(1_000_001))]],
]

/** A message with two contents, of which JSON.parse would keep the last. */
const twice = (path: Path): string =>
  JSON.stringify({
    ...bodies[path],
    [path === '/v1/responses' ? 'input' : 'messages']: [{ role: 'user', content: 'one', again: 'two' }],
  }).replace('"again"', '"content"')

void test('openai.refused-parameters: a last message that is not text of the user is refused, and a system message', async () => {
  await using layer = await startTestLayer()
  for (const path of Object.keys(bodies) as Path[]) {
    const param = path === '/v1/responses' ? 'input' : 'messages'
    for (const [code, messages] of wrongMessages) {
      const { status, error } = await errorAt(await send(layer, path, { body: JSON.stringify({ ...bodies[path], [param]: messages }) }))
      assert.deepEqual([status, error['code'], error['param']], [400, code, param], JSON.stringify(messages).slice(0, 200))
    }
    for (const wrong of ['[]', '1', 'null', '"a"', '{', '', '{"model":"agt_door","model":"agt_door"}', twice(path)]) {
      const { status, error } = await errorAt(await send(layer, path, { body: wrong }))
      assert.deepEqual([status, error['code'], error['type']], [400, 'validation_error', 'invalid_request_error'], wrong)
    }
    for (const name of ['model', param]) {
      const { [name]: _, ...body } = bodies[path] as Json
      assert.deepEqual((await errorAt(await send(layer, path, { body: JSON.stringify(body) }))).error['param'], name)
      const numbered = JSON.stringify({ ...body, [name]: 1 })
      assert.deepEqual((await errorAt(await send(layer, path, { body: numbered }))).error['param'], name)
    }
  }
  assert.deepEqual(layer.started, [])
})

void test('openai.errors order.admission: the refusals of the admission have their status and code, and charge nothing', async () => {
  await using app = await startTestApp({ balanceUsd: '0.00000001', agent: { max_message_length: 10 } })
  const shown = async (path: string, body: Json): Promise<unknown[]> => {
    const { status, json } = await askOpenAi(app, { path, body })
    return [status, json['error'].code, json['error'].type]
  }
  for (const [path, make] of [
    ['/v1/chat/completions', completionBody],
    ['/v1/responses', responseBody],
  ] as const) {
    assert.deepEqual(await shown(path, make(app, 'x'.repeat(11))), [400, 'validation_error', 'invalid_request_error'])
    assert.deepEqual(await shown(path, make(app, 'hello')), [402, 'insufficient_balance', 'insufficient_quota'])
  }
  await app.made('PATCH', `/agents/${app.caller.agentId}`, { enabled: false })
  assert.deepEqual(await shown('/v1/responses', responseBody(app, 'hello')), [403, 'agent_disabled', 'invalid_request_error'])
  assert.deepEqual(await app.query('select request_id from turns'), [])
  await app.verify()
})
