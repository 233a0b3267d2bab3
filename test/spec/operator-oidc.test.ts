/** `operator.oidc`: signing in with the company account, at a real identity provider on this machine. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { createLog } from '../../src/observability/log.ts'
import { RedirectFollower, startIdentityProvider } from '../support/identity-provider.ts'
import { ConsoleBrowser, goodPassword, invite, refusedWith, sessionsOf, startOperator } from '../support/operators.ts'
import { startTestApp } from '../support/test-app.ts'
import { until } from '../support/until.ts'
import type { Json, TestApp, TestAppOptions } from '../support/test-app.ts'

const minute = 60_000
type Provider = Awaited<ReturnType<typeof startIdentityProvider>>
type Company = { app: TestApp; provider: Provider; start: string; callback: string }

async function startCompany(env: Record<string, string> = {}, options: TestAppOptions = {}): Promise<Company> {
  const provider = await startIdentityProvider()
  const app = await startTestApp({
    ...options,
    env: {
      TURNKEEP_OIDC_ISSUER: provider.issuer,
      TURNKEEP_OIDC_CLIENT_ID: provider.clientId,
      TURNKEEP_OIDC_CLIENT_SECRET: provider.clientSecret,
      TURNKEEP_OIDC_NAME: 'Acme',
      ...env,
    },
  })
  const callback = `${app.adminUrl}/admin/v1/session/oidc/callback`
  provider.allow(callback)
  after(async () => {
    await app.verify()
    await app.close()
    await provider.close()
  })
  return { app, provider, callback, start: `${app.adminUrl}/admin/v1/session/oidc` }
}

const mapped = { TURNKEEP_OIDC_ROLE_CLAIM: 'groups', TURNKEEP_OIDC_ROLES: 'viewer=staff, admin=admins,editor=authors' }

/** Where the whole exchange ends: `/console`, or `/console/sign-in?error=…`. */
async function signIn({ start }: Company, browser = new RedirectFollower()): Promise<string> {
  const { location, status, text } = await browser.follow(start)
  assert.equal(status, 302, text)
  return location!
}

/** Another browser with the same cookies. */
function copyOf(browser: RedirectFollower): RedirectFollower {
  const copy = new RedirectFollower()
  for (const [key, cookie] of browser.cookies) copy.cookies.set(key, cookie)
  return copy
}

/** A sign-in that was started by this browser, which comes back with a code that no provider has made. */
async function madeUp({ start }: Company, browser = new RedirectFollower()): Promise<string> {
  const asked = new URL((await browser.get(start)).location!)
  const [state, redirect] = ['state', 'redirect_uri'].map((name) => asked.searchParams.get(name)!)
  const back = new URL(redirect!)
  back.search = new URLSearchParams({ code: randomUUID(), state: state!, iss: asked.origin }).toString()
  return back.href
}

const errorAt = async (browser: RedirectFollower, url: string): Promise<string | null> =>
  new URL((await browser.get(url)).location!, 'http://x').searchParams.get('error')

/** The console in the browser that followed the redirects. */
function consoleOf({ app }: Company, follower: RedirectFollower): ConsoleBrowser {
  const browser = new ConsoleBrowser(app.adminUrl)
  const cookie = follower.cookies.get(`${new URL(app.adminUrl).origin} turnkeep_session`)
  if (cookie) browser.cookies.set('turnkeep_session', { value: cookie.value, path: '/admin/v1' })
  return browser
}

async function meOf(company: Company): Promise<Json> {
  const follower = new RedirectFollower()
  assert.equal(await signIn(company, follower), '/console')
  return consoleOf(company, follower).made('GET', '/me')
}

const refusal = async (company: Company): Promise<string | null> => new URL(await signIn(company), 'http://x').searchParams.get('error')

