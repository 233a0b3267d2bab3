/** `operator.password` and `operator.guesses`: signing in with a password, and changing it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createLog } from '../../src/observability/log.ts'
import { ConsoleBrowser, goodPassword, invite, refusedWith, sessionsOf, startOperator, tokenOf } from '../support/operators.ts'
import { byPage, visit } from '../support/console-visitor.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

const minute = 60_000
let app: TestApp
before(async () => {
  app = await startTestApp()
})
after(() => app.close())

void test('operator.password: the right one signs in, in any spelling of the address, with a new secret each time that replaces the session of the browser', async () => {
  const { id, email, browser } = await startOperator(app, { role: 'editor' })
  const first = browser.cookies.get('turnkeep_session')!.value
  const answer = await browser.ask('POST', '/session', { email: ` ${email.toUpperCase()} `, password: goodPassword })
  assert.equal(answer.status, 201, answer.text)
  const second = browser.cookies.get('turnkeep_session')!.value
  assert.notEqual(second, first)
  assert.equal(await sessionsOf(app, id), 1, 'the first session has ended')
  const me = await browser.made('GET', '/me')
  assert.deepEqual([me.who, me.email, me.role, me.method, me.has_password], ['operator', email, 'editor', 'password', true])
  const lines = [answer.headers['set-cookie']!].flat()
  assert.match(lines[0]!, /^turnkeep_session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/admin\/v1; Max-Age=43200$/)
  assert.match(lines[1]!, /^turnkeep_browser=[\w-]+; HttpOnly; SameSite=Strict; Path=\/admin\/v1\/session; Max-Age=34560000$/)
})

void test('operator.password: a wrong one, an unknown, invited or disabled account and one without a password get the same answer', async () => {
  const { id, email } = await startOperator(app)
  const invited = await invite(app)
  const disabled = await startOperator(app)
  await app.made('PATCH', `/operators/${disabled.id}`, { enabled: false })
  const without = await invite(app)
  await new ConsoleBrowser(app.adminUrl).made('POST', '/session/invitation', { token: without.token })
  const messages = new Set<string>()
  for (const [address, password] of [
    [email, 'another lamp in the attic'],
    ['no-one@acme.example', goodPassword],
    ['no address', goodPassword],
    [invited.email, goodPassword],
    [disabled.email, goodPassword],
    [without.email, goodPassword],
  ])
    messages.add(
      refusedWith(await new ConsoleBrowser(app.adminUrl).ask('POST', '/session', { email: address, password }), 401, 'unauthorized'),
    )
  assert.deepEqual([...messages], ['The email address or the password is wrong, or the account cannot sign in this way.'])
  assert.equal(await sessionsOf(app, disabled.id), 0)
  assert.equal(await sessionsOf(app, id), 1)
})

void test('operator.password: setting one ends the other sessions and keeps this one; the old one is wrong from then on', async () => {
  const { id, email, browser } = await startOperator(app)
  const other = new ConsoleBrowser(app.adminUrl)
  await other.made('POST', '/session', { email, password: goodPassword })
  assert.equal(await sessionsOf(app, id), 2)
  const next = 'two lamps in the attic'
  refusedWith(
    await browser.ask('PUT', '/me/password', { current_password: 'wrong', new_password: next }),
    403,
    'forbidden',
    /current_password is wrong/,
  )
  for (const [weak, words] of [
    ['elevenchars', /new_password must have at least 12/],
    ['password1234', /most common/],
    [email, /your email address/],
  ] as const)
    refusedWith(
      await browser.ask('PUT', '/me/password', { current_password: goodPassword, new_password: weak }),
      422,
      'validation_error',
      words,
    )
  assert.equal((await browser.ask('PUT', '/me/password', { current_password: goodPassword, new_password: next })).status, 204)
  assert.equal((await browser.ask('GET', '/me')).status, 200)
  assert.equal((await other.ask('GET', '/me')).status, 401)
  refusedWith(await other.ask('POST', '/session', { email, password: goodPassword }), 401, 'unauthorized')
  await other.made('POST', '/session', { email, password: next })
  const [entry] = (await app.made('GET', '/audit?limit=1')).data
  assert.equal(entry.verb, 'open')
  const change = (await app.made('GET', '/audit?limit=10')).data.find(({ subject_id }: { subject_id: string }) => subject_id === id)
  assert.deepEqual([change.verb, change.noun, change.fields, change.who], ['change', 'operator', ['password'], 'operator'])
})

void test('operator.password: without the current one, the sign-in must be of the last 15 minutes; a token has no password', async () => {
  await using own = await startTestApp()
  const { email, browser } = await startOperator(own)
  assert.equal((await browser.ask('PUT', '/me/password', { new_password: 'two lamps in the attic' })).status, 204)
  await own.moveClock(15 * minute + 1000)
  refusedWith(await browser.ask('PUT', '/me/password', { new_password: 'three lamps in the attic' }), 403, 'forbidden', /Sign in again/)
  assert.equal(
    (await browser.ask('PUT', '/me/password', { current_password: 'two lamps in the attic', new_password: goodPassword })).status,
    204,
  )
  await new ConsoleBrowser(own.adminUrl).made('POST', '/session', { email, password: goodPassword })
  for (const [method, path] of [
    ['PUT', '/me/password'],
    ['GET', '/me/passkeys'],
    ['GET', '/me/sessions'],
  ] as const) {
    const body = method === 'PUT' ? { new_password: goodPassword } : undefined
    assert.equal((await own.admin(method, path, body)).status, 404, path)
  }
})

void test('operator.password: a sign-in that was checked before the password was changed opens no session', async () => {
  const { id, email, browser } = await startOperator(app)
  const { admin } = app.app
  const checked = await admin.checkPassword({ email, password: goodPassword, browser: undefined }, () => () => undefined)
  await browser.made('PUT', '/me/password', { current_password: goodPassword, new_password: 'two lamps in the attic' })
  const signIn = {
    method: 'password',
    operatorId: id,
    checkedAt: checked.updatedAt,
    address: null,
    userAgent: null,
    replaces: null,
  } as const
  await assert.rejects(admin.openSession(signIn), { code: 'unauthorized' })
  assert.equal(await sessionsOf(app, id), 1)
})

void test('operator.password: the own sessions are listed and ended; those of others are not found', async () => {
  const { email, browser } = await startOperator(app)
  const stranger = await startOperator(app)
  const other = new ConsoleBrowser(app.adminUrl, '127.0.0.7')
  await other.ask('POST', '/session', { email, password: goodPassword }, { 'user-agent': 'a browser '.repeat(50) })
  const { data } = await browser.made('GET', '/me/sessions')
  assert.deepEqual(
    data.map(({ method, address, current }: Record<string, unknown>) => [method, address, current]),
    [
      ['password', '127.0.0.7', false],
      ['link', '127.0.0.1', true],
    ],
  )
  assert.equal(data[0].user_agent.length, 300)
  const [theirs] = (await stranger.browser.made('GET', '/me/sessions')).data
  refusedWith(await browser.ask('DELETE', `/me/sessions/${theirs.id}`), 404, 'not_found')
  assert.equal((await stranger.browser.ask('GET', '/me')).status, 200)
  assert.equal((await browser.ask('DELETE', `/me/sessions/${data[0].id}`)).status, 204)
  assert.equal((await other.ask('GET', '/me')).status, 401)
  assert.equal((await browser.ask('GET', '/me')).status, 200)
})

void test('operator.guesses: of many wrong passwords at the same time ten are checked; then an unknown browser waits, and a known one does not', async () => {
  await using own = await startTestApp({ hashesAsInProduction: true })
  const { email, browser } = await startOperator(own)
  const other = await startOperator(own)
  const stranger = (host: number): ConsoleBrowser => new ConsoleBrowser(own.adminUrl, `127.0.0.${host}`)
  const right = { email, password: goodPassword }
  const guesses = Array.from({ length: 20 }, (_, index) =>
    stranger(10 + index).ask('POST', '/session', { email, password: `guess number ${index}` }),
  )
  // Those that are refused are answered first.
  const refused = await Promise.race(guesses)
  refusedWith(refused, 429, 'rate_limit_exceeded', /Too many wrong passwords for this account/)
  assert.match(String(refused.headers['retry-after']), /^[1-9]\d*$/)
  // The cookie of another account is not known to this one.
  const [elsewhere, foreign] = await Promise.all([stranger(9).ask('POST', '/session', right), other.browser.ask('POST', '/session', right)])
  for (const answer of [elsewhere, foreign]) refusedWith(answer, 429, 'rate_limit_exceeded')
  browser.cookies.delete('turnkeep_session')
  await browser.made('POST', '/session', right)
  const statuses = (await Promise.all(guesses)).map(({ status }) => status).toSorted()
  assert.deepEqual(statuses, [...Array<number>(10).fill(401), ...Array<number>(10).fill(429)])
  // It is a wait, not a lock.
  let answer = await stranger(9).ask('POST', '/session', right)
  while (answer.status === 429) {
    await setTimeout(1000 * Number(answer.headers['retry-after']))
    answer = await stranger(9).ask('POST', '/session', right)
  }
  assert.equal(answer.status, 201)
})

void test('session.origin: no way to sign in accepts a request of another site, or one that is not JSON', async () => {
  const { email } = await startOperator(app)
  const paths: Record<string, object> = {
    '/session': { email, password: goodPassword },
    '/session/passkey/options': {},
    '/session/passkey': {},
    '/session/invitation/look-up': { token: 'svc_invite_x' },
    '/session/invitation': { token: 'svc_invite_x' },
    '/session/recovery': { token: 'svc_recover_x', email, password: goodPassword },
  }
  const own = byPage(app.adminUrl)
  for (const [path, body] of Object.entries(paths)) {
    const others: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ]
    for (const foreign of others) {
      const answer = await visit(app.adminUrl, `/admin/v1${path}`, { method: 'POST', headers: { ...own, ...foreign }, body })
      refusedWith(answer, 403, 'forbidden', /another site/)
    }
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      const answer = await visit(app.adminUrl, `/admin/v1${path}`, { method: 'POST', headers: { ...own, 'content-type': type }, body })
      assert.ok(answer.status === 415 || answer.status === 422 || answer.status === 400, `${path} ${type}: ${answer.status}`)
      assert.equal(answer.headers['set-cookie'], undefined)
    }
  }
  const withToken = await visit(app.adminUrl, '/admin/v1/session', {
    method: 'POST',
    headers: { ...own, 'sec-fetch-site': 'cross-site' },
    body: { token: adminToken },
  })
  refusedWith(withToken, 403, 'forbidden')
})

void test('operator.password: no password, hash, cookie or link is in a log, in an answer or, except the hash, in the store', async () => {
  const lines: string[] = []
  const log = createLog('trace', { destination: { write: (line) => void lines.push(line) } })
  await using own = await startTestApp({ log, accessLog: log, hashesAsInProduction: true })
  const made = await own.made('POST', '/operators', { email: 'ada@acme.example', name: 'Ada', role: 'viewer' })
  const token = tokenOf(made.invitation_url)
  const browser = new ConsoleBrowser(own.adminUrl)
  await browser.made('POST', '/session/invitation', { token, password: goodPassword })
  await browser.ask('POST', '/session', { email: 'ada@acme.example', password: 'a wrong lamp in the attic' })
  await browser.ask('PUT', '/me/password', { current_password: goodPassword, new_password: 'two lamps in the attic' })
  const secrets = [
    goodPassword,
    'a wrong lamp in the attic',
    'two lamps in the attic',
    token,
    ...[...browser.cookies.values()].map(({ value }) => value),
  ]
  for (const secret of secrets) {
    assert.ok(!lines.join('').includes(secret), secret)
    assert.equal(await own.occurrences(secret), 0, secret)
  }
  const [{ password_hash: hash }] = (await own.query('select password_hash from operators')) as [{ password_hash: string }]
  assert.match(hash, /^scrypt\$16\$8\$2\$/)
  const shown = JSON.stringify([await own.made('GET', '/operators'), await own.made('GET', '/audit'), await browser.made('GET', '/me')])
  assert.ok(!shown.includes(hash) && !shown.includes('scrypt') && !lines.join('').includes(hash))
  await own.verify()
})
