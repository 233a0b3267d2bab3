/** The console's sessions: signing in and out, when a cookie is accepted, and how long it is valid. docs/decisions/0027-console.md */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { TestContext } from 'node:test'
import { createLog } from '../../src/observability/log.ts'
import { byPage, cookieOf, signIn, visit } from '../support/console-visitor.ts'
import type { Visited } from '../support/console-visitor.ts'
import { storeKind } from '../support/store-under-test.ts'
import { adminToken, makeFolder, startTestApp } from '../support/test-app.ts'
import type { TestApp, TestAppOptions } from '../support/test-app.ts'

const app = await startTestApp()
after(() => app.close())
const { adminUrl } = app
const hour = 60 * 60 * 1000

const bearer = (token = adminToken): Record<string, string> => ({ authorization: `Bearer ${token}` })
const asPage = (cookie: string, url = adminUrl): Record<string, string> => ({ ...byPage(url), cookie })
const ask = (cookie: string, path = '/session', method = 'GET', url = adminUrl): Promise<Visited> =>
  visit(url, `/admin/v1${path}`, { method, headers: asPage(cookie, url) })
const codeOf = ({ status, json }: Visited): [number, unknown] => [status, json['error']?.code]
// Before the first test, because running a single test would otherwise reach the end of the file here.
const cookie = cookieOf(await signIn(adminUrl))

void test('session.origin: sign-in returns the session and sets a cookie that scripts, other sites and other paths cannot see', async () => {
  const answer = await signIn(adminUrl)
  assert.equal(answer.status, 201, answer.text)
  assert.deepEqual(Object.keys(answer.json), ['expires_at', 'version', 'api_url'])
  assert.equal(answer.json['api_url'], null)
  assert.match(answer.json['version'], /^\d+\.\d+\.\d+/)
  const [cookie, ...more] = answer.headers['set-cookie'] as string[]
  assert.deepEqual(more, [])
  assert.match(cookie!, /^turnkeep_session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/admin\/v1; Max-Age=43200$/)
  assert.ok(!answer.text.includes(cookieOf(answer).split('=')[1]!), 'the secret is in the cookie alone')

  const shown = await ask(cookieOf(answer))
  assert.deepEqual([shown.status, shown.json], [200, answer.json])
  assert.equal((await ask(cookieOf(answer), '/owners')).status, 200)
  const made = await visit(adminUrl, '/admin/v1/owners', { method: 'POST', headers: asPage(cookieOf(answer)), body: { name: 'By cookie' } })
  assert.equal(made.status, 201, made.text)
})

void test('session.origin: behind TLS the cookie is sent over TLS only', async () => {
  const forwarded = await signIn(adminUrl, adminToken, { headers: { 'x-forwarded-proto': 'https' } })
  assert.match(forwarded.headers['set-cookie']![0]!, /; Secure$/)
  const plain = await signIn(adminUrl, adminToken, { headers: { 'x-forwarded-proto': 'http' } })
  assert.doesNotMatch(plain.headers['set-cookie']![0]!, /Secure/)
  await using known = await startTestApp({ env: { TURNKEEP_PUBLIC_URL: 'https://chat.example.com' } })
  const answer = await signIn(known.adminUrl)
  assert.match(answer.headers['set-cookie']![0]!, /; Secure$/)
  assert.equal(answer.json['api_url'], 'https://chat.example.com')
})

void test('session.origin: on a separate port, the page learns where the public API is, and its cookie fits the port it was loaded from', async () => {
  await using apart = await startTestApp({ env: { TURNKEEP_ADMIN_PORT: '0' } })
  assert.equal((await signIn(apart.adminUrl)).json['api_url'], apart.url)
  assert.equal((await signIn(apart.url)).status, 404)
  const cookie = cookieOf(await signIn(apart.adminUrl))
  const env = { TURNKEEP_ADMIN_PORT: '0', TURNKEEP_PUBLIC_URL: 'https://chat.example.com' }
  await using known = await startTestApp({ env })
  const answer = await signIn(known.adminUrl)
  assert.equal(answer.json['api_url'], 'https://chat.example.com')
  assert.doesNotMatch(answer.headers['set-cookie']![0]!, /Secure/, 'the public address says nothing of this port')
  assert.deepEqual(codeOf(await ask(cookie, '/owners', 'GET', known.adminUrl)), [401, 'unauthorized'], 'another server')
})