void test('operator.oidc: an invited operator signs in by its verified address once, and then by issuer and subject', async () => {
  const company = await startCompany()
  const { app, provider } = company
  provider.person = { sub: 'person-1', email: 'Ada@acme.example', email_verified: true, name: 'Ada at Acme' }
  assert.equal(await refusal(company), 'oidc_unknown')
  const { id, token } = await invite(app, { email: 'ada@acme.example', role: 'editor' })
  const follower = new RedirectFollower()
  assert.equal(await signIn(company, follower), '/console')
  const cookie = follower.cookies.get(`${new URL(app.adminUrl).origin} turnkeep_session`)!
  assert.match(cookie.attributes, /^HttpOnly; SameSite=Strict; Path=\/admin\/v1; Max-Age=43200$/)
  const me = await consoleOf(company, follower).made('GET', '/me')
  assert.deepEqual(
    [me.id, me.name, me.role, me.method, me.has_company_account, me.has_password],
    [id, 'Ada', 'editor', 'oidc', true, false],
  )
  refusedWith(
    await new ConsoleBrowser(app.adminUrl).ask('POST', '/session/invitation', { token, password: goodPassword }),
    401,
    'unauthorized',
  )

  provider.person = { ...provider.person, email: 'ada.lovelace@acme.example' }
  assert.equal((await meOf(company)).id, id, 'a new address is the same person')
  provider.person = { ...provider.person, sub: 'person-2', email: 'ada@acme.example' }
  assert.equal(await refusal(company), 'oidc_other_account', 'the same address is another person')
  const options = await new ConsoleBrowser(app.adminUrl).made('GET', '/session/options')
  assert.deepEqual(options.oidc, { name: 'Acme' })
})

void test('operator.oidc: the company account replaces password and passkeys, ends the sessions, and a new link replaces it again', async () => {
  const company = await startCompany()
  const { app, provider } = company
  const { id, email, browser } = await startOperator(app)
  provider.person = { sub: 'person-1', email, email_verified: true, name: 'Ada' }
  const follower = new RedirectFollower()
  assert.equal(await signIn(company, follower), '/console')
  assert.equal((await browser.ask('GET', '/me')).status, 401)
  refusedWith(await browser.ask('POST', '/session', { email, password: goodPassword }), 401, 'unauthorized')
  const own = consoleOf(company, follower)
  refusedWith(await own.ask('PUT', '/me/password', { new_password: goodPassword }), 409, 'conflict', /company account/)
  refusedWith(
    await own.ask('POST', '/me/passkeys/options', {}, { host: 'localhost', origin: 'http://localhost' }),
    409,
    'conflict',
    /company account/,
  )
  const { invitation_url: url } = await app.made('POST', `/operators/${id}/invite`, {})
  await new ConsoleBrowser(app.adminUrl).made('POST', '/session/invitation', { token: new URL(url).hash.slice(1), password: goodPassword })
  assert.equal((await app.made('GET', `/operators/${id}`)).has_company_account, false)
  await browser.made('POST', '/session', { email, password: goodPassword })
})

void test('operator.oidc: only verified addresses of the allowed domains sign in', async () => {
  const company = await startCompany({ TURNKEEP_OIDC_DOMAINS: 'acme.example, Acme-Labs.example', ...mapped })
  const { provider } = company
  const person = { sub: 'person-1', email: 'ada@acme.example', email_verified: true, groups: ['staff'] }
  for (const [changes, expected] of [
    [{ email_verified: false }, 'oidc_email'],
    [{ email_verified: 'yes' }, 'oidc_email'],
    [{ email_verified: undefined }, 'oidc_email'],
    [{ email: undefined }, 'oidc_email'],
    [{ email: 'ada' }, 'oidc_email'],
    [{ email: 'ada@other.example' }, 'oidc_domain'],
    [{ email: 'ada@sub.acme.example' }, 'oidc_domain'],
    [{ email: 'ada@acme.example.evil.example' }, 'oidc_domain'],
    [{ email: 'ada@acme.example@evil.example' }, 'oidc_email'],
  ] as const) {
    provider.person = { ...person, ...changes }
    assert.equal(await refusal(company), expected, JSON.stringify(changes))
  }
  provider.person = { ...person, sub: 'person-2', email: 'Grace@ACME-labs.example', email_verified: 'true' }
  assert.equal((await meOf(company)).email, 'grace@acme-labs.example')
})

