/**
 * Operators in the console: an invitation is created, accepted with a password or a passkey of a virtual authenticator, and shows each role
 * what it may do. At localhost, because browsers allow no passkeys at an IP address.
 */
import assert from 'node:assert/strict'
import type { BrowserContext, Page } from 'playwright-core'
import { barriersOf } from '../support/axe.ts'
import { createSignedTokens } from '../../src/operators/signed-tokens.ts'
import { openConsole } from '../support/browser.ts'
import { takePicture } from '../support/browser-visit.ts'
import type { Visitor } from '../support/browser-visit.ts'
import { goodPassword, invite, startOperator } from '../support/operators.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

const inConsole = openConsole(async () => {
  const app = await startTestApp()
  app.adminUrl = app.adminUrl.replace('127.0.0.1', 'localhost')
  return app
})
const looks = ['light', 'dark'] as const

/** Without violations in both color schemes. */
async function isAccessible({ page, settled }: Visitor<TestApp>, name: string): Promise<void> {
  for (const colorScheme of looks) {
    await page.emulateMedia({ colorScheme })
    await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor()
    // The new colors are drawn, and transitions have started.
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
    await settled()
    await takePicture(page, colorScheme, name)
    assert.deepEqual(await barriersOf(page), [], `${name}, ${colorScheme}`)
  }
  await page.emulateMedia({ colorScheme: 'light' })
}

async function signIn(page: Page, email: string, password = goodPassword): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** An authenticator of the browser itself, which confirms without asking. */
async function addAuthenticator(context: BrowserContext, page: Page): Promise<void> {
  const session = await context.newCDPSession(page)
  await session.send('WebAuthn.enable')
  const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true }
  await session.send('WebAuthn.addVirtualAuthenticator', { options: { ...options, automaticPresenceSimulation: true } as never })
}

const signOut = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: /Session menu/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByText('You are signed out.').waitFor()
}

