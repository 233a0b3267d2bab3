/**
 * What someone without a key or token can make the server do: `order.pipelining`, `admin.guesses`, the size of a sign-in, and a budget of
 * memory and CPU for every request that needs no key.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { byPage, cookieOf, signIn } from '../support/console-visitor.ts'
import { RawSocket } from '../support/raw-socket.ts'
import { startServer } from '../support/server-process.ts'
import { adminToken, makeFolder, startTestApp } from '../support/test-app.ts'
import { body, chatPath, ScriptedTurn, startTestLayer } from '../support/test-http-layer.ts'

// `order.pipelining`
const inProgress = 8
const allowed = 32

const get = (path: string, ...headers: string[]): string =>
  `GET ${path} HTTP/1.1\r\n${['Host: x', ...headers].map((line) => `${line}\r\n`).join('')}\r\n`
const chat =
  `POST ${chatPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\n` +
  `Content-Length: ${body().length}\r\n\r\n${body()}`

void test('order.pipelining: a connection has eight requests in progress; the others wait and are answered in order', async () => {
  const turns: ScriptedTurn[] = []
  await using layer = await startTestLayer({
    begin() {
      const turn = new ScriptedTurn()
      turns.push(turn)
      return turn.started
    },
  })
  try {
    using raw = await RawSocket.open(layer.port)
    raw.write(chat.repeat(20))
    while (turns.length < inProgress) await pass(5)
    // Another connection's request passes through the same event loop: by then, more would have started.
    assert.equal((await fetch(`${layer.url}/healthz`)).status, 200)
    assert.equal(turns.length, inProgress)
    for (let answered = 0; answered < 20; answered++) {
      while (turns.length <= answered) await pass(5)
      assert.ok(turns.length <= answered + inProgress, `${turns.length} in progress after ${answered} responses`)
      turns[answered]!.say(`reply ${answered}`)
      turns[answered]!.complete()
      await raw.until(`reply ${answered}"`)
    }
    assert.deepEqual(
      raw.answers.map(({ json }) => json.message.content),
      Array.from({ length: 20 }, (_, index) => `reply ${index}`),
    )
  } finally {
    for (const turn of turns) turn.complete()
  }
})

void test('order.pipelining: a connection that sends more than 32 requests ahead of their responses is closed, and others are served', async () => {
  const turn = new ScriptedTurn()
  await using layer = await startTestLayer({ begin: () => turn.started })
  try {
    using most = await RawSocket.open(layer.port)
    const all = allowed
    most.write(chat + get('/healthz').repeat(all - 1))
    using tooMany = await RawSocket.open(layer.port)
    tooMany.write(chat + get('/healthz').repeat(all))
    await tooMany.rest()
    assert.deepEqual(tooMany.answers, [])
    assert.equal((await fetch(`${layer.url}/healthz`)).status, 200)
    turn.say('hi')
    turn.complete()
    while (most.answers.length < all) await most.until(/./s).then(() => pass(5))
    assert.deepEqual(
      most.answers.map(({ status }) => status),
      Array<number>(all).fill(200),
    )
  } finally {
    turn.complete()
  }
})

// One request for each event that Node's server emits for what it parses, and each way in which a request is refused before its route. Not
// an upgrade: Node discards what follows one in the same read.
const messages: Record<string, string> = {
  'request, of a route': get('/healthz'),
  'request, of no route': get('/x'),
  'request, without a Host': 'GET /x HTTP/1.1\r\n\r\n',
  checkContinue: get('/x', 'Expect: 100-continue'),
  'checkContinue, with a body': `POST /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx`,
  checkExpectation: get('/x', 'Expect: x'),
  'checkExpectation, with a body': `POST /x HTTP/1.1\r\nHost: x\r\nExpect: x\r\nContent-Length: 1\r\n\r\nx`,
  connect: 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
  clientError: 'FOO /x HTTP/1.1\r\nHost: x\r\n\r\n',
}

for (const [event, message] of Object.entries(messages))
  void test(`order.pipelining: a flood on one connection closes it, whatever event the HTTP parser emits: ${event}`, async () => {
    // No timeout of the server may close it before the test has waited for its end.
    await using layer = await startTestLayer({ times: { headersMs: 60_000, requestMs: 60_000 } })
    using raw = await RawSocket.open(layer.port)
    raw.write(message.repeat(5000))
    const others = pass(20_000, 'open', { ref: false })
    assert.notEqual(await Promise.race([raw.rest(), others]), 'open', `${raw.answers.length} responses, and the connection is open`)
    assert.ok(raw.answers.length <= allowed, `${raw.answers.length} responses`)
    assert.equal((await fetch(`${layer.url}/healthz`)).status, 200)
  })

void test('order.pipelining: after a 417 the connection is closed, and nothing that follows in the same packet is run', async () => {
  await using layer = await startTestLayer()
  using raw = await RawSocket.open(layer.port)
  raw.write(get('/x', 'Expect: x') + chat)
  await raw.rest()
  assert.deepEqual([raw.answers.map(({ status }) => status), layer.started], [[417], []])
  assert.equal(raw.answers[0]!.headers['connection'], 'close')
})

void test('order.body-size: a sign-in of more than 16 KiB is 413', async () => {
  await using app = await startTestApp()
  const large = await fetch(`${app.url}/admin/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-turnkeep-console': '1', origin: app.url },
    body: JSON.stringify({ token: 'x'.repeat(16_384) }),
  })
  assert.equal(large.status, 413)
  assert.match(((await large.json()) as any).error.message, /larger than 16 KiB/)
})

void test('admin.guesses: wrong tokens are delayed after the tenth, eight at a time; a right one is not', async () => {
  await using app = await startTestApp()
  const call = async (token: string): Promise<number> => {
    const response = await fetch(`${app.url}/admin/v1/owners`, { headers: { authorization: `Bearer ${token}` } })
    await response.arrayBuffer()
    return response.status
  }
  for (let guess = 0; guess < 9; guess++) assert.equal(await call(`wrong-${guess}`), 401)
  const guesses = Array.from({ length: 40 }, (_, index) => call(`wrong-again-${index}`))
  const statuses = await Promise.all(guesses)
  // The delay is a second; whatever arrives meanwhile beyond eight is refused immediately.
  assert.ok(statuses.filter((status) => status === 401).length < 40, statuses.join())
  assert.ok(statuses.filter((status) => status === 429).length >= 1, statuses.join())
  assert.equal(await call(adminToken), 200)
  assert.equal((await fetch(`${app.url}/admin/v1/owners`)).status, 401, 'a request without a token is no guess')
})

void test('admin.guesses: while guesses of the same address wait, the right token and a session are served, also at /metrics', async () => {
  await using app = await startTestApp()
  const cookie = cookieOf(await signIn(app.adminUrl))
  const ask = async (path: string, headers: Record<string, string>): Promise<number> => {
    const response = await fetch(app.adminUrl + path, { headers })
    await response.arrayBuffer()
    return response.status
  }
  const guess = (index: number): Promise<number> => ask('/admin/v1/owners', { authorization: `Bearer wrong-${index}` })
  const guessSession = (index: number): Promise<number> =>
    ask('/admin/v1/owners', { ...byPage(app.adminUrl), cookie: `turnkeep_session=${String(index).padStart(43, 'x')}` })
  for (let index = 0; index < 9; index++) assert.equal(await guess(index), 401)
  const guesses = Array.from({ length: 30 }, (_, index) => (index % 2 === 0 ? guess(index) : guessSession(index)))
  // Once one is refused, eight wait.
  await Promise.any(guesses.map(async (status) => assert.equal(await status, 429)))
  const token = { authorization: `Bearer ${adminToken}` }
  const page = { ...byPage(app.adminUrl), cookie }
  const asked = [ask('/admin/v1/owners', token), ask('/metrics', token), ask('/admin/v1/owners', page), ask('/admin/v1/session', page)]
  assert.deepEqual(await Promise.all(asked), [200, 200, 200, 200])
  assert.deepEqual([...new Set(await Promise.all(guesses))].toSorted(), [401, 429])
})

void test('every response of the API and its errors must not be stored by a cache', async () => {
  await using app = await startTestApp()
  const { apiKey, agentId } = app.caller
  const own = { authorization: `Bearer ${apiKey}` }
  for (const [path, headers] of [
    [`/v1/agents/${agentId}/conversations`, own],
    [`/v1/agents/${agentId}/conversations`, {}],
    ['/admin/v1/owners', { authorization: `Bearer ${adminToken}` }],
    ['/admin/v1/owners', {}],
    ['/nope', {}],
    ['/readyz', {}],
    ['/metrics', { authorization: `Bearer ${adminToken}` }],
  ] as [string, Record<string, string>][])
    assert.equal((await fetch(app.url + path, { headers })).headers.get('cache-control'), 'no-store', path)
  using raw = await RawSocket.open(Number(new URL(app.url).port))
  raw.write('garbage\r\n\r\n')
  await raw.rest()
  assert.equal(raw.answers[0]!.headers['cache-control'], 'no-store')
})

void test('a stream of the admin API must not be stored by a cache, and no stream may be changed on the way', async () => {
  await using app = await startTestApp()
  const { apiKey, agentId } = app.caller
  const admin = `${app.adminUrl}/admin/v1`
  const turn = (await app.chat('hello')).json.request_id
  const sent = (url: string, token: string, body?: object): Promise<Response> =>
    fetch(url, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
  const message = { message: 'hello' }
  const streams: [string, Response][] = [
    ['no-store, no-transform', await sent(`${admin}/agents/${agentId}/preview`, adminToken, message)],
    ['no-store, no-transform', await sent(`${admin}/agents/${agentId}/playground`, adminToken, message)],
    ['no-store, no-transform', await sent(`${admin}/turns/${turn}/stream`, adminToken)],
    ['no-cache, no-transform', await sent(`${app.url}/v1/agents/${agentId}/turns/${turn}/stream`, apiKey)],
  ]
  for (const [caching, { url, headers, body }] of streams) {
    assert.equal(headers.get('content-type'), 'text/event-stream', url)
    assert.equal(headers.get('cache-control'), caching, url)
    await body!.cancel()
  }
})

// Everything that is answered without a key, once as small as possible and otherwise as large as the server allows.
const unauthenticated: [string, string][] = [
  ['the start page', get('/')],
  ['GET /healthz', get('/healthz')],
  ['GET /readyz', get('/readyz')],
  ['GET /openapi.json', get('/openapi.json')],
  ['GET /openapi.json, compressed', get('/openapi.json', 'Accept-Encoding: gzip')],
  ['GET /docs', get('/docs')],
  ['GET /docs/style.css', get('/docs/style.css')],
  ['GET /console', get('/console')],
  ['an unknown path', get(`/${'x'.repeat(8000)}`)],
  ['an unknown Expect header', get('/x', 'Expect: x')],
  ['a wrong method', `DELETE /healthz HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a chat without a key', get(chatPath)],
  ['a chat with a wrong key', get(chatPath, `Authorization: Bearer svc_live_${'a'.repeat(40)}.${'b'.repeat(43)}`)],
  ['the admin API without a token', get('/admin/v1/owners')],
  ['the metrics without a token', get('/metrics')],
]
const connections = 10
const pipelined = 5000
// A server that keeps what is pipelined and not read needs 10 × 5,000 × 60 KB for /openapi.json.
const heapMiB = 160
const budget = { bytes: 3_000, cpuMs: 2 }

void test('order.pipelining: each request without a key has a budget in bytes and CPU, also if its responses are never read', async (t) => {
  const folder = await makeFolder()
  t.after(() => rm(folder, { recursive: true, force: true }))
  const server = await startServer({
    TURNKEEP_DATA_DIR: folder,
    TURNKEEP_ADMIN_TOKEN: adminToken,
    TURNKEEP_LOG_LEVEL: 'info',
    NODE_OPTIONS: `--max-old-space-size=${heapMiB}`,
  })
  t.after(() => server.kill())
  const port = Number(new URL(server.url).port)
  const figures = async (): Promise<{ bytes: number; cpuMs: number }> => {
    const page = await (await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } })).text()
    const read = (name: string): number => Number(new RegExp(`^${name} (.+)$`, 'm').exec(page)![1])
    return { bytes: read('process_resident_memory_bytes'), cpuMs: read('process_cpu_seconds_total') * 1000 }
  }
  let warm = false
  // The first one only warms up: the heap grows to its working size.
  for (const [name, request] of [unauthenticated[1]!, ...unauthenticated]) {
    const before = await figures()
    const raws = await Promise.all(Array.from({ length: connections }, () => RawSocket.open(port)))
    for (const { socket } of raws) {
      socket.pause()
      socket.write(request.repeat(pipelined))
    }
    // Requests of others are answered meanwhile, one after the other, until nothing moves anymore.
    for (let others = 0; others < 20; others++) assert.equal((await fetch(`${server.url}/healthz`)).status, 200)
    const after = await figures()
    for (const { socket } of raws) socket.destroy()
    const sent = connections * pipelined
    const each = { bytes: Math.max(0, after.bytes - before.bytes) / sent, cpuMs: (after.cpuMs - before.cpuMs) / sent }
    t.diagnostic(`${name}: ${each.bytes.toFixed(0)} bytes, ${each.cpuMs.toFixed(4)} ms of CPU`)
    if (warm) assert.ok(each.bytes <= budget.bytes && each.cpuMs <= budget.cpuMs, `${name}: ${JSON.stringify(each)}`)
    warm = true
  }
  assert.equal(server.child.exitCode, null)
})