const foreign = {
  "without the page's header": { 'x-turnkeep-console': '' },
  "with another value of the page's header": { 'x-turnkeep-console': '1, 1' },
  'from another site': { 'sec-fetch-site': 'cross-site' },
  'from a sibling site': { 'sec-fetch-site': 'same-site' },
  'from the address bar': { 'sec-fetch-site': 'none' },
  'from another origin': { origin: 'http://evil.example' },
  'from an origin with the same prefix': { origin: `${adminUrl}.evil.example` },
  'from another port': { origin: adminUrl.replace(/\d+$/, '1') },
  'from an invalid origin': { origin: 'null' },
  'with two cookies of the name': { cookie: `${cookie}; ${cookie}` },
  'with a cookie of another name': { cookie: cookie.replace('turnkeep_session', 'xturnkeep_session') },
  'with a secret that was made up': { cookie: `turnkeep_session=${'A'.repeat(43)}` },
  'with a malformed secret': { cookie: `turnkeep_session=' or 1=1 --` },
  'with an empty cookie': { cookie: 'turnkeep_session=' },
  'without a cookie': { cookie: '' },
}

for (const [what, changed] of Object.entries(foreign)) {
  void test(`session.origin: ${what} a request is the same 401 as without credentials, for reads, changes and unknown paths`, async () => {
    const headers = Object.fromEntries(Object.entries({ ...asPage(cookie), ...changed }).filter(([, value]) => value !== ''))
    const bare = await visit(adminUrl, '/admin/v1/owners')
    for (const [method, path] of [
      ['GET', '/owners'],
      ['GET', '/session'],
      ['DELETE', '/session'],
      ['POST', '/owners'],
      ['GET', '/nowhere'],
      ['PUT', '/session'],
    ] as const) {
      const answer = await visit(adminUrl, `/admin/v1${path}`, { method, headers, ...(method === 'POST' ? { body: { name: 'x' } } : {}) })
      assert.deepEqual(codeOf(answer), [401, 'unauthorized'], `${method} ${path}`)
      assert.equal(answer.json['error'].message, bare.json['error'].message)
    }
    assert.equal((await ask(cookie)).status, 200, 'the session itself is untouched')
  })
}

void test('session.origin: headers that an old browser or a proxy leaves out do not cause a refusal; the host is compared case-insensitively', async () => {
  assert.equal((await visit(adminUrl, '/admin/v1/session', { headers: { cookie, 'x-turnkeep-console': '1' } })).status, 200)
  const host = `LOCALHOST:${new URL(adminUrl).port}`
  const headers = { ...asPage(cookie), host, origin: `http://${host.toLowerCase()}` }
  assert.equal((await visit(adminUrl, '/admin/v1/session', { headers })).status, 200)
  const among = { ...asPage(cookie), cookie: `theme=dark; ${cookie}; other=1` }
  assert.equal((await visit(adminUrl, '/admin/v1/session', { headers: among })).status, 200)
})

void test('session.origin: with an Authorization header the token alone decides: a wrong one is 401 despite a session, a right one needs no session', async () => {
  for (const authorization of ['Bearer wrong', '', 'Basic eA==', 'nonsense']) {
    const wrong = await visit(adminUrl, '/admin/v1/owners', { headers: { ...asPage(cookie), authorization } })
    assert.deepEqual(codeOf(wrong), [401, 'unauthorized'], authorization)
  }
  const right = { ...asPage('turnkeep_session=nonsense'), ...bearer() }
  assert.equal((await visit(adminUrl, '/admin/v1/owners', { headers: right })).status, 200)
  for (const method of ['GET', 'DELETE']) {
    const answer = await visit(adminUrl, '/admin/v1/session', { method, headers: { ...asPage(cookie), ...bearer() } })
    assert.deepEqual(codeOf(answer), [404, 'not_found'])
  }
  assert.equal((await ask(cookie)).status, 200)
})

void test('session.origin: a cookie is accepted by the admin API only, not for metrics or conversations', async () => {
  const metrics = await visit(adminUrl, '/metrics', { headers: asPage(cookie) })
  assert.deepEqual(codeOf(metrics), [401, 'unauthorized'])
  const chat = await visit(app.url, `/v1/agents/${app.caller.agentId}/conversations`, { headers: asPage(cookie) })
  assert.deepEqual(codeOf(chat), [401, 'invalid_api_key'])
})

void test('sign-in: a wrong token and an invalid body are refused without a cookie; other methods need a signed-in session', async () => {
  const wrong = await signIn(adminUrl, 'wrong', { from: '127.0.0.9' })
  assert.deepEqual(codeOf(wrong), [401, 'unauthorized'])
  assert.equal(wrong.headers['set-cookie'], undefined)
  for (const body of [{}, { token: 7 }, { token: '' }, { token: adminToken, remember: true }]) {
    const answer = await visit(adminUrl, '/admin/v1/session', { method: 'POST', body })
    assert.deepEqual(codeOf(answer), [422, 'validation_error'])
    assert.equal(answer.headers['set-cookie'], undefined)
  }
  const put = await visit(adminUrl, '/admin/v1/session', { method: 'PUT', headers: asPage(cookie) })
  assert.deepEqual([put.status, put.headers['allow']], [405, 'POST, GET, HEAD, DELETE'])
})

