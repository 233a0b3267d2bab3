/**
 * `admin.limits`, `overload.bodies`: no operator, token, API key or address can take the whole service with many requests or with bodies that
 * never end. Over real sockets.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPrincipalLimit } from '../../src/http/admin/principal-limits.ts'
import { adminTokenPrincipal } from '../../src/operators/principal.ts'
import { startOperator, ConsoleBrowser } from '../support/operators.ts'
import { RawSocket } from '../support/raw-socket.ts'
import { apiKey, startTestLayer } from '../support/test-http-layer.ts'
import { adminToken, read, startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp } from '../support/test-app.ts'
import { until } from '../support/until.ts'

const tokenOf = async (app: TestApp, role = 'viewer'): Promise<string> =>
  (await app.made('POST', '/tokens', { name: 'script', role }))['token']

const ask = async (app: TestApp, path: string, token: string, init: RequestInit = {}): Promise<Answer> =>
  read(await fetch(`${app.adminUrl}${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } }))

const rateHeadersOf = ({ headers }: Answer): (number | null)[] =>
  ['x-ratelimit-limit', 'x-ratelimit-remaining'].map((name) => (headers.has(name) ? Number(headers.get(name)) : null))

const unfinished: RawSocket[] = []

/** The service waits for requests in progress when it ends, so their clients leave before. */
async function close(app: TestApp): Promise<void> {
  for (const { socket } of unfinished.splice(0)) socket.destroy()
  await app.close()
}