void test('operator.oidc: roles follow the claim at each sign-in; a changed role ends the sessions, and without one no one signs in', async () => {
  const company = await startCompany(mapped)
  const { app, provider } = company
  provider.person = {
    sub: 'person-1',
    email: 'ada@acme.example',
    email_verified: true,
    name: 'Ada',
    groups: ['others', 'staff', 'authors'],
  }
  const follower = new RedirectFollower()
  await signIn(company, follower)
  const first = consoleOf(company, follower)
  const { id, role } = await first.made('GET', '/me')
  assert.equal(role, 'editor', 'the first of the list admin, editor, billing, viewer')
  provider.person = { ...provider.person, groups: 'staff' }
  assert.equal((await meOf(company)).role, 'viewer')
  assert.equal((await first.ask('GET', '/me')).status, 401)
  assert.equal(await sessionsOf(app, id), 1)
  provider.person = { ...provider.person, groups: ['others'] }
  assert.equal(await refusal(company), 'oidc_role')
  assert.equal(await sessionsOf(app, id), 0, 'its sessions have ended')
  provider.tamper = ({ groups: _groups, ...claims }) => ({ ...claims, _claim_names: { groups: 'src1' } })
  provider.person = { ...provider.person, groups: undefined }
  assert.equal(await refusal(company), 'oidc_groups')
  provider.tamper = undefined
  provider.person = { ...provider.person, groups: undefined }
  assert.equal(await refusal(company), 'oidc_role')
  provider.person = { sub: 'person-2', email: 'grace@acme.example', email_verified: true }
  assert.equal(await refusal(company), 'oidc_role')
  assert.deepEqual(await app.query('select count(*) as n from operators'), [{ n: 1 }])
  const entries = (await app.made('GET', '/audit?limit=20')).data.filter(({ noun }: Json) => noun === 'operator')
  assert.deepEqual(
    entries.map(({ verb, who, author_id: author }: Json) => [verb, who, author]),
    ['end_sessions', 'end_sessions', 'change', 'create'].map((verb) => [verb, 'operator', id]),
  )
  assert.deepEqual(entries[2].changes, { role: { before: 'editor', after: 'viewer' } })
})

void test('operator.oidc: a role claim may be nested, and what the ID token lacks comes from UserInfo', async () => {
  const company = await startCompany({ TURNKEEP_OIDC_ROLE_CLAIM: 'realm_access.roles', TURNKEEP_OIDC_ROLES: 'admin=turnkeep-admins' })
  const { provider } = company
  provider.person = { sub: 'person-1', email: 'ada@acme.example', email_verified: true, realm_access: { roles: ['turnkeep-admins'] } }
  for (const names of [['email', 'email_verified', 'realm_access', 'name'], ['email_verified']]) {
    provider.onlyInUserInfo = names
    assert.equal((await meOf(company)).role, 'admin')
  }
})

void test('operator.oidc: a disabled operator never signs in, and removing it removes the account', async () => {
  const company = await startCompany(mapped)
  const { app, provider } = company
  provider.person = { sub: 'person-1', email: 'ada@acme.example', email_verified: true, groups: ['staff'] }
  const { id } = await meOf(company)
  await app.made('PATCH', `/operators/${id}`, { enabled: false })
  assert.equal(await refusal(company), 'oidc_disabled')
  provider.person = { ...provider.person, groups: ['admins'] }
  assert.equal(await refusal(company), 'oidc_disabled')
  assert.equal((await app.made('GET', `/operators/${id}`)).role, 'viewer')
  assert.equal(await sessionsOf(app, id), 0)
})

void test('operator.oidc: an ID token of another issuer, audience, nonce or key, an old or an unsigned one is refused', async () => {
  const company = await startCompany(mapped)
  const { app, provider } = company
  provider.person = { sub: 'person-1', email: 'ada@acme.example', email_verified: true, groups: ['admins'] }
  const changes: Record<string, (claims: Json) => Json> = {
    'another issuer': (claims) => ({ ...claims, iss: 'https://evil.example' }),
    'another audience': (claims) => ({ ...claims, aud: 'another-client' }),
    'another nonce': (claims) => ({ ...claims, nonce: 'AAAA' }),
    'no nonce': ({ nonce: _nonce, ...claims }) => claims,
    expired: (claims) => ({ ...claims, exp: 1, iat: 0 }),
    'another subject than UserInfo': (claims) => ({ ...claims, sub: 'person-2', email: undefined }),
  }
  for (const [what, tamper] of Object.entries(changes)) {
    provider.tamper = tamper
    assert.equal(await refusal(company), 'oidc_failed', what)
  }
  provider.tamper = undefined
  for (const forge of ['none', 'other-key', 'client-secret'] as const) {
    provider.forge = forge
    assert.equal(await refusal(company), 'oidc_failed', forge)
  }
  assert.deepEqual(await app.query('select count(*) as n from operators'), [{ n: 0 }])
  provider.forge = undefined
  assert.equal((await meOf(company)).role, 'admin')
})