void test('session.ends: sign-out ends the session and clears the cookie; the audit log has sign-in and sign-out under one id', async () => {
  const signedIn = await signIn(adminUrl)
  const own = cookieOf(signedIn)
  const out = await ask(own, '/session', 'DELETE')
  assert.equal(out.status, 204)
  assert.match(out.headers['set-cookie']![0]!, /^turnkeep_session=; HttpOnly; SameSite=Strict; Path=\/admin\/v1; Max-Age=0$/)
  for (const method of ['GET', 'DELETE']) assert.deepEqual(codeOf(await ask(own, '/session', method)), [401, 'unauthorized'])
  assert.equal((await ask(cookie)).status, 200, 'another browser stays signed in')

  const { data } = await app.made('GET', '/audit?limit=2')
  const [closed, opened] = data
  assert.deepEqual([closed.verb, closed.noun, opened.verb, opened.noun], ['close', 'session', 'open', 'session'])
  assert.equal(closed.subject_id, opened.subject_id)
  assert.match(opened.subject_id, /^ses_/)
  assert.deepEqual([opened.who, opened.request_id, opened.fields], ['admin_token', signedIn.headers['x-request-id'], []])
})

void test("session.ends: a session ends after 12 hours by the store's clock on every process, and its row is deleted at the next sign-in", async () => {
  await using own = await startTestApp()
  const answer = await signIn(own.adminUrl)
  const [early, url] = [cookieOf(answer), own.adminUrl]
  const lasts = Date.parse(answer.json['expires_at']) - Date.now()
  assert.ok(lasts > 12 * hour - 60_000 && lasts <= 12 * hour + 60_000, String(lasts))
  await own.moveClock(12 * hour - 60_000)
  assert.equal((await ask(early, '/session', 'GET', url)).status, 200)
  await own.moveClock(60_000)
  for (const path of ['/session', '/owners']) assert.deepEqual(codeOf(await ask(early, path, 'GET', url)), [401, 'unauthorized'])
  await signIn(url)
  assert.deepEqual(await own.query('select count(*) as n from console_sessions'), [{ n: 1 }])
  await own.verify()
})

/** An app on a database that outlives it. */
async function firstLife(t: TestContext, options: TestAppOptions = {}): Promise<TestApp> {
  const first = await startTestApp({ folder: await makeFolder(), ...options })
  t.after(async () => {
    await first.close()
    await first.model.close()
    await first.data.drop()
  })
  return first
}

const nextLife = (first: TestApp, more: TestAppOptions = {}): Promise<TestApp> =>
  startTestApp({ folder: first.folder, model: first.model, seeded: first, ...more })

void test('session.ends: a session survives a restart; a changed admin token ends it, and the old token does not bring it back', async (t) => {
  const first = await firstLife(t)
  const kept = cookieOf(await signIn(first.adminUrl))
  await first.close()
  {
    await using second = await nextLife(first)
    assert.equal((await ask(kept, '/owners', 'GET', second.adminUrl)).status, 200)
  }
  await using third = await nextLife(first, { token: 'another-admin-token' })
  for (const path of ['/session', '/owners']) assert.deepEqual(codeOf(await ask(kept, path, 'GET', third.adminUrl)), [401, 'unauthorized'])
  assert.deepEqual(codeOf(await signIn(third.adminUrl)), [401, 'unauthorized'])
  assert.equal((await signIn(third.adminUrl, 'another-admin-token')).status, 201)
})

// The embedded store has one process.
if (storeKind === 'postgres')
  void test('session.ends: a sign-out at one process ends the session at another one immediately', async (t) => {
    const first = await firstLife(t)
    await using second = await nextLife(first)
    const kept = cookieOf(await signIn(first.adminUrl))
    assert.equal((await ask(kept, '/owners', 'GET', second.adminUrl)).status, 200)
    assert.equal((await ask(kept, '/session', 'DELETE', second.adminUrl)).status, 204)
    assert.deepEqual(codeOf(await ask(kept, '/owners', 'GET', first.adminUrl)), [401, 'unauthorized'])
  })