/** Sends the head of a request and a part of its body. */
async function startBody(url: string, path: string, token: string, sent: number, type = 'application/json'): Promise<RawSocket> {
  const raw = await RawSocket.open(Number(new URL(url).port))
  unfinished.push(raw)
  const authorization = token === '' ? '' : `Authorization: Bearer ${token}\r\n`
  raw.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${authorization}Idempotency-Key: k\r\nContent-Type: ${type}\r\nContent-Length: ${sent + 1}\r\n\r\n`,
  )
  raw.write(Buffer.alloc(sent, ' '))
  return raw
}

const startBodies = (count: number, ...given: Parameters<typeof startBody>): Promise<RawSocket[]> =>
  Promise.all(Array.from({ length: count }, () => startBody(...given)))

const answered = (all: RawSocket[]): RawSocket[] => all.filter(({ received }) => received.includes('\r\n\r\n'))

void test('admin.limits: a token that has used its window gets 429 with the time to wait, and no one else does', async (t) => {
  const app = await startTestApp({ env: { TURNKEEP_ADMIN_RATE_LIMIT: '60' } })
  t.after(() => close(app))
  const [script, other] = [await tokenOf(app), await tokenOf(app)]
  const { browser } = await startOperator(app, { role: 'viewer' })
  const first = await ask(app, '/admin/v1/owners', script)
  assert.deepEqual([first.status, ...rateHeadersOf(first)], [200, 60, 59])
  const answers = await Promise.all(Array.from({ length: 80 }, () => ask(app, '/admin/v1/owners?limit=x', script)))
  assert.deepEqual(
    [422, 429].map((status) => answers.filter((answer) => answer.status === status).length),
    [59, 21],
  )
  for (const path of ['/admin/v1/owners', '/admin/v1/nowhere', '/admin/v1/openapi.json', '/metrics']) {
    const refused = await ask(app, path, script)
    assert.deepEqual([refused.status, refused.json['error']?.code, ...rateHeadersOf(refused)], [429, 'rate_limit_exceeded', 60, 0], path)
    assert.match(refused.json['error'].message, /sent 60 requests within a minute.*TURNKEEP_ADMIN_RATE_LIMIT.*Retry-After/)
    const wait = Number(refused.headers.get('retry-after'))
    assert.ok(wait >= 1 && wait <= 60, `${wait}`)
  }
  assert.equal((await ask(app, '/admin/v1/owners', other)).status, 200)
  assert.equal((await ask(app, '/admin/v1/owners', adminToken)).status, 200)
  assert.equal((await browser.ask('GET', '/owners')).status, 200)
  assert.equal((await app.chat('hi')).status, 200)
  const wrong = await ask(app, '/admin/v1/owners', 'wrong')
  assert.deepEqual([wrong.status, ...rateHeadersOf(wrong)], [401, null, null])
})

void test('admin.limits: all sessions of an operator are one principal, and those of the admin token are another one than the token', async (t) => {
  const app = await startTestApp({ env: { TURNKEEP_ADMIN_RATE_LIMIT: '60' } })
  t.after(() => close(app))
  const { browser, email } = await startOperator(app, { role: 'viewer' })
  const second = new ConsoleBrowser(app.adminUrl)
  await second.made('POST', '/session', { email, password: 'a lamp in the attic' })
  const used = async (one: ConsoleBrowser): Promise<number> => 60 - Number((await one.ask('GET', '/me')).headers['x-ratelimit-remaining'])
  const before = await used(browser)
  assert.deepEqual([await used(second), await used(browser)], [before + 1, before + 2])
  const root = new ConsoleBrowser(app.adminUrl)
  await root.made('POST', '/session', { token: adminToken })
  assert.equal(await used(root), 1)
})

void test('admin.limits: a window lasts a minute from its first request, by the clock of the process', () => {
  let now = 0
  const limit = createPrincipalLimit({ rate: 2, parallel: 10 }, () => now)
  const call = (): unknown => {
    const reply = { headers: () => undefined, raw: { destroyed: false, once: () => undefined } }
    try {
      return limit(adminTokenPrincipal, false, {} as never, reply as never)
    } catch (error) {
      return error
    }
  }
  assert.deepEqual([call(), call()], [undefined, undefined])
  assert.equal((call() as Json)['retryAfterSeconds'], 60)
  now = 59_500
  assert.equal((call() as Json)['retryAfterSeconds'], 1)
  now = 60_000
  assert.equal(call(), undefined)
})

void test('admin.limits: more requests in progress than allowed get 429, until one of them has ended; others are served', async (t) => {
  const app = await startTestApp({ env: { TURNKEEP_ADMIN_MAX_PARALLEL: '3' } })
  t.after(() => close(app))
  const [script, other] = [await tokenOf(app, 'admin'), await tokenOf(app, 'admin')]
  const all = await startBodies(4, app.adminUrl, '/admin/v1/owners', script, 10)
  await until('one of them is refused', () => answered(all).length === 1)
  const held = all.filter((raw) => !answered(all).includes(raw))
  const refused = await ask(app, '/admin/v1/owners', script)
  assert.deepEqual([refused.json['error'].code, refused.headers.get('retry-after')], ['rate_limit_exceeded', '1'])
  assert.match(refused.json['error'].message, /3 requests in progress.*TURNKEEP_ADMIN_MAX_PARALLEL/)
  assert.equal((await ask(app, '/admin/v1/owners', other)).status, 200)
  assert.deepEqual(answered(held), [])
  // One is finished, one has left: none of them counts any more.
  held[0]!.write('x')
  held[1]!.socket.destroy()
  await until('two have ended', async () => (await ask(app, '/admin/v1/owners', script)).status === 200)
  for (const { socket } of held) socket.destroy()
  await until('all have ended', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => ask(app, '/admin/v1/owners', script)))
    return answers.every(({ status }) => status === 200)
  })
})

void test('overload.bodies: an operator or token holds at most 16 MiB of bodies that do not end, and others are served', async (t) => {
  const app = await startTestApp()
  t.after(() => close(app))
  const [script, other] = [await tokenOf(app, 'admin'), await tokenOf(app, 'admin')]
  const bodies = await startBodies(60, app.adminUrl, '/admin/v1/owners', script, 1_000_000)
  await until('44 are refused', () => answered(bodies).length >= 44)
  for (const { received } of answered(bodies))
    assert.match(received, /^HTTP\/1\.1 503 [\s\S]*Retry-After: 5[\s\S]*Too many request bodies have started/i)
  const made = await startBody(app.adminUrl, '/admin/v1/owners', other, 100_000)
  made.write('x')
  assert.match(await made.until('\r\n\r\n'), /^HTTP\/1\.1 422 /)
  for (const { socket } of bodies) socket.destroy()
  await until('the bodies are gone', async () => {
    const again = await startBody(app.adminUrl, '/admin/v1/owners', script, 500_000)
    again.write('x')
    return (await again.until('\r\n\r\n')).startsWith('HTTP/1.1 422 ')
  })
})

void test('overload.bodies: an owner holds at most 16 MiB of bodies that do not end, on every route, and others are served', async () => {
  await using layer = await startTestLayer({
    authenticate: (authorization) => ({
      kind: 'authenticated',
      apiKey: { ...apiKey, id: String(authorization), ownerId: String(authorization) },
    }),
  })
  const paths = ['/v1/agents/agt_door/chat', '/v1/agents/agt_door/chat/stream', '/v1/chat/completions', '/v1/responses', '/mcp']
  const bodies = (await Promise.all(paths.map((path) => startBodies(8, layer.url, path, 'a', 1_000_000)))).flat()
  await until('24 are refused', () => answered(bodies).length >= 24)
  for (const { received } of answered(bodies)) assert.match(received, /^HTTP\/1\.1 503 /)
  for (const path of paths) {
    const other = await startBody(layer.url, path, 'b', 100)
    other.write('x')
    assert.doesNotMatch(await other.until('\r\n\r\n'), /^HTTP\/1\.1 503 /)
  }
  assert.deepEqual(layer.started, [])
  for (const { socket } of bodies) socket.destroy()
})

void test('overload.bodies: bodies of sign-ins that do not end are limited by address, and take nothing from those who are signed in', async (t) => {
  const app = await startTestApp()
  t.after(() => close(app))
  const bodies = await startBodies(200, app.adminUrl, '/admin/v1/session', '', 16_000)
  await until('60 are refused', () => answered(bodies).length >= 60)
  for (const { received } of answered(bodies)) assert.match(received, /^HTTP\/1\.1 503 /)
  const made = await startBody(app.adminUrl, '/admin/v1/owners', adminToken, 100_000)
  made.write('x')
  assert.match(await made.until('\r\n\r\n'), /^HTTP\/1\.1 422 /)
  const refused = await startBody(app.adminUrl, '/admin/v1/owners', 'wrong', 16_000)
  assert.match(await refused.until('\r\n\r\n'), /^HTTP\/1\.1 401 /, 'a wrong token is refused before its body is read')
})

void test('overload.bodies: one token uploads at most four files at the same time, and others still can', async (t) => {
  const app = await startTestApp()
  t.after(() => close(app))
  const [script, other] = [await tokenOf(app, 'admin'), await tokenOf(app, 'admin')]
  const path = `/admin/v1/agents/${app.caller.agentId}/documents`
  const uploads = await startBodies(6, app.adminUrl, path, script, 1000, 'multipart/form-data; boundary=b')
  await until('2 are refused', () => answered(uploads).length >= 2)
  for (const { received } of answered(uploads)) assert.match(received, /^HTTP\/1\.1 503 [\s\S]*Too many files are being uploaded/)
  const form = new FormData()
  form.set('file', new Blob(['A fact.'], { type: 'text/plain' }), 'fact.txt')
  assert.equal((await ask(app, path, other, { method: 'POST', body: form })).status, 202)
  assert.equal(answered(uploads).length, 2)
})

void test('admin API: its description is written once, and is 304 for a client that has it', async (t) => {
  const app = await startTestApp()
  t.after(() => close(app))
  const first = await ask(app, '/admin/v1/openapi.json', adminToken)
  const tag = first.headers.get('etag')!
  assert.deepEqual([first.status, first.headers.get('cache-control'), first.json['openapi']], [200, 'private, no-cache', '3.1.0'])
  assert.match(tag, /^W\/"[\w-]{16}"$/)
  const plain = await ask(app, '/admin/v1/openapi.json', adminToken, { headers: { 'accept-encoding': 'identity' } })
  assert.deepEqual([plain.text, plain.headers.get('content-encoding')], [first.text, null])
  assert.equal(first.headers.get('content-encoding'), 'gzip')
  const known = await ask(app, '/admin/v1/openapi.json', adminToken, { headers: { 'if-none-match': tag } })
  assert.deepEqual([known.status, known.text], [304, ''])
  const unknown = await ask(app, '/admin/v1/openapi.json', 'wrong', { headers: { 'if-none-match': tag } })
  assert.equal(unknown.status, 401)
})
