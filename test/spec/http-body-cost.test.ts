/** What the body of a request may cost, on every route that could take one. The routes are those of the three descriptions, and /mcp. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { askOpenAi, completionBody } from '../support/openai-caller.ts'
import { adminToken, read, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

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

type Route = { method: string; url: string; authorization: string }

/** All routes that are described with an invalid body, also those that take none: a caller can send one. */
async function bodyRoutes(app: TestApp): Promise<Route[]> {
  const publicKey = `Bearer ${app.caller.apiKey}`
  const token = `Bearer ${adminToken}`
  const routes: Route[] = [{ method: 'POST', url: `${app.url}/mcp`, authorization: publicKey }]
  for (const [base, description, authorization] of [
    [app.url, '/openapi.json', publicKey],
    [app.url, '/openai/openapi.json', publicKey],
    [app.adminUrl, '/admin/v1/openapi.json', token],
  ] as const) {
    const { paths } = (await (await fetch(`${base}${description}`, { headers: { authorization } })).json()) as {
      paths: Record<string, Json>
    }
    for (const [path, operations] of Object.entries(paths))
      for (const [method, { responses }] of Object.entries(operations) as [string, Json][])
        if (method !== 'get' && (description.startsWith('/openai') ? '400' in responses : '422' in responses)) {
          const filledIn = path.replace('{agent_id}', app.caller.agentId).replaceAll(/\{\w+\}/g, 'none')
          routes.push({ method: method.toUpperCase(), url: `${base}${filledIn}`, authorization })
        }
  }
  return routes
}

const send = async ({ method, url, authorization }: Route, body: string) =>
  read(
    await fetch(url, {
      method,
      body,
      headers: { authorization, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
    }),
  )

/** Milliseconds of this process: of the server and of the caller, which sends the same bytes each time. */
async function cpuOf(route: Route, body: string): Promise<number> {
  const before = process.cpuUsage()
  const { status, text } = await send(route, body)
  assert.ok(status < 500, `${status} ${text}`)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

let app: TestApp
let routes: Route[]
before(async () => {
  app = await startTestApp({ key: { mcp: true }, agent: { max_message_length: 1_000_000 } })
  routes = await bodyRoutes(app)
})

void test('the routes that could take a body', () => {
  for (const part of ['/mcp', '/chat', '/chat/stream', '/feedback', '/cancel', '/chat/completions', '/responses', '/agents', '/session'])
    assert.ok(
      routes.some(({ url }) => url.endsWith(part)),
      part,
    )
  assert.ok(routes.length > 50, `${routes.length}`)
})
after(() => app.close())

void test('order.validation: on every route, a body with too many values is refused with the bound, in the form of the route', async () => {
  for (const route of routes) {
    const { status, json, text } = await send(route, manyValues['names']!)
    const title = `${route.method} ${route.url}: ${status} ${text.slice(0, 200)}`
    if (status === 413) continue
    assert.match(json.error?.message ?? '', /too many values\. It may have at most (?:256|1024|16384) fields and list elements/, title)
    if (route.url.endsWith('/mcp')) assert.deepEqual([status, json.error.code], [400, -32_700], title)
    else assert.deepEqual([status, json.error.code], [/\/v1\/(?:chat|responses)/.test(route.url) ? 400 : 422, 'validation_error'], title)
  }
})

void test('order.validation: on every route, no kind of JSON costs 20 times what plain text of its size costs', async () => {
  const slow: string[] = []
  for (const route of routes) {
    const cheapest = async (body: string, enough: number): Promise<number> => {
      let best = Infinity
      for (let tries = 0; tries < 5 && best > enough; tries++) best = Math.min(best, await cpuOf(route, body))
      return best
    }
    // The best of several, because the first request of a route compiles its schema.
    const budget = 20 * Math.max(1, await cheapest(plain, 3))
    for (const [kind, body] of Object.entries({ ...manyValues, ...fewValues })) {
      const cpu = await cheapest(body, budget)
      if (cpu > budget) slow.push(`${route.method} ${route.url} ${kind}: ${cpu} ms of ${budget}`)
    }
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
  const { status, text } = await app.chat('\n'.repeat(500_000))
  // The scripted model does not take a message of this size. What counts here is that its turn has started.
  assert.ok(status === 200 || status === 503, text)
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
