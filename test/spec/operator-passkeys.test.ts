/** `operator.passkey`: adding passkeys and signing in with them, with an authenticator in software. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AuthenticatorEmulator, WebAuthnEmulator } from 'nid-webauthn-emulator'
import { relyingPartyOf } from '../../src/operators/passkeys.ts'
import { byPage } from '../support/console-visitor.ts'
import type { Visited } from '../support/console-visitor.ts'
import { ConsoleBrowser, goodPassword, invite, refusedWith, sessionsOf, startOperator } from '../support/operators.ts'
import type { SignedIn } from '../support/operators.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

const minute = 60_000
let app: TestApp
before(async () => {
  app = await startTestApp({ env: { TURNKEEP_CONSOLE_URL: 'https://console.acme.example' } })
})
after(async () => {
  await app.verify()
  await app.close()
})

const origin = 'https://console.acme.example'

const addPasskey = async ({ browser }: SignedIn, device: WebAuthnEmulator, name = 'Work laptop'): Promise<Json> => {
  const options = await browser.made('POST', '/me/passkeys/options', {})
  return browser.made('POST', '/me/passkeys', { name, response: device.createJSON(origin, options as never) })
}
const newBrowser = (to = app): ConsoleBrowser => new ConsoleBrowser(to.adminUrl)
const assertion = async (device: WebAuthnEmulator, from = origin, to = app): Promise<Json> =>
  device.getJSON(from, (await newBrowser(to).made('POST', '/session/passkey/options', {})) as never) as unknown as Json
const signIn = (response: Json, browser = newBrowser()): Promise<Visited> => browser.ask('POST', '/session/passkey', { response })

void test('operator.passkey: an operator adds one and signs in with it, without its address; it is listed and removed', async () => {
  const ada = await startOperator(app)
  const device = new WebAuthnEmulator()
  const added = await addPasskey(ada, device)
  assert.deepEqual([added.name, added.last_used_at], ['Work laptop', null])
  const options = await newBrowser().made('POST', '/session/passkey/options', {})
  assert.deepEqual([options.rpId, options.userVerification, options.allowCredentials ?? []], ['console.acme.example', 'required', []])

  const browser = newBrowser()
  const answer = await signIn(await assertion(device), browser)
  assert.equal(answer.status, 201, answer.text)
  const me = await browser.made('GET', '/me')
  assert.deepEqual([me.id, me.method], [ada.id, 'passkey'])
  const { data } = await browser.made('GET', '/me/passkeys')
  assert.deepEqual([data.length, data[0].id, typeof data[0].last_used_at], [1, added.id, 'string'])
  assert.equal((await app.made('GET', `/operators/${ada.id}`)).passkeys, 1)

  assert.equal((await browser.ask('DELETE', `/me/passkeys/${added.id}`)).status, 204)
  assert.equal((await ada.browser.ask('GET', '/me')).status, 401, 'the other sessions have ended')
  assert.equal((await browser.ask('GET', '/me')).status, 200)
  refusedWith(await browser.ask('DELETE', `/me/passkeys/${added.id}`), 404, 'not_found')
  refusedWith(await signIn(await assertion(device)), 401, 'unauthorized')
})

void test('operator.passkey: a challenge is accepted once, of twelve sign-ins at the same time one, and for five minutes', async () => {
  await using own = await startTestApp({ env: { TURNKEEP_CONSOLE_URL: origin } })
  const ada = await startOperator(own)
  // Without a counter, so that only the challenge decides.
  const device = new WebAuthnEmulator(new AuthenticatorEmulator({ signCounterIncrement: 0 }))
  await addPasskey(ada, device)
  const response = await assertion(device, origin, own)
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) => signIn(response, new ConsoleBrowser(own.adminUrl, `127.0.1.${index + 1}`))),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, ...Array<number>(11).fill(401)])
  assert.equal(await sessionsOf(own, ada.id), 2)
  const late = await assertion(device, origin, own)
  await own.moveClock(5 * minute)
  refusedWith(await signIn(late, newBrowser(own)), 401, 'unauthorized')
  assert.equal((await signIn(await assertion(device, origin, own), newBrowser(own))).status, 201)
  assert.ok(Number((await own.query('select count(*) as n from sign_in_secrets'))[0]!['n']) <= 1, 'expired challenges are forgotten')
  await own.verify()
})

void test('operator.passkey: a counter that is not above the stored one is refused: there are two copies', async () => {
  const ada = await startOperator(app)
  const device = new WebAuthnEmulator()
  await addPasskey(ada, device)
  const [older, newer] = [await assertion(device), await assertion(device)]
  assert.equal((await signIn(newer)).status, 201)
  refusedWith(await signIn(older), 401, 'unauthorized')
  assert.equal((await signIn(await assertion(device))).status, 201, 'the newer copy continues')
  await assert.rejects(
    app.query(`update passkeys set counter = 0 where operator_id = '${ada.id}'`),
    /passkey_counter_never_falls|refuse|read-?only/i,
  )
})

void test('operator.passkey: what another site, another account or a device without verification signed is refused', async () => {
  const [ada, grace] = [await startOperator(app), await startOperator(app)]
  const device = new WebAuthnEmulator()
  await addPasskey(ada, device)
  const valid = await assertion(device)
  const changed = (field: string, value: string): Json => ({ ...valid, response: { ...(valid['response'] as Json), [field]: value } })
  const text = Buffer.from(JSON.parse(JSON.stringify(valid)).response.clientDataJSON, 'base64url').toString()
  const elsewhere = Buffer.from(text.replace(origin, 'https://evil.acme.example')).toString('base64url')
  for (const wrong of [
    changed('userHandle', Buffer.from(grace.id).toString('base64url')),
    changed('clientDataJSON', elsewhere),
    changed('clientDataJSON', 'e30'),
    changed('signature', 'MEUCIQ'),
    changed('authenticatorData', 'AAAA'),
    { ...valid, id: 'bm90LWEtcGFzc2tleQ', rawId: 'bm90LWEtcGFzc2tleQ' },
    { ...valid, response: {} },
    { ...valid, response: { userHandle: 7 } },
  ])
    refusedWith(
      await signIn(wrong as Json, new ConsoleBrowser(app.adminUrl, `127.0.2.${Math.ceil(Math.random() * 250)}`)),
      401,
      'unauthorized',
    )
  assert.equal((await signIn(valid)).status, 201, 'none of them used the challenge')

  const unverified = new WebAuthnEmulator(
    new AuthenticatorEmulator({ userMakeCredentialInteraction: () => ({ options: { uv: false, up: true } }) }),
  )
  const options = await grace.browser.made('POST', '/me/passkeys/options', {})
  const lenient = unverified.createJSON(origin, options as never)
  refusedWith(
    await grace.browser.ask('POST', '/me/passkeys', { name: 'x', response: lenient as never }),
    422,
    'validation_error',
    /response is not accepted/,
  )
})

void test('operator.passkey: adding one needs the own challenge, once, and a sign-in of the last 15 minutes', async () => {
  await using own = await startTestApp({ env: { TURNKEEP_CONSOLE_URL: origin } })
  const [ada, grace] = [await startOperator(own), await startOperator(own)]
  const device = new WebAuthnEmulator()
  const options = await ada.browser.made('POST', '/me/passkeys/options', {})
  const response = device.createJSON(origin, options as never) as never
  refusedWith(await grace.browser.ask('POST', '/me/passkeys', { name: 'x', response }), 422, 'validation_error')
  const second = newBrowser(own)
  await second.made('POST', '/session', { email: ada.email, password: goodPassword })
  refusedWith(await second.ask('POST', '/me/passkeys', { name: 'x', response }), 422, 'validation_error')
  const answers = await Promise.all(Array.from({ length: 8 }, () => ada.browser.ask('POST', '/me/passkeys', { name: 'x', response })))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, ...Array<number>(7).fill(422)])
  const asSignIn = await assertion(device, origin, own)
  const another = new WebAuthnEmulator().createJSON(origin, {
    ...options,
    challenge: JSON.parse(Buffer.from((asSignIn['response'] as Json)['clientDataJSON'], 'base64url').toString()).challenge,
  } as never) as never
  refusedWith(await ada.browser.ask('POST', '/me/passkeys', { name: 'x', response: another }), 422, 'validation_error')
  await own.moveClock(15 * minute + 1000)
  refusedWith(await ada.browser.ask('POST', '/me/passkeys/options', {}), 403, 'forbidden', /Sign in again/)
  refusedWith(await ada.browser.ask('POST', '/me/passkeys', { name: 'x', response }), 403, 'forbidden')
})

void test('operator.passkey: the only way to sign in is not removed; a disabled or removed operator signs in with none', async () => {
  const { id, token } = await invite(app, { role: 'viewer' })
  const browser = newBrowser()
  await browser.made('POST', '/session/invitation', { token })
  const device = new WebAuthnEmulator()
  const only = await addPasskey({ browser, id, email: '' }, device)
  refusedWith(await browser.ask('DELETE', `/me/passkeys/${only.id}`), 409, 'conflict', /only way to sign in/)
  await app.made('PATCH', `/operators/${id}`, { enabled: false })
  refusedWith(await signIn(await assertion(device)), 401, 'unauthorized')
  await app.made('PATCH', `/operators/${id}`, { enabled: true })
  assert.equal((await signIn(await assertion(device))).status, 201)
  assert.equal((await app.admin('DELETE', `/operators/${id}`)).status, 204)
  refusedWith(await signIn(await assertion(device)), 401, 'unauthorized')
  assert.deepEqual(await app.query(`select count(*) as n from passkeys where operator_id = '${id}'`), [{ n: 0 }])
})

void test('operator.passkey: an operator has at most 20, even if they are added at the same time', async () => {
  const ada = await startOperator(app)
  const responses: Json[] = []
  for (let index = 0; index < 22; index++) {
    const options = await ada.browser.made('POST', '/me/passkeys/options', {})
    responses.push(new WebAuthnEmulator().createJSON(origin, options as never) as unknown as Json)
  }
  const answers = await Promise.all(responses.map((response) => ada.browser.ask('POST', '/me/passkeys', { name: 'x', response })))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [...Array<number>(20).fill(201), 409, 409])
})

void test('operator.passkey: browsers allow them at a host name with https or at localhost; elsewhere the options say so', async () => {
  for (const [url, id] of [
    ['https://turnkeep.acme.example/base', 'turnkeep.acme.example'],
    ['http://localhost:8080', 'localhost'],
    ['http://console.localhost', 'console.localhost'],
    ['http://turnkeep.acme.example', undefined],
    ['https://192.0.2.1', undefined],
    ['https://[2001:db8::1]:8080', undefined],
    ['nonsense', undefined],
  ] as const)
    assert.equal(relyingPartyOf(url)?.id, id, url)
  await using own = await startTestApp()
  const port = new URL(own.adminUrl).port
  const optionsAt = (host: string): Promise<Visited> =>
    newBrowser(own).ask('GET', '/session/options', undefined, { host, origin: `http://${host}` })
  assert.deepEqual((await optionsAt(`127.0.0.1:${port}`)).json, { password: true, passkey: false, oidc: null, admin_token: true })
  assert.equal((await optionsAt(`localhost:${port}`)).json['passkey'], true)
  refusedWith(await newBrowser(own).ask('POST', '/session/passkey/options', {}), 409, 'conflict', /host name with https/)
  assert.ok(byPage(own.adminUrl)['origin'])
})

void test('operator.passkey: of the transports that a browser sends, only known ones are stored', async () => {
  const ada = await startOperator(app)
  for (const transports of ['usb', { length: 9 }, [7, 'x'.repeat(5000), 'usb', 'internal', 'usb']]) {
    const options = await ada.browser.made('POST', '/me/passkeys/options', {})
    const response = new WebAuthnEmulator().createJSON(origin, { ...options, excludeCredentials: [] } as never) as unknown as Json
    await ada.browser.made('POST', '/me/passkeys', {
      name: 'Work laptop',
      response: { ...response, response: { ...response.response, transports } },
    })
  }
  const { excludeCredentials } = await ada.browser.made('POST', '/me/passkeys/options', {})
  assert.deepEqual(
    excludeCredentials.map(({ transports }: Json) => transports ?? []),
    [[], [], ['internal', 'usb']],
  )
})
