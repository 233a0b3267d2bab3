/** `operator.invitation`, `operator.recovery` and `operator.single-use`: signing in with a link, and that each link is used once. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { createSignedTokens } from '../../src/operators/signed-tokens.ts'
import { ConsoleBrowser, goodPassword, invite, refusedWith, sessionsOf, startOperator, tokenOf } from '../support/operators.ts'
import { startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

const minute = 60_000
const day = 24 * 60 * minute
let app: TestApp
before(async () => {
  app = await startTestApp()
})
after(async () => {
  await app.verify()
  await app.close()
})

const recoveryLink = (to: TestApp, minutes = 15, key: Uint8Array = to.encryptionKey): string =>
  `svc_recover_${createSignedTokens([key]).sign('recovery', Date.now() + minutes * minute)}`
const newBrowser = (to = app): ConsoleBrowser => new ConsoleBrowser(to.adminUrl)

void test('operator.invitation: it says whom it is for, sets name and password, signs in, and is used up', async () => {
  const { id, token, email } = await invite(app, { role: 'billing' })
  assert.match(token, /^svc_invite_[\w-]{43}$/)
  const browser = newBrowser()
  const pending = await browser.made('POST', '/session/invitation/look-up', { token })
  assert.deepEqual([pending.name, pending.email], ['Ada', email])
  const lasts = Date.parse(pending.expires_at) - Date.now()
  assert.ok(lasts > 7 * day - minute && lasts <= 7 * day + minute)
  refusedWith(await browser.ask('POST', '/session/invitation', { token, password: 'password1234' }), 422, 'validation_error', /most common/)
  await browser.made('POST', '/session/invitation', { token, name: 'Ada Lovelace', password: goodPassword })
  const me = await browser.made('GET', '/me')
  assert.deepEqual([me.id, me.name, me.role, me.method], [id, 'Ada Lovelace', 'billing', 'link'])
  assert.equal((await app.made('GET', `/operators/${id}`)).state, 'active')
  for (const path of ['/session/invitation/look-up', '/session/invitation'])
    refusedWith(
      await newBrowser().ask('POST', path, path.endsWith('up') ? { token } : { token, password: goodPassword }),
      401,
      'unauthorized',
      /was used/,
    )
  const [opened, accepted] = (await app.made('GET', '/audit?limit=2')).data
  assert.deepEqual([opened.verb, opened.who, opened.author_id ?? id], ['open', 'operator', id])
  assert.deepEqual([accepted.verb, accepted.noun, accepted.subject_id], ['accept', 'invitation', id])
})

void test('operator.invitation: of twenty acceptances at the same time, one signs in', async () => {
  const { id, token } = await invite(app)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      new ConsoleBrowser(app.adminUrl, `127.0.1.${index + 1}`).ask('POST', '/session/invitation', { token }),
    ),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, ...Array<number>(19).fill(401)])
  assert.equal(await sessionsOf(app, id), 1)
})

void test('operator.invitation: a new link ends the earlier one, sets a new password and ends the sessions; seven days end a link', async () => {
  await using own = await startTestApp()
  const first = await invite(own)
  const again = tokenOf((await own.made('POST', `/operators/${first.id}/invite`, {})).invitation_url)
  refusedWith(await newBrowser(own).ask('POST', '/session/invitation', { token: first.token }), 401, 'unauthorized')
  const browser = newBrowser(own)
  await browser.made('POST', '/session/invitation', { token: again, password: goodPassword })
  const reset = tokenOf((await own.made('POST', `/operators/${first.id}/invite`, {})).invitation_url)
  assert.equal((await browser.ask('GET', '/me')).status, 200, 'making a link ends nothing')
  await newBrowser(own).made('POST', '/session/invitation', { token: reset, password: 'two lamps in the attic' })
  assert.equal((await browser.ask('GET', '/me')).status, 401)
  refusedWith(await browser.ask('POST', '/session', { email: first.email, password: goodPassword }), 401, 'unauthorized')

  const late = tokenOf((await own.made('POST', `/operators/${first.id}/invite`, {})).invitation_url)
  await own.moveClock(7 * day - minute)
  await newBrowser(own).made('POST', '/session/invitation/look-up', { token: late })
  await own.moveClock(minute)
  refusedWith(await newBrowser(own).ask('POST', '/session/invitation', { token: late }), 401, 'unauthorized', /has expired/)
  await own.verify()
})

void test('operator.invitation: the link of a disabled or removed operator is not accepted', async () => {
  for (const [method, body] of [
    ['PATCH', { enabled: false }],
    ['DELETE', undefined],
  ] as const) {
    const { id, token } = await invite(app, { role: 'viewer' })
    assert.ok((await app.admin(method, `/operators/${id}`, body)).status < 300)
    refusedWith(await newBrowser().ask('POST', '/session/invitation', { token, password: goodPassword }), 401, 'unauthorized')
  }
})

void test('session.guesses: after ten wrong links, further wrong ones of the address get 429, and the right one does not', async () => {
  await using own = await startTestApp()
  const { token } = await invite(own)
  const browser = new ConsoleBrowser(own.adminUrl, '127.0.0.6')
  for (let guess = 0; guess < 10; guess++)
    refusedWith(await browser.ask('POST', '/session/invitation/look-up', { token: `svc_invite_${guess}` }), 401, 'unauthorized')
  refusedWith(await browser.ask('POST', '/session/invitation/look-up', { token: 'svc_invite_x' }), 429, 'rate_limit_exceeded')
  refusedWith(
    await browser.ask('POST', '/session/recovery', { token: 'svc_recover_x', email: 'a@b.example', password: goodPassword }),
    429,
    'rate_limit_exceeded',
  )
  await browser.made('POST', '/session/invitation', { token })
})

void test('operator.recovery: it makes an active admin without restrictions of the operator, with the new password alone', async () => {
  const { id, email, browser } = await startOperator(app, { role: 'viewer', owner_id: app.caller.ownerId })
  await app.made('PATCH', `/operators/${id}`, { enabled: false })
  assert.equal((await browser.ask('GET', '/me')).status, 401)
  const recovered = newBrowser()
  await recovered.made('POST', '/session/recovery', {
    token: recoveryLink(app),
    email: email.toUpperCase(),
    password: 'two lamps in the attic',
  })
  const me = await recovered.made('GET', '/me')
  assert.deepEqual([me.id, me.role, me.owner_id, me.name], [id, 'admin', null, 'Ada'])
  assert.ok(me.permissions.includes('operators'))
  refusedWith(await browser.ask('POST', '/session', { email, password: goodPassword }), 401, 'unauthorized')
  const [, entry] = (await app.made('GET', '/audit?limit=2')).data
  assert.deepEqual([entry.verb, entry.noun, entry.subject_id, entry.who], ['recover', 'operator', id, 'operator'])
})

void test('operator.recovery: it creates the operator if no operator has the address', async () => {
  await using own = await startTestApp()
  const browser = newBrowser(own)
  await browser.made('POST', '/session/recovery', {
    token: recoveryLink(own),
    email: 'Grace@acme.example',
    name: 'Grace',
    password: goodPassword,
  })
  const { data } = await browser.made('GET', '/operators')
  assert.deepEqual(
    data.map(({ email, name, role, state }: Record<string, unknown>) => [email, name, role, state]),
    [['grace@acme.example', 'Grace', 'admin', 'active']],
  )
  await own.verify()
})

void test('operator.recovery: of twenty uses of one link at the same time, for whatever addresses, one is accepted', async () => {
  await using own = await startTestApp()
  const token = recoveryLink(own)
  const answers = await Promise.all(
    Array.from({ length: 14 }, (_, index) =>
      new ConsoleBrowser(own.adminUrl, `127.0.1.${index + 1}`).ask('POST', '/session/recovery', {
        token: index % 2 ? token : `svc_recover_${Buffer.from(token.slice('svc_recover_'.length), 'base64url').toString('base64')}`,
        email: `admin-${index}@acme.example`,
        password: goodPassword,
      }),
    ),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, ...Array<number>(13).fill(401)])
  assert.deepEqual(await own.query('select count(*) as n from operators'), [{ n: 1 }])
})

void test('operator.recovery: a link that has expired, of another key, for another purpose or with a changed byte is refused, and a weak password uses none', async () => {
  const email = 'recovery@acme.example'
  const tokens = createSignedTokens([app.encryptionKey])
  const valid = recoveryLink(app)
  const wrong = {
    expired: recoveryLink(app, -1),
    'of another key': recoveryLink(app, 15, randomBytes(32)),
    'for another purpose': `svc_recover_${tokens.sign('oidc', Date.now() + minute)}`,
    'without its prefix': valid.slice('svc_recover_'.length),
    changed: valid.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A')).replace(/..$/, 'xx'),
    empty: 'svc_recover_',
  }
  for (const token of Object.values(wrong))
    refusedWith(
      await newBrowser().ask('POST', '/session/recovery', { token, email, password: goodPassword }),
      401,
      'unauthorized',
      /turnkeep operator recover/,
    )
  refusedWith(
    await newBrowser().ask('POST', '/session/recovery', { token: valid, email, password: 'password1234' }),
    422,
    'validation_error',
  )
  refusedWith(
    await newBrowser().ask('POST', '/session/recovery', { token: valid, email: 'no address', password: goodPassword }),
    422,
    'validation_error',
  )
  await newBrowser().made('POST', '/session/recovery', { token: valid, email, password: goodPassword })
  refusedWith(await newBrowser().ask('POST', '/session/recovery', { token: valid, email, password: goodPassword }), 401, 'unauthorized')
})

void test('operator.recovery: a link that was used costs no hash of a password, and any number of requests with it delays no other operator', async () => {
  await using own = await startTestApp()
  const token = recoveryLink(own)
  const given = { token, email: 'a@acme.example', password: goodPassword }
  await newBrowser(own).made('POST', '/session/recovery', given)
  // More than may wait for a hash, each from an address of its own.
  const asked = Array.from({ length: 60 }, (_, index) =>
    new ConsoleBrowser(own.adminUrl, `127.0.2.${index + 1}`).ask('POST', '/session/recovery', given),
  )
  for (const answer of await Promise.all(asked)) refusedWith(answer, 401, 'unauthorized', /was used or has expired/)
})

void test('operator.single-use: what was used is forgotten when it would have expired, and still refused', async () => {
  await using own = await startTestApp()
  const token = recoveryLink(own)
  await newBrowser(own).made('POST', '/session/recovery', { token, email: 'a@acme.example', password: goodPassword })
  assert.deepEqual(await own.query('select purpose, count(*) as n from sign_in_secrets group by purpose'), [{ purpose: 'used', n: 1 }])
  await own.moveClock(16 * minute)
  refusedWith(
    await newBrowser(own).ask('POST', '/session/recovery', { token, email: 'a@acme.example', password: goodPassword }),
    401,
    'unauthorized',
  )
  await newBrowser(own).made('POST', '/session/recovery', { token: recoveryLink(own, 60), email: 'a@acme.example', password: goodPassword })
  assert.deepEqual(await own.query('select count(*) as n from sign_in_secrets'), [{ n: 1 }], 'the next use forgets it')
})