inConsole('console: an operator is invited, and the link is shown once and can be copied', async (visitor) => {
  const { page, app, open } = visitor
  await open('/operators')
  await page.getByRole('heading', { name: 'Who may do what' }).waitFor()
  await page.getByRole('button', { name: 'Invite operator' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel(/^Name/).fill('Sam Support')
  await dialog.getByLabel(/^Email/).fill('sam@acme.example')
  await dialog.getByLabel('Viewer').check()
  await dialog.getByLabel('May read messages').check()
  await isAccessible(visitor, 'operators invite')
  await dialog.getByRole('button', { name: 'Create invitation' }).click()
  const link = dialog.getByRole('region', { name: 'invitation link' })
  assert.match((await link.textContent())!, /\/console\/invitation#svc_invite_/)
  await dialog.getByRole('button', { name: 'I have copied the link' }).click()
  const row = page.getByRole('row', { name: /Sam Support/ })
  await row.getByText('Viewer, may read messages').waitFor()
  await row.getByText('Invited').waitFor()
  await isAccessible(visitor, 'operators')
  const made = (await app.made('GET', '/operators')).data.find(({ email }: Json) => email === 'sam@acme.example')
  assert.deepEqual([made.role, made.permissions, made.owner_id], ['viewer', ['conversations'], null])
})

inConsole(
  'console: an invitation is accepted with a password, the address loses its token, and the password signs in again',
  async (visitor) => {
    const { page, app, open, settled } = visitor
    const { token, email } = await invite(app, { name: 'Ada Lovelace', role: 'editor' })
    await open(`/invitation#${token}`)
    await page.getByText(`Choose how you will sign in as ${email}.`).waitFor()
    assert.equal(new URL(page.url()).hash, '')
    assert.equal(await page.getByLabel('Your name').inputValue(), 'Ada Lovelace')
    await isAccessible(visitor, 'invitation')
    await page.getByLabel('Password', { exact: true }).fill('too short')
    await page.getByRole('button', { name: 'Continue with this password' }).click()
    await page.getByText(/^password must have at least 12/).waitFor()
    await page.getByLabel('Password', { exact: true }).fill(goodPassword)
    await page.getByRole('button', { name: 'Continue with this password' }).click()
    await page.getByRole('button', { name: /Ada Lovelace.*Session menu/ }).waitFor()
    await signOut(page)
    await isAccessible(visitor, 'sign in')
    await signIn(page, email, 'another lamp in the attic')
    await page
      .getByRole('alert')
      .getByText(/password is wrong/)
      .waitFor()
    await signIn(page, email)
    await page.getByRole('button', { name: /Ada Lovelace/ }).waitFor()
    await settled()
    await takePicture(page, 'light', 'signed in with a password')

    await open(`/invitation#${token}`)
    await page.getByRole('heading', { name: 'This invitation is not valid' }).waitFor()
    await isAccessible(visitor, 'invitation used')
    await open('/')
    await page.getByRole('button', { name: /Ada Lovelace/ }).waitFor()
  },
  { signedIn: false, refusals: [401, 422] },
)

inConsole(
  'console: an invitation is accepted with a passkey, and the passkey signs in again without a password',
  async (visitor) => {
    const { page, app, context, open } = visitor
    await addAuthenticator(context, page)
    const { token, id } = await invite(app, { name: 'Pat', role: 'viewer' })
    await open(`/invitation#${token}`)
    await page.getByRole('button', { name: 'Continue with a passkey' }).click()
    await page.getByRole('button', { name: /Pat.*Session menu/ }).waitFor()
    await signOut(page)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByRole('button', { name: /Pat/ }).waitFor()
    await visitor.settled()
    await takePicture(page, 'light', 'signed in with a passkey')
    const operator = await app.made('GET', `/operators/${id}`)
    assert.deepEqual([operator.has_password, operator.passkeys, operator.state], [false, 1, 'active'])
  },
  { signedIn: false, context: {}, refusals: [401] },
)

inConsole(
  'console: a passkey that the device does not have is explained, and the page stays usable',
  async ({ page, context, open }) => {
    await addAuthenticator(context, page)
    await open('/')
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page
      .getByRole('alert')
      .getByText(/did not use a passkey/)
      .waitFor()
    await page.getByLabel('Email').fill('still@usable.example')
  },
  { signedIn: false, context: {} },
)

inConsole(
  'console: the own account: name, password, a passkey, and the other browsers',
  async (visitor) => {
    const { page, app, context, open, settled } = visitor
    const { email } = await startOperator(app, { name: 'Grace', role: 'admin' })
    await addAuthenticator(context, page)
    await open('/account')
    await signIn(page, email)
    await page.getByRole('heading', { name: 'Account', level: 1 }).waitFor()
    await settled()
    const sessions = page.getByRole('table', { name: /^Sessions/ })
    await sessions.getByText('This browser').waitFor()
    assert.equal(await sessions.getByRole('rowheader').count(), 2)

    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Grace Hopper')
    await page.getByRole('button', { name: 'Save name' }).click()
    await page.getByRole('button', { name: /Grace Hopper.*Session menu/ }).waitFor()

    await page.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByRole('table', { name: 'Passkeys' }).getByRole('rowheader').waitFor()
    await isAccessible(visitor, 'account')

    await page.getByRole('button', { name: 'Sign out all other browsers' }).click()
    await page.getByRole('status').getByText('Signed out', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Sign out all other browsers' }).waitFor({ state: 'detached' })
    assert.equal(await sessions.getByRole('rowheader').count(), 1)

    await page.getByLabel('Current password', { exact: true }).fill('a wrong one of mine')
    await page.getByLabel('New password', { exact: true }).fill('two lamps in the attic')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('current_password is wrong.').waitFor()
    assert.equal(await page.getByRole('alert').count(), 0, 'it is shown at its field')
    await page.getByLabel('Current password', { exact: true }).fill(goodPassword)
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText(/^Password saved/).waitFor()
    await page.getByRole('button', { name: /^Remove / }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove passkey' }).click()
    await page.getByText('No passkeys yet.').waitFor()
  },
  { signedIn: false, context: {}, refusals: [403] },
)

inConsole('console: an operator gets another role, is signed out, disabled, and removed with its typed name', async (visitor) => {
  const { page, app, open } = visitor
  const { id, browser } = await startOperator(app, { name: 'Lin', role: 'viewer' })
  await open(`/operators/${id}`)
  await page.getByRole('heading', { name: 'Lin', level: 1 }).waitFor()
  await page.getByLabel('Billing').check()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Operator saved').waitFor()
  assert.equal((await app.made('GET', `/operators/${id}`)).role, 'billing')
  assert.equal((await browser.ask('GET', '/me')).status, 401, 'a change of the role ends the sessions')
  await isAccessible(visitor, 'operator')

  await page.getByRole('button', { name: 'Disable operator' }).click()
  await page.getByText('Disabled', { exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Create new link' }).count(), 0)
  await page.getByRole('button', { name: 'Enable operator' }).click()
  await page.getByText('Active', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Create new link' }).click()
  await page.getByRole('region', { name: 'invitation link' }).waitFor()
  await page.getByRole('button', { name: 'I have copied the link' }).click()

  await page.getByRole('button', { name: 'Remove operator…' }).click()
  const dialog = page.getByRole('dialog')
  const remove = dialog.getByRole('button', { name: 'Remove operator' })
  assert.ok(await remove.isDisabled())
  await dialog.getByLabel(/to confirm: Lin/).fill('Lin')
  await remove.click()
  await page.getByRole('heading', { name: 'Operators', level: 1 }).waitFor()
  assert.equal((await app.admin('GET', `/operators/${id}`)).status, 404)
})

inConsole('console: a token is created, shown once, used, and revoked', async (visitor) => {
  const { page, app, open } = visitor
  await open('/tokens')
  await page.getByRole('button', { name: 'Create token' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel(/^Name/).fill('Nightly report')
  await dialog.getByLabel('Viewer').check()
  await dialog.getByRole('button', { name: 'Create token' }).click()
  const token = (await dialog.getByRole('region', { name: 'token', exact: true }).textContent())!
  assert.match(token, /^svc_admin_/)
  const headers = { authorization: `Bearer ${token}` }
  assert.equal((await app.admin('GET', '/agents', undefined, headers)).status, 200)
  await dialog.getByRole('button', { name: 'I have stored the token' }).click()
  assert.ok(!(await page.content()).includes(token), 'the page contains the token')
  const row = page.getByRole('row', { name: /Nightly report/ })
  await row.getByText('Active').waitFor()
  await isAccessible(visitor, 'tokens')
  await row.getByRole('button', { name: 'Revoke Nightly report' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke token' }).click()
  await row.getByText('Revoked').waitFor()
  assert.equal((await app.admin('GET', '/agents', undefined, headers)).status, 401)
})

inConsole(
  'console: a viewer sees the pages that it may open, forms that it may not change, and why another page is closed',
  async (visitor) => {
    const { page, app, open, settled } = visitor
    const { email } = await startOperator(app, { name: 'Vic', role: 'viewer' })
    await open('/')
    await signIn(page, email)
    const menu = page.getByRole('navigation', { name: 'Main' })
    await menu.getByRole('link', { name: 'Agents' }).waitFor()
    await settled()
    const links = await menu.getByRole('link').allTextContents()
    for (const hidden of ['Playground', 'Feedback', 'Audit log', 'Operators', 'Tokens']) assert.ok(!links.includes(hidden), hidden)
    await open(`/agents/${app.caller.agentId}`)
    await page
      .getByRole('note')
      .getByText(/you need the permission agents/)
      .waitFor()
    assert.ok(await page.getByLabel('System prompt').isDisabled())
    assert.equal(await page.getByRole('button', { name: 'Delete agent…' }).count(), 0)
    await isAccessible(visitor, 'agent of a viewer')
    await open(`/keys/${app.caller.agentId}`)
    assert.equal(await page.getByRole('button', { name: 'Create API key' }).count(), 0)
    await open('/operators')
    await page.getByRole('heading', { name: 'You may not open this page' }).waitFor()
    await page.getByText(/needs the permission operators/).waitFor()
  },
  { signedIn: false },
)

inConsole(
  'console: an operator of one owner sees only that owner, and none of the pages of the installation',
  async (visitor) => {
    const { page, app, open, settled } = visitor
    const other = await app.made('POST', '/owners', { name: 'Another owner', balance_usd: '5' })
    const agent = await app.makeAgent(other.id, { name: 'Another agent' })
    const { email } = await startOperator(app, { name: 'Kim', role: 'editor', owner_id: other.id })
    await open('/agents')
    await signIn(page, email)
    await page.getByRole('rowheader', { name: 'Another agent' }).waitFor()
    await settled()
    assert.equal(await page.getByRole('rowheader').count(), 1)
    const links = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allTextContents()
    for (const hidden of ['Providers', 'Status', 'Audit log', 'Operators', 'Tokens']) assert.ok(!links.includes(hidden), hidden)
    for (const path of ['/', `/agents/${agent.id}`, '/money', `/money/${other.id}`, '/conversations', '/usage', '/limits', '/turns']) {
      await open(path)
      assert.equal(await page.getByRole('alert').count(), 0, path)
    }
    await open('/providers')
    await page.getByText('It concerns the whole installation, and you are restricted to one owner.').waitFor()
    await isAccessible(visitor, 'closed page')
  },
  { signedIn: false },
)

inConsole(
  'console: an editor of one owner creates an agent, changes its model and saves tools without setting a price',
  async ({ page, app, open, settled }) => {
    await app.made('POST', '/providers', { name: 'hosted', kind: 'openai', base_url: app.model.baseUrl, api_key: 'model-key' })
    const owner = await app.made('POST', '/owners', { name: 'A customer', balance_usd: '5' })
    await app.makeAgent(owner.id, { name: 'Present agent', model: 'hosted/gpt-4o', price: undefined })
    const { email } = await startOperator(app, { name: 'Kit', role: 'editor', owner_id: owner.id })
    await open('/agents/new')
    await signIn(page, email)
    const [provider, model] = [page.getByRole('combobox', { name: /^Provider/ }), page.getByRole('combobox', { name: /^Model ID/ })]
    await page.getByRole('textbox', { name: /^Name/ }).fill('Own agent')
    assert.equal(await page.getByRole('link', { name: 'Manage providers' }).count(), 0)
    await provider.click()
    await page.getByRole('option', { name: 'hosted' }).click()
    await model.fill('gpt-unheard-of')
    await page.getByText('No price is listed for hosted/gpt-unheard-of. Choose another model, or ask an admin.').waitFor()
    await page.getByRole('button', { name: 'Create agent' }).click()
    await page.getByText(/price of the model hosted\/gpt-unheard-of is not known/).waitFor()
    assert.equal(await model.getAttribute('aria-invalid'), 'true')
    await model.fill('gpt-4o')
    await page.getByText(/Listed price for hosted\/gpt-4o: \$2\.50 prompt/).waitFor()
    assert.equal(await page.getByLabel(/price$/).count(), 0)
    await page.getByRole('button', { name: 'Create agent' }).click()
    await page.getByRole('heading', { name: 'Own agent', level: 1 }).waitFor()
    await settled()

    await page.getByText(/Price of hosted\/gpt-4o: \$2\.50 prompt/).waitFor()
    await model.fill('gpt-5.4-mini')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved as version 2.').waitFor()
    await page.getByRole('tab', { name: 'Tools' }).click()
    await page.getByRole('checkbox', { name: /^Clock/ }).click()
    await page.getByText('Enabled now. Saved as version 3.').waitFor()
    await page.getByRole('button', { name: 'Add HTTP tool' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Tool name').fill('order')
    await dialog.getByRole('textbox', { name: /^Description/ }).fill('Where an order is.')
    await dialog.getByRole('textbox', { name: /^URL/ }).fill('https://shop.example.com/orders')
    assert.equal(await dialog.getByLabel('Price per call').count(), 0)
    await dialog.getByRole('button', { name: 'Add tool' }).click()
    await page.getByText('Saved order in version 4.').waitFor()
    const made = (await app.made('GET', '/agents')).data.find(({ name }: Json) => name === 'Own agent')
    assert.deepEqual([made.owner_id, made.price.prompt_usd_per_million], [owner.id, '0.75000000'])
    assert.deepEqual(
      made.tools.map(({ name, price_usd: price }: Json) => [name, price]),
      [
        ['now', '0.00000000'],
        ['order', '0.00000000'],
      ],
    )
  },
  { signedIn: false, refusals: [422] },
)

inConsole(
  'console: Run again is not offered to an editor of one owner, who may not use it',
  async ({ page, app, open }) => {
    const { json } = await app.chat('Where is my parcel?')
    const { email } = await startOperator(app, { name: 'Kai', role: 'editor', owner_id: app.caller.ownerId })
    await open(`/turns/${json.request_id}?view=again`)
    await signIn(page, email)
    await page.getByRole('tab', { name: 'Trace', selected: true }).waitFor()
    assert.deepEqual(await page.getByRole('tablist').first().getByRole('tab').allInnerTexts(), ['Trace', 'Compare'])
  },
  { signedIn: false },
)

inConsole(
  'console: a recovery link makes an admin with a password; without its token the page says so',
  async (visitor) => {
    const { page, app, open, settled } = visitor
    await open('/recovery')
    await page.getByRole('heading', { name: 'This link is not complete' }).waitFor()
    // A page that only changes the part after the `#` is not loaded again.
    await open('/')
    await open(`/recovery#svc_recover_${createSignedTokens([app.encryptionKey]).sign('recovery', Date.now() + 60_000)}`)
    await isAccessible(visitor, 'recovery')
    await page.getByLabel('Email').fill('root@acme.example')
    await page.getByLabel('Name', { exact: true }).fill('Root')
    await page.getByLabel('Password', { exact: true }).fill(goodPassword)
    await page.getByRole('button', { name: 'Set password and sign in' }).click()
    await page.getByRole('button', { name: /Root.*Session menu/ }).waitFor()
    await settled()
    await open('/operators')
    await page
      .getByRole('row', { name: /Root.*You/ })
      .getByText('Admin')
      .waitFor()
  },
  { signedIn: false },
)