void test('operator.oidc: a response is accepted once, in the browser that started, within ten minutes, from the provider that was asked', async () => {
  const company = await startCompany(mapped)
  const { app, provider, start } = company
  provider.person = { sub: 'person-1', email: 'ada@acme.example', email_verified: true, groups: ['admins'] }
  const isBack = (next: string): boolean => next.startsWith(company.callback)
  const errorOf = async (follower: RedirectFollower, url: string): Promise<string | null> =>
    new URL((await follower.get(url)).location!, app.adminUrl).searchParams.get('error')

  const browser = new RedirectFollower()
  const back = (await browser.follow(start, isBack)).location!
  const [url, stranger] = [new URL(back), new RedirectFollower()]
  assert.equal(await errorOf(stranger, back), 'oidc_expired', 'a browser without the cookie')
  await stranger.follow(start, isBack)
  assert.equal(await errorOf(stranger, back), 'oidc_expired', 'a browser with another cookie')
  for (const [name, value] of [
    ['state', 'AAAA'],
    ['state', ''],
  ] as const) {
    const changed = new URL(url)
    changed.searchParams.set(name, value)
    assert.equal(await errorOf(copyOf(browser), changed.href), 'oidc_expired', `${name}=${value}`)
  }
  const twice = new URL(url)
  twice.searchParams.append('state', url.searchParams.get('state')!)
  assert.equal(await errorOf(copyOf(browser), twice.href), 'oidc_expired')
  for (const change of [
    (own: string) => `${own}&iss=https%3A%2F%2Fevil.example`,
    (own: string) => own.replace(/iss=[^&]*/, 'iss=https%3A%2F%2Fevil.example'),
  ]) {
    const other = new RedirectFollower()
    const own = (await other.follow(start, isBack)).location!
    assert.equal(await errorOf(copyOf(other), change(own)), 'oidc_failed')
    assert.equal(await errorOf(copyOf(other), own), 'oidc_expired', 'the state is used up')
  }
  // The same browser at the same time: the state is used once, and the provider is asked once.
  const copies = Array.from({ length: 8 }, () => copyOf(browser))
  const ends = await Promise.all(copies.map(async (copy) => (await copy.get(back)).location))
  assert.equal(ends.filter((end) => end === '/console').length, 1, ends.join())
  assert.equal(await errorOf(copies[0]!, back), 'oidc_expired', 'the cookie is gone')

  const late = new RedirectFollower()
  const lateBack = (await late.follow(start, isBack)).location!
  await app.moveClock(10 * minute)
  assert.equal(await errorOf(late, lateBack), 'oidc_expired')
})

void test('operator.oidc: the code of another client is refused', async () => {
  const company = await startCompany(mapped)
  const { app, provider, start, callback } = company
  provider.person = { sub: 'person-1', email: 'ada@acme.example', email_verified: true, groups: ['admins'] }
  const browser = new RedirectFollower()
  const asked = new URL((await browser.get(start)).location!)
  assert.deepEqual(
    ['client_id', 'redirect_uri', 'response_type', 'code_challenge_method'].map((name) => asked.searchParams.get(name)),
    ['turnkeep', callback, 'code', 'S256'],
  )
  assert.match(asked.searchParams.get('scope')!, /^openid email profile/)
  asked.searchParams.set('client_id', 'another-client')
  const end = await browser.follow(asked.href)
  assert.equal(end.location, '/console/sign-in?error=oidc_failed')
  assert.deepEqual(await app.query('select count(*) as n from operators'), [{ n: 0 }])
})

