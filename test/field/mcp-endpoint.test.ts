/**
 * What MCP clients send to /mcp: the requests of inputs/11-mcp-endpoint.http, and variations of the Accept header and of every message. Over
 * real HTTP.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { ScriptedTurn, apiKey, startTestLayer } from '../support/test-http-layer.ts'
import type { TestLayer } from '../support/test-http-layer.ts'

/** How many variations each property generates. */
const variations = { accept: 150, nulls: 150 }

const both = 'application/json, text/event-stream'
const agent = 'test-agent'
let layer: TestLayer
before(async () => {
  layer = await startTestLayer({
    authenticate: () => ({ kind: 'authenticated', apiKey: { ...apiKey, defaultExternalUserId: 'desk' } }),
  })
})
after(() => layer.close())

type Answer = { status: number; type: string | null; message: any }

/** Sends one message, and reads the answer from JSON or from events. `accept` null: the header is missing. */
async function send(message: unknown, accept: string | null = both, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await layer.chat({
    path: '/mcp',
    headers: { ...(accept === null ? {} : { accept }), ...headers },
    body: JSON.stringify(message),
  })
  const text = await response.text()
  const type = response.headers.get('content-type')
  const data = type?.startsWith('text/event-stream') ? text.slice(text.lastIndexOf('data: {') + 6) : text
  return { status: response.status, type, message: data === '' ? undefined : JSON.parse(data) }
}

const request = (method: string, params?: unknown, id: unknown = 1): object => ({ jsonrpc: '2.0', id, method, params })

describe('strict where everybody else is tolerant', () => {
  const lines = readFileSync(new URL('inputs/11-mcp-endpoint.http', import.meta.url), 'utf8').split('\n')
  for (const line of lines.filter((one) => one.startsWith('POST'))) {
    const [, accept = '', body = ''] = /^POST \/mcp +Accept: (\S+) +(\{.*\})$/.exec(line)!
    void test(`mcp.tool: ${line.replaceAll(/ +/g, ' ')}`, async () => {
      const { status, message } = await send(JSON.parse(body.replace('<agent>', agent)), accept === 'both' ? both : accept)
      assert.equal(status, 200)
      const { result } = message
      if (body.includes('tools/list')) assert.equal(result.tools[0].name, agent)
      else assert.deepEqual([result.isError, layer.started.at(-1)!.externalUserId], [undefined, 'desk'])
    })
  }

  void test(`mcp.tool: ${variations.accept} Accept headers: each is answered in a form that it allows`, async () => {
    const range = fc.constantFrom(
      'application/json',
      'text/event-stream',
      '*/*',
      'application/*',
      'text/*',
      'text/html',
      'APPLICATION/JSON',
      'Text/Event-Stream',
    )
    const quality = fc.constantFrom('', ';q=1', ' ; q=0.5', ';q=0.9;charset=utf-8', ';level=1')
    const ranges = fc.array(fc.tuple(range, quality), { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(
        fc.option(ranges),
        fc.constantFrom(',', ', ', ' ,  '),
        fc.constantFrom('ping', 'tools/list', 'tools/call'),
        async (list, comma, method) => {
          // A fetch without the header sends */*.
          const accept = list === null ? null : list.map(([name, parameter]) => name + parameter).join(comma) || '*/*'
          const params = method === 'tools/call' ? { name: agent, arguments: { message: 'hi' }, _meta: { progressToken: 1 } } : {}
          const { status, type, message } = await send(request(method, params), accept)
          const named = (list ?? []).map(([name]) => name.toLowerCase())
          assert.deepEqual([status, message.id, 'result' in message], [200, 1, true], accept ?? 'missing')
          const isStream = type === 'text/event-stream'
          assert.equal(isStream, named.includes('text/event-stream'), `${accept}: ${type}`)
        },
      ),
      { numRuns: variations.accept },
    )
  })

  void test('mcp.tool: a form with the quality 0 is not sent', async () => {
    assert.equal((await send(request('ping'), 'application/json, text/event-stream;q=0')).type, 'application/json; charset=utf-8')
    assert.equal((await send(request('ping'), 'application/json;q=0.0, text/event-stream')).type, 'text/event-stream')
  })

  const none = fc.constantFrom<unknown>(undefined, null)
  const maybe = (value: unknown): fc.Arbitrary<unknown> => fc.constantFrom<unknown>(value, undefined, null)
  const meta = fc.oneof(none, fc.record({ progressToken: maybe(7), other: maybe('x') }))
  const client = fc.record({ name: fc.constant('c'), version: fc.constant('1'), title: maybe('C'), icons: none, websiteUrl: none })
  const capabilities = fc.record({
    roots: maybe({}),
    sampling: maybe({}),
    elicitation: maybe({ form: null }),
    experimental: none,
    x: maybe(1),
  })
  const call = fc.record({ message: fc.constant('hi'), external_user_id: maybe('ada'), idempotency_key: none })
  const methods: fc.Arbitrary<[string, unknown]>[] = [
    fc.tuple(fc.constant('ping'), fc.oneof(none, fc.record({ _meta: meta }))),
    fc.tuple(fc.constant('tools/list'), fc.oneof(none, fc.record({ cursor: none, _meta: meta }))),
    fc.tuple(
      fc.constant('initialize'),
      fc.oneof(
        none,
        fc.record({
          protocolVersion: fc.constantFrom<unknown>('2025-11-25', '2024-11-05', '2024-10-07', '1999-01-01', '2031-01-01', null, undefined),
          capabilities: fc.oneof(none, capabilities),
          clientInfo: fc.oneof(none, client),
          _meta: meta,
        }),
      ),
    ),
    fc.tuple(fc.constant('tools/call'), fc.record({ name: fc.constant(agent), arguments: call, task: none, _meta: meta })),
  ]

  void test(`mcp.tool: ${variations.nulls} messages with null or nothing for what is optional, and IDs of both types: each has its result`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(...methods), fc.constantFrom<unknown>(0, 7, -1, 'a', '7', ''), async ([method, params], id) => {
        const { status, message } = await send(request(method, params, id))
        assert.deepEqual([status, message.id, message.error, message.result?.isError], [200, id, undefined, undefined])
      }),
      { numRuns: variations.nulls },
    )
  })

  void test('mcp.tool: any notification is accepted, with or without params, and starts nothing', async () => {
    const started = layer.started.length
    for (const method of ['notifications/initialized', 'notifications/cancelled', 'notifications/unheard-of', 'notifications/progress'])
      for (const more of [{}, { params: null }, { params: { x: null } }, { id: null }])
        assert.deepEqual(await send({ jsonrpc: '2.0', method, ...more }), { status: 202, type: null, message: undefined }, method)
    assert.equal(layer.started.length, started)
  })

  void test('mcp.tool: what has no meaning here is an error that says so: an ID of null, a method of others, a batch', async () => {
    const started = layer.started.length
    const code = async (message: unknown): Promise<[number, number]> => {
      const { status, message: found } = await send(message)
      return [status, found.error.code]
    }
    assert.deepEqual(await code(request('tools/call', { name: agent, arguments: { message: 'hi' } }, null)), [400, -32_600])
    for (const method of ['resources/list', 'prompts/list', 'completion/complete', 'logging/setLevel', 'tasks/list'])
      assert.deepEqual(await code(request(method)), [200, -32_601], method)
    assert.deepEqual(await code([request('ping')]), [400, -32_600])
    assert.match((await send([request('ping')])).message.error.message, /one JSON-RPC message per request. Batches are not supported/)
    assert.equal(layer.started.length, started)
  })

  void test('mcp.tool: null is not a message, and unknown arguments stay refused', async () => {
    for (const args of [{ message: null }, { message: 'hi', other: null }, null]) {
      const { message } = await send(request('tools/call', { name: agent, arguments: args }))
      assert.equal(message.result.isError, true)
      assert.match(message.result.content[0].text, /^validation_error: (message is required|The arguments have an unknown field)/)
    }
  })
})

