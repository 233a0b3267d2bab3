/** The console's sign-in: the token is entered once and stored nowhere, guessing is limited, and a returning user sees the same page. */
import assert from 'node:assert/strict'
import { openConsole } from '../support/browser.ts'
import type { Visitor } from '../support/browser-visit.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'

const inConsole = openConsole(() => startTestApp())

const dayMs = 86_400_000

async function signIn({ page }: Visitor, token = adminToken): Promise<void> {
  const other = page.getByRole('button', { name: 'Use the admin token' })
  await other.or(page.getByLabel(/^Admin token/)).waitFor()
  if (await other.isVisible()) await other.click()
  await page.getByLabel(/^Admin token/).fill(token)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

inConsole(
  'console: signing in with the keyboard alone leads to the requested page, with a cookie that no script can read',
  async (visitor) => {
    const { page, context, open, settled } = visitor
    await open('/agents')
    await page.getByRole('button', { name: 'Use the admin token' }).focus()
    await page.keyboard.press('Enter')
    // The field has the focus already.
    await page.getByLabel(/^Admin token/).waitFor()
    await page.keyboard.type(adminToken)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor()
    await settled()
    assert.equal(new URL(page.url()).pathname, '/console/agents')
    const [cookie, ...others] = await context.cookies()
    assert.deepEqual(others, [])
    assert.deepEqual([cookie!.httpOnly, cookie!.sameSite, cookie!.value.includes(adminToken)], [true, 'Strict', false])
    assert.equal(await page.evaluate('document.cookie'), '')
    const seen = await page.content()
    assert.ok(!seen.includes(adminToken), 'the page contains the token')
  },
  { signedIn: false },
)

inConsole(
  'console: an expired session leads to the sign-in and back to the same page, including its filters',
  async (visitor) => {
    const { page, app, open, settled } = visitor
    await open('/conversations?external_user_id=user-7')
    await app.moveClock(dayMs)
    await page.getByRole('link', { name: 'Agents', exact: true }).click()
    await page.getByText('Your session has ended').waitFor()
    assert.equal(new URL(page.url()).pathname, '/console/agents')
    await page.goBack()
    await signIn(visitor)
    await page.getByRole('heading', { name: 'Conversations', level: 1 }).waitFor()
    await settled()
    assert.match(page.url(), /external_user_id=user-7/)
  },
  { refusals: [401] },
)

inConsole(
  'console: signing out ends the session on the server too',
  async ({ page, context, app, open }) => {
    await open('/agents')
    const [cookie] = await context.cookies()
    await page.getByRole('button', { name: 'Session menu' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByText('You are signed out.').waitFor()
    assert.deepEqual(await context.cookies(), [])
    const headers = { cookie: `${cookie!.name}=${cookie!.value}`, 'x-turnkeep-console': '1' }
    const again = await fetch(`${app.adminUrl}/admin/v1/agents`, { headers })
    assert.equal(again.status, 401)
    await again.body?.cancel()
    // The back button does not show what was read before.
    await page.goBack().catch(() => undefined)
    assert.equal(await page.getByText('Test agent').count(), 0)
  },
  { refusals: [401] },
)

// The last one: wrong tokens of this address get 429 for minutes.
inConsole(
  'console: a wrong token is refused with a message, and after ten of them the page says when to try again; the right one signs in',
  async (visitor) => {
    const { page, open } = visitor
    await open('/')
    for (let tries = 1; tries <= 10; tries++) {
      const answered = page.waitForResponse((response) => response.request().method() === 'POST')
      await signIn(visitor, `wrong ${tries}`)
      assert.equal((await answered).status(), 401)
      await page.getByRole('alert').waitFor()
    }
    await signIn(visitor, 'wrong 11')
    await page.getByText(/Try again in \d+ s/).waitFor()
    await page.getByText(/too many wrong/).waitFor()
    assert.equal(await page.getByRole('navigation').count(), 0)
    await signIn(visitor)
    await page.getByRole('navigation').first().waitFor()
  },
  { signedIn: false, refusals: [401, 429] },
)