void test('operator.oidc: nothing in a request decides where the browser is sent', async () => {
  const company = await startCompany(mapped)
  const { app, provider } = company
  const evil = 'https%3A%2F%2Fevil.example'
  const hostile = `?redirect_uri=${evil}&return_to=${evil}&next=${evil}&iss=${evil}&state=x`
  for (const headers of [
    {},
    { host: 'evil.example' },
    { 'x-forwarded-host': 'evil.example' },
    { forwarded: 'host=evil.example' },
  ] as Record<string, string>[]) {
    const started = await new ConsoleBrowser(app.adminUrl).ask('GET', `/session/oidc${hostile}`, undefined, headers)
    const url = new URL(String(started.headers['location']))
    assert.equal(url.origin, provider.issuer)
    assert.equal(url.searchParams.get('redirect_uri'), company.callback)
    const ended = await new ConsoleBrowser(app.adminUrl).ask('GET', `/session/oidc/callback${hostile}`, undefined, headers)
    assert.equal(ended.headers['location'], '/console/sign-in?error=oidc_expired')
  }
  provider.refuses = 'access_denied'
  assert.equal(await signIn(company), '/console/sign-in?error=oidc_cancelled')
  provider.refuses = 'server_error'
  assert.equal(await signIn(company), '/console/sign-in?error=oidc_failed')
})

void test('operator.oidc: a provider that cannot be reached is an error of the sign-in, not of the start, and is asked again', async () => {
  const provider = await startIdentityProvider()
  const app = await startTestApp({
    env: {
      TURNKEEP_OIDC_ISSUER: provider.issuer,
      TURNKEEP_OIDC_CLIENT_ID: provider.clientId,
      TURNKEEP_OIDC_CLIENT_SECRET: provider.clientSecret,
      ...mapped,
    },
  })
  after(async () => {
    await app.close()
    await provider.close()
  })
  const start = `${app.adminUrl}/admin/v1/session/oidc`
  const ask = async (): Promise<string> => (await new RedirectFollower().get(start)).location!
  for (let time = 0; time < 3; time++) assert.equal(await ask(), '/console/sign-in?error=oidc_unavailable')
  assert.equal(provider.requests.get('/.well-known/openid-configuration'), 1, 'it is not asked for each request')
  provider.allow(`${start}/callback`)
  let location = await ask()
  for (let time = 0; location.startsWith('/console') && time < 40; time++) {
    await new Promise((resolve) => setTimeout(resolve, 250))
    location = await ask()
  }
  assert.ok(location.startsWith(provider.issuer), location)
  const asked = provider.requests.get('/.well-known/openid-configuration')
  await Promise.all([ask(), ask()])
  assert.equal(provider.requests.get('/.well-known/openid-configuration'), asked, 'its answer is kept')
})

void test('operator.oidc: a sign-in replaces the session of the browser, and a code, a token or a cookie is in no log', async () => {
  const lines: string[] = []
  const log = createLog('trace', { destination: { write: (line) => void lines.push(line) } })
  const company = await startCompany(mapped, { log, accessLog: log })
  const { app, provider } = company
  provider.person = { sub: 'person-1', email: 'ada@acme.example', email_verified: true, groups: ['admins'] }
  const follower = new RedirectFollower()
  await signIn(company, follower)
  const { id } = await consoleOf(company, follower).made('GET', '/me')
  await signIn(company, follower)
  assert.equal(await sessionsOf(app, id), 1)
  provider.tamper = (claims) => ({ ...claims, nonce: 'AAAA' })
  assert.equal(await refusal(company), 'oidc_failed')
  assert.ok(lines.some((line) => line.includes('sign-in with the company account failed')))
  const secrets = [...follower.cookies.values()].map(({ value }) => value)
  for (const { url } of follower.hops)
    for (const name of ['code', 'state', 'nonce']) secrets.push(...new URL(url).searchParams.getAll(name))
  assert.ok(secrets.length > 6)
  for (const secret of [...secrets, provider.clientSecret]) assert.ok(!lines.join('').includes(secret), secret)
})