void test('mcp.progress: a client that reads JSON only gets the result of its call, without the progress', async () => {
  const params = { name: agent, arguments: { message: 'hi' }, _meta: { progressToken: 'p' } }
  for (const version of ['2025-06-18', '2026-07-28']) {
    const modern = {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
    }
    const isModern = version === '2026-07-28'
    const sent = isModern ? { ...params, _meta: { progressToken: 'p', ...modern } } : params
    const headers = { 'mcp-protocol-version': version, ...(isModern ? { 'mcp-method': 'tools/call', 'mcp-name': agent } : {}) }
    for (const accept of ['application/json', '*/*', 'text/event-stream']) {
      const { status, type, message } = await send(request('tools/call', sent), accept, headers)
      assert.deepEqual([status, message.result?.content?.[0]?.text], [200, 'hi'], `${version} ${accept} ${JSON.stringify(message)}`)
      assert.equal(type, accept === 'text/event-stream' ? accept : 'application/json; charset=utf-8')
    }
  }
})

void test('mcp.progress: a client that reads JSON and leaves ends nothing but its own listening', async () => {
  const turn = new ScriptedTurn()
  await using own = await startTestLayer({ begin: () => turn.started })
  const leaving = new AbortController()
  const reply = fetch(`${own.url}/mcp`, {
    method: 'POST',
    headers: { authorization: 'Bearer good', 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(request('tools/call', { name: agent, arguments: { message: 'hi', external_user_id: 'ada' } })),
    signal: leaving.signal,
  })
  await turn.listening
  leaving.abort()
  await assert.rejects(reply)
  await turn.left
  turn.complete()
  await turn.end
  await own.close()
  assert.deepEqual(own.logged, [])
})
