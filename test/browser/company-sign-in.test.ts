/** The sign-in with the company account in the console, with a real OpenID Connect provider, and the recovery link. */
import assert from 'node:assert/strict'
import { barriersOf } from '../support/axe.ts'
import { openConsole } from '../support/browser.ts'
import { takePicture } from '../support/browser-visit.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import type { IdentityProvider } from '../support/identity-provider.ts'
import { startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

type CompanyApp = { adminUrl: string; identityOrigin: string; app: TestApp; provider: IdentityProvider; close(): Promise<void> }

const inConsole = openConsole(async (): Promise<CompanyApp> => {
  const provider = await startIdentityProvider()
  const app = await startTestApp({
    env: {
      TURNKEEP_OIDC_ISSUER: provider.issuer,
      TURNKEEP_OIDC_CLIENT_ID: provider.clientId,
      TURNKEEP_OIDC_CLIENT_SECRET: provider.clientSecret,
      TURNKEEP_OIDC_NAME: 'Acme',
    },
  })
  provider.allow(`${app.adminUrl}/admin/v1/session/oidc/callback`)
  const close = async (): Promise<void> => {
    await app.close()
    await provider.close()
  }
  return { adminUrl: app.adminUrl, identityOrigin: provider.issuer, app, provider, close }
})

inConsole(
  'console: an invited operator signs in with the company account, and is named in the session menu',
  async ({ page, app, open, settled }) => {
    await app.app.made('POST', '/operators', { email: 'ada@acme.example', name: 'Ada', role: 'editor' })
    await open('/')
    await page.getByRole('link', { name: 'Sign in with Acme' }).waitFor()
    await takePicture(page, 'light', 'sign in with a company account')
    assert.deepEqual(await barriersOf(page), [])
    await page.getByRole('link', { name: 'Sign in with Acme' }).click()
    await page.getByRole('button', { name: /Ada.*Session menu/ }).waitFor()
    await settled()
    await takePicture(page, 'light', 'signed in with a company account')
    await open('/account')
    await page.getByText('You sign in with your company account.', { exact: false }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Add passkey' }).count(), 0)
    assert.deepEqual(await barriersOf(page), [])
  },
  { signedIn: false },
)

inConsole(
  'console: a refused sign-in with the company account says why',
  async ({ page, app, open }) => {
    app.provider.person = { sub: 'stranger', email: 'stranger@acme.example', email_verified: true, name: 'Stranger' }
    await open('/')
    await page.getByRole('link', { name: 'Sign in with Acme' }).click()
    await page
      .getByRole('alert')
      .getByText(/No operator has your email address/)
      .waitFor()
    assert.deepEqual(await barriersOf(page), [])
  },
  { signedIn: false },
)

inConsole(
  'console: a cancelled sign-in with the company account says so, and an unknown reason in the address is not repeated',
  async ({ page, app, open }) => {
    app.provider.refuses = 'access_denied'
    await open('/')
    await page.getByRole('link', { name: 'Sign in with Acme' }).click()
    await page
      .getByRole('alert')
      .getByText(/was cancelled/)
      .waitFor()
    await open('/sign-in?error=Call+0800+to+unlock')
    await page
      .getByRole('alert')
      .getByText(/company account failed/)
      .waitFor()
    assert.equal(await page.getByText('0800').count(), 0)
  },
  { signedIn: false },
)