void test('session.guesses: after ten wrong tokens, further wrong ones of the address get 429; the right one, sessions and other addresses do not', async () => {
  await using own = await startTestApp()
  const url = own.adminUrl
  const signedIn = cookieOf(await signIn(url))
  const from = '127.0.0.2'
  for (let guess = 0; guess < 10; guess++) assert.equal((await signIn(url, `guess ${guess}`, { from })).status, 401)
  const answer = await signIn(url, 'guess 10', { from })
  assert.deepEqual(codeOf(answer), [429, 'rate_limit_exceeded'])
  const wait = Number(answer.headers['retry-after'])
  assert.ok(Number.isInteger(wait) && wait > 0 && wait <= 300, String(wait))
  assert.equal(answer.headers['set-cookie'], undefined)
  assert.match(answer.json['error'].message, /too many wrong/)
  assert.deepEqual(codeOf(await signIn(url, 'guess 11', { from: '127.0.0.3' })), [401, 'unauthorized'])
  assert.equal((await visit(url, '/admin/v1/owners', { headers: asPage(signedIn, url), from })).status, 200)
  assert.equal((await visit(url, '/admin/v1/owners', { headers: bearer(), from })).status, 200)
  // Behind a proxy, this is the operator, and the guesses were someone else's.
  assert.equal((await signIn(url, adminToken, { from })).status, 201)
})

void test('session.guesses: a right token before the tenth wrong one resets the count', async () => {
  await using own = await startTestApp()
  for (let round = 0; round < 2; round++) {
    for (let guess = 0; guess < 9; guess++) assert.equal((await signIn(own.adminUrl, 'wrong')).status, 401)
    assert.equal((await signIn(own.adminUrl)).status, 201)
  }
})

void test('session.ends: while the store is unavailable a session is 503, never 401; a wrong token is still 401', async (t) => {
  const own = await startTestApp()
  t.after(() => own.close().catch(() => undefined))
  const kept = cookieOf(await signIn(own.adminUrl))
  await own.app.store.close()
  for (const path of ['/session', '/owners'])
    assert.deepEqual(codeOf(await ask(kept, path, 'GET', own.adminUrl)), [503, 'service_unavailable'])
  assert.deepEqual(codeOf(await signIn(own.adminUrl)), [503, 'service_unavailable'])
  assert.deepEqual(codeOf(await signIn(own.adminUrl, 'wrong')), [401, 'unauthorized'])
  assert.deepEqual(codeOf(await ask('turnkeep_session=short', '/owners', 'GET', own.adminUrl)), [401, 'unauthorized'])
})

void test("session.ends: the cookie's secret and the token of a sign-in appear in no log and nowhere in the store", async () => {
  const lines: string[] = []
  const log = createLog('trace', { destination: { write: (line) => void lines.push(line) } })
  await using own = await startTestApp({ log, accessLog: log })
  const kept = cookieOf(await signIn(own.adminUrl))
  await signIn(own.adminUrl, 'a-token-that-is-wrong')
  await ask(kept, '/owners', 'GET', own.adminUrl)
  await ask(kept, '/session', 'DELETE', own.adminUrl)
  const again = cookieOf(await signIn(own.adminUrl))
  assert.ok(lines.some((line) => line.includes('/admin/v1/session')))
  for (const secret of [kept, again].map((one) => one.split('=')[1]!)) {
    assert.equal(secret.length, 43)
    assert.ok(!lines.join('').includes(secret))
    assert.equal(await own.occurrences(secret), 0)
  }
  for (const token of [adminToken, 'a-token-that-is-wrong']) {
    assert.ok(!lines.join('').includes(token))
    assert.equal(await own.occurrences(token), 0)
  }
})

void test("session.origin: requests that another site's page can send change nothing, and none of its preflights is granted", async () => {
  const origin = 'http://127.0.0.1:9'
  const form = { cookie, origin, 'sec-fetch-site': 'same-site', 'content-type': 'application/x-www-form-urlencoded' }
  assert.deepEqual(codeOf(await visit(adminUrl, '/admin/v1/owners', { method: 'POST', headers: form })), [401, 'unauthorized'])
  assert.deepEqual(codeOf(await visit(adminUrl, '/admin/v1/session', { method: 'DELETE', headers: form })), [401, 'unauthorized'])
  const preflight = { origin, 'access-control-request-method': 'DELETE', 'access-control-request-headers': 'x-turnkeep-console' }
  const asked = await visit(adminUrl, '/admin/v1/session', { method: 'OPTIONS', headers: preflight })
  assert.equal(asked.status, 401)
  assert.deepEqual(
    Object.keys(asked.headers).filter((name) => name.startsWith('access-control-')),
    [],
  )
})
