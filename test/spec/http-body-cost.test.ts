/** What the body of a request may cost, on every route that could take one. The routes are those that the service has registered. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { defaultValues } from '../../src/http/edge/request-body.ts'
import { askOpenAi, completionBody } from '../support/openai-caller.ts'
import { RawSocket } from '../support/raw-socket.ts'
import { withRoutes } from '../support/registered-routes.ts'
import type { RegisteredRoute } from '../support/registered-routes.ts'
import { adminToken, read, startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'
import { valuesOf } from '../support/values-of-schema.ts'
import { until } from '../support/until.ts'

const bytes = 1_048_576

/** As many pieces as fit, with commas between them. */
function filled(open: string, close: string, piece: (at: number) => string): string {
  const pieces: string[] = []
  for (let at = 0, left = bytes - open.length - close.length; ; at++) {
    left -= piece(at).length + 1
    if (left < 0) return open + pieces.join(',') + close
    pieces.push(piece(at))
  }
}
const repeated = (text: string): string => text.repeat(Math.floor((bytes - 100) / Buffer.byteLength(text)))
const textOf = (text: string): string => `{"message":"${repeated(text)}"}`

/** JSON of 1 MiB that has far more values than any body of the API. */
const manyValues: Record<string, string> = {
  names: filled('{', '}', (at) => `"n${at}":0`),
  'names in an inner object': filled('{"_meta":{', '}}', (at) => `"n${at}":{}`),
  'names in a call of MCP': filled('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{', '}}}', (at) => `"n${at}":0`),
  'names as numbers': filled('{', '}', (at) => `"${at * 7919}":0`),
  'names with escapes': filled('{', '}', (at) => `"\\u0061${at}":0`),
  'repeated names': filled('{', '}', () => '"a":0'),
  'small objects': filled('{"messages":[', ']}', () => '{"a":{"b":1}}'),
  'empty lists': filled('{"messages":[', ']}', () => '[]'),
  'empty objects': filled('[', ']', () => '{}'),
  numbers: filled('{"input":[', ']}', () => '1'),
  texts: filled('[', ']', () => '""'),
}
/** The others, which are slow to parse in some parsers. */
const fewValues: Record<string, string> = {
  'a deep list': repeated('['),
  'escaped quotes': textOf('\\"'),
  backslashes: textOf('\\\\'),
  'escaped characters': textOf('\\u00e9'),
  'a long number': `{"message":${repeated('7')}}`,
  'a long fraction': `{"message":0.${repeated('7')}}`,
  'non-ASCII text': textOf('é'),
  emoji: textOf('😀'),
  'a user ID': `{"external_user_id":"${repeated('u')}","message":"m"}`,
  'a user of OpenAI': `{"model":"m","user":"${repeated('u')}"}`,
  'white space': `${repeated(' ')}{}`,
}
const plain = textOf('m')

type Route = { method: string; url: string; authorization: string; registered: RegisteredRoute }

let app: TestApp
let registered: RegisteredRoute[]
let routes: Route[]
before(async () => {
  // The scripted model repeats a message, so its longest reply has to be as long as the longest message.
  const agent = { max_message_length: 1_000_000, max_output_tokens: 8000 }
  const { started, routes: all } = await withRoutes(() => startTestApp({ balanceUsd: '1000', key: { mcp: true }, agent }))
  app = started
  // A request with one of the other methods is refused without a look at its body. So is every path that does not exist.
  registered = all.filter(({ method, url }) => ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method) && !/^\/admin\/v1(?:\/\*)?$/.test(url))
  routes = registered.map((route) => {
    const path = route.url.replace(':agent_id', app.caller.agentId).replaceAll(/:\w+/g, 'none')
    const authorization = `Bearer ${path.startsWith('/admin/') ? adminToken : app.caller.apiKey}`
    return { method: route.method, url: `${app.url}${path}`, authorization, registered: route }
  })
})
after(() => app.close())

const boundOf = ({ config }: RegisteredRoute): number => config?.maxJsonValues ?? defaultValues
const nameOf = ({ method, url }: { method: string; url: string }): string => `${method} ${url}`

void test('order.validation: every route whose body may have many values, or has no schema, states how many it may have', () => {
  assert.ok(registered.length > 50, `${registered.length}`)
  const silent = registered.filter(
    ({ body, named, config }) => config?.maxJsonValues === undefined && (body === undefined || valuesOf(body, named) > defaultValues),
  )
  // Those that take no body at all.
  assert.deepEqual(silent.filter(({ method }) => method !== 'DELETE').map(nameOf), [
    'POST /v1/agents/:agent_id/turns/:request_id/cancel',
    'POST /v1/responses/:response_id/cancel',
  ])
  const unbounded = registered.filter(({ body, named }) => body !== undefined && valuesOf(body, named) === Infinity)
  assert.deepEqual(unbounded.map(nameOf).toSorted(), [
    'PATCH /admin/v1/agents/:id',
    'POST /admin/v1/agents',
    'POST /admin/v1/agents/:id/tools/try',
    'POST /admin/v1/me/passkeys',
    'POST /admin/v1/session/passkey',
  ])
})