void test('operator.single-use: a state is used up by its first response, right or wrong, so the provider is asked once for each', async () => {
  const company = await startCompany(mapped)
  const { app, provider, start } = company
  provider.person = { sub: 'person-1', email: 'ada@acme.example', email_verified: true, groups: ['admins'] }
  const tokens = (): number => provider.requests.get('/token') ?? 0

  const attacker = new RedirectFollower()
  const invented = await madeUp(company, attacker)
  const invent = (): string => invented.replace(/code=[^&]*/, `code=${randomUUID()}`)
  const ends = await Promise.all(Array.from({ length: 6 }, () => errorAt(copyOf(attacker), invent())))
  assert.deepEqual(ends.toSorted(), ['oidc_expired', 'oidc_expired', 'oidc_expired', 'oidc_expired', 'oidc_expired', 'oidc_failed'])
  assert.equal(await errorAt(copyOf(attacker), invent()), 'oidc_expired', 'one after another')
  assert.equal(tokens(), 1)

  for (const [what, change] of [
    ['a wrong code', (back: string) => back.replace(/code=[^&]*/, 'code=wrong')],
    ['no code', (back: string) => back.replace(/code=[^&]*&?/, '')],
    ['an error', (back: string) => back.replace(/code=[^&]*/, 'error=access_denied')],
  ] as const) {
    const browser = new RedirectFollower()
    const back = (await browser.follow(start, (next) => next.startsWith(company.callback))).location!
    assert.notEqual(await errorAt(copyOf(browser), change(back)), 'oidc_expired', what)
    const asked = tokens()
    assert.equal(await errorAt(copyOf(browser), back), 'oidc_expired', `the right code after ${what}`)
    assert.equal(tokens(), asked, what)
  }
  assert.deepEqual(await app.query('select count(*) as n from operators'), [{ n: 0 }])
  assert.equal(await signIn(company), '/console')
})

void test('operator.guesses: made-up codes make the next of their address wait; a browser that has signed in before does not wait', async () => {
  const lines: string[] = []
  const log = createLog('trace', { destination: { write: (line) => void lines.push(line) } })
  const company = await startCompany(mapped, { log })
  const { app, provider } = company
  provider.person = { sub: 'person-1', email: 'ada@acme.example', email_verified: true, groups: ['admins'] }
  const ada = new RedirectFollower()
  assert.equal(await signIn(company, ada), '/console')
  const before = provider.requests.get('/token')!
  const stored = Number((await app.query("select count(*) as n from sign_in_secrets where purpose = 'used'"))[0]!['n'])

  const ends: (string | null)[] = []
  for (let round = 0; round < 45; round++) {
    const attacker = new RedirectFollower()
    ends.push(await errorAt(attacker, await madeUp(company, attacker)))
  }
  const failed = ends.filter((end) => end === 'oidc_failed').length
  // Thirty wait for nothing. A slow machine takes long enough for a few more.
  assert.ok(failed >= 30 && failed < 45, `${failed} of ${ends.length}`)
  assert.equal(failed + ends.filter((end) => end === 'oidc_busy').length, ends.length, ends.join())
  assert.equal(provider.requests.get('/token')! - before, failed)
  const now = Number((await app.query("select count(*) as n from sign_in_secrets where purpose = 'used'"))[0]!['n'])
  assert.equal(now - stored, failed, 'what has to wait writes nothing')
  const warnings = lines.filter((line) => line.includes('sign-in with the company account failed'))
  assert.ok(warnings.length > 0 && warnings.length < failed / 2, `${warnings.length} lines`)

  assert.equal(await signIn(company, ada), '/console', 'the browser of an operator')
})

void test('operator.guesses: a provider that hangs holds few sign-ins, and those of browsers that have signed in before get slots of their own', async () => {
  const company = await startCompany(mapped)
  const { provider } = company
  provider.person = { sub: 'person-1', email: 'ada@acme.example', email_verified: true, groups: ['admins'] }
  const ada = new RedirectFollower()
  assert.equal(await signIn(company, ada), '/console')
  const held = provider.holdTokens()
  const attackers = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const browser = new RedirectFollower()
      return { browser, back: await madeUp(company, browser) }
    }),
  )
  const ends = attackers.map(({ browser, back }) => errorAt(browser, back))
  await until('eight requests for a token', () => held.waiting() === 8)
  const refused: (string | null)[] = []
  for (const one of ends) void one.then((end) => refused.push(end))
  await until('twelve refusals', () => refused.length === 12)
  assert.deepEqual([...new Set(refused)], ['oidc_busy'])
  const adas = signIn(company, ada)
  await until('that of the operator', () => held.waiting() === 9)
  held.release()
  assert.equal(await adas, '/console')
  assert.equal((await Promise.all(ends)).filter((end) => end === 'oidc_failed').length, 8)
})