const send = async ({ method, url, authorization }: Route, body: string | Buffer) =>
  read(
    await fetch(url, {
      method,
      body,
      headers: { authorization, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
    }),
  )

void test('order.validation: on every route, a body with too many values is refused with the bound, in the form of the route', async () => {
  for (const route of routes) {
    const { status, json, text } = await send(route, manyValues['names']!)
    const title = `${nameOf(route)}: ${status} ${text.slice(0, 200)}`
    if ((route.registered.bodyLimit ?? bytes) < bytes) {
      assert.equal(status, 413, title)
      continue
    }
    const bound = `The body has too many values. It may have at most ${boundOf(route.registered)} fields and list elements in all.`
    assert.ok(String(json.error?.message).includes(bound), title)
    if (route.url.endsWith('/mcp')) assert.deepEqual([status, json.error.code], [400, -32_700], title)
    else assert.deepEqual([status, json.error.code], [/\/v1\/(?:chat|responses)/.test(route.url) ? 400 : 422, 'validation_error'], title)
  }
})

void test('overload.bodies: on every route, a body is refused at its first value beyond the bound or level too deep, before the rest arrives', async (t) => {
  const first = { values: `[${'0,'.repeat(40_000)}`, levels: '['.repeat(100) }
  for (const { method, url, authorization, registered: of } of routes) {
    if ((of.bodyLimit ?? bytes) < bytes) continue
    for (const [kind, part] of Object.entries(first)) {
      const raw = await RawSocket.open(Number(new URL(url).port))
      t.after(() => raw.socket.destroy())
      raw.write(
        `${method} ${new URL(url).pathname} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n${part}`,
      )
      // The response and the end of the connection, while the body is incomplete.
      await until('the response', () => raw.ended || raw.socket.destroyed)
      const { received } = raw
      assert.match(received, /^HTTP\/1\.1 4(?:00|22) /, `${nameOf({ method, url })}: ${received.slice(0, 200)}`)
      assert.match(received, kind === 'values' ? /too many values/ : /nested too deeply/, nameOf({ method, url }))
    }
  }
})

void test('order.validation: a caller that writes all of a refused body before it reads gets the response', async () => {
  const body = manyValues['names']!
  for (let times = 0; times < 20; times++) {
    const raw = await RawSocket.open(Number(new URL(app.url).port))
    const head = `POST /v1/agents/${app.caller.agentId}/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.caller.apiKey}\r\nIdempotency-Key: k\r\n`
    raw.socket.pause()
    raw.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`)
    await new Promise((resolve) => raw.socket.write(body, resolve))
    raw.socket.resume()
    assert.match(await raw.rest(), /too many values/)
    assert.ok(raw.ended)
  }
})

/** Milliseconds of this thread, which has the server and the caller. */
async function cpuOf(route: Route, body: Buffer): Promise<number> {
  const started = process.threadCpuUsage()
  const { status, text } = await send(route, body)
  assert.ok(status < 500, `${status} ${text}`)
  const { user, system } = process.threadCpuUsage(started)
  return (user + system) / 1000
}

// Before values were counted, bodies of many names took ten to ninety times as long as plain text.
const maxRatio = 6

let budget: Promise<number> | undefined
/** Plain text costs the same on all routes, apart from the schema, which the first request of a route compiles. One request may be too short to be
 * measured, so this is the mean of all routes. */
async function measureBudget(): Promise<number> {
  const body = Buffer.from(plain)
  const costs: number[] = []
  for (const route of routes) {
    await send(route, body)
    if ((route.registered.bodyLimit ?? bytes) >= bytes) costs.push(await cpuOf(route, body))
  }
  return maxRatio * (costs.reduce((sum, cpu) => sum + cpu, 0) / costs.length)
}

// A test for each kind, because all of them together take minutes on a busy machine.
for (const [kind, text] of Object.entries({ ...manyValues, ...fewValues }))
  void test(`order.validation: on every route, JSON of ${kind} costs less than ${maxRatio} times what plain text of its size costs`, async () => {
    const limit = await (budget ??= measureBudget())
    const body = Buffer.from(text)
    const slow: string[] = []
    for (const route of routes) {
      let best = Infinity
      for (let tries = 0; tries < 5 && best > limit; tries++) best = Math.min(best, await cpuOf(route, body))
      if (best > limit) slow.push(`${nameOf(route)}: ${best} ms of ${limit}`)
    }
    assert.deepEqual(slow, [])
  })

void test('order.validation: a message of 256 values is read, and one of 257 is refused', async () => {
  const bodyOf = (values: number): string => JSON.stringify({ external_user_id: 'u', message: Array.from({ length: values - 2 }, () => 0) })
  const within = await read(await app.chatRequest(bodyOf(256)))
  assert.match(within.json.error.message, /message must be of type string/)
  const beyond = await read(await app.chatRequest(bodyOf(257)))
  assert.match(beyond.json.error.message, /too many values/)
})

void test('order.validation: large bodies that callers really send are read', async () => {
  // Control characters take two bytes of JSON each.
  const long = `${'\n'.repeat(499_995)}hello`
  const { status, json, text } = await app.chat(long)
  assert.equal(status, 200, text.slice(0, 500))
  assert.equal(json.message.content, `You said: ${long}`)
  const history = Array.from({ length: 2000 }, (_, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: [{ type: 'text', text: `Message ${at}` }],
  }))
  const messages = [...history, { role: 'user', content: [{ type: 'text', text: 'hello' }] }]
  const completed = await askOpenAi(app, { body: completionBody(app, '', { messages }) })
  assert.equal(completed.status, 200, completed.text)
  const properties = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`p${at}`, { type: 'string', enum: ['a', 'b', 'c'] }]))
  const tools = Array.from({ length: 32 }, (_, at) => ({
    type: 'http',
    name: `tool_${at}`,
    description: 'A tool.',
    parameters: { type: 'object', properties, required: ['p0'] },
    method: 'GET',
    url: 'https://example.com/tool',
  }))
  await app.makeAgent(app.caller.ownerId, { tools })
})
