/** docs/cookbook/support-widget.md: its widget in a page of another origin, in a real browser, and the real service behind its backend. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { noBrowser, visit } from '../support/cookbook-page.ts'
import { layOut, startProgram } from '../support/cookbook-program.ts'
import type { Program } from '../support/cookbook-program.ts'
import { startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

const secret = 'widget-secret'
const userToken = (user: string): string => `user:${user}.${createHmac('sha256', secret).update(`user:${user}`).digest('hex')}`

/** The site of a customer: its pages load the backend's widget, the second one for a known user. */
async function startSite(t: TestContext, backend: () => string): Promise<string> {
  const server = createServer((request, response) => {
    const known = request.url === '/account' ? ` data-visitor="${userToken('4711')}"` : ''
    const tag = `<script data-turnkeep-widget src="${backend()}/widget.js"${known} defer></script>`
    response.setHeader('content-type', 'text/html')
    response.end(`<!doctype html><title>Shop</title><link rel="icon" href="data:,"><h1>Shop</h1><p>Parcels and more.</p>${tag}`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.closeAllConnections())
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function startApps(t: TestContext, app: TestApp): Promise<{ site: string; backend: Program }> {
  const { folder, remove } = layOut('support-widget.md')
  t.after(remove)
  let url = ''
  const site = await startSite(t, () => url)
  const backend = await startProgram(folder, 'widget.mts', {
    AGENT_URL: app.url,
    AGENT_ID: app.caller.agentId,
    API_KEY: app.caller.apiKey,
    WIDGET_SECRET: secret,
    ALLOWED_ORIGINS: site,
  })
  t.after(() => backend.kill())
  url = backend.url
  return { site, backend }
}

void test(
  'cookbook/support-widget: a visitor asks, reloads and finds the conversation; a known user has another',
  { skip: noBrowser() },
  async (t) => {
    await using app = await startTestApp()
    const { site, backend } = await startApps(t, app)
    app.model.when('return', ['Parcels may be returned ', 'within thirty days.'])
    await visit(
      [site, backend.url],
      async (page, picture) => {
        await page.goto(site)
        const open = (): Promise<void> => page.getByRole('button', { name: 'Help' }).click()
        const log = page.getByRole('log')
        await open()
        await page.getByLabel('Your question').fill('May I return it?')
        await page.getByRole('button', { name: 'Send' }).click()
        await log.getByText('Parcels may be returned within thirty days.').waitFor()
        await picture('widget')
        await page.reload()
        await open()
        await log.getByText('Parcels may be returned within thirty days.').waitFor()
        assert.deepEqual(await log.locator('p').allTextContents(), ['May I return it?', 'Parcels may be returned within thirty days.'])

        await page.goto(`${site}/account`)
        await open()
        // The browser ignores Enter until the history is shown.
        await page.getByRole('button', { name: 'Send', disabled: false }).waitFor()
        await page.getByLabel('Your question').fill('Hello')
        await page.getByLabel('Your question').press('Enter')
        await log.getByText('You said: Hello').waitFor()
        assert.equal(await log.locator('p').count(), 2)
      },
      { viewport: { width: 390, height: 740 } },
    )
    assert.equal((await app.messages('user:4711')).length, 2)
    assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 2)
  },
)

void test('cookbook/support-widget: other origins, unsigned names and too many requests are refused', async (t) => {
  await using app = await startTestApp()
  const { site, backend } = await startApps(t, app)
  const send = (given: { visitor?: string; origin?: string; id?: string; text?: string }): Promise<Response> =>
    fetch(`${backend.url}/messages`, {
      method: 'POST',
      headers: { origin: given.origin ?? site, 'x-visitor': given.visitor ?? userToken('1'), 'content-type': 'application/json' },
      body: JSON.stringify({ id: given.id ?? 'message-1', text: given.text ?? 'Hi' }),
    })
  assert.equal((await send({ origin: 'https://elsewhere.example' })).status, 403)
  assert.equal((await send({ visitor: `user:2.${userToken('1').split('.')[1]}` })).status, 401)
  assert.equal((await send({ text: '' })).status, 400)
  const statuses = await Promise.all(Array.from({ length: 12 }, async (_, index) => (await send({ id: `message-${index}` })).status))
  assert.deepEqual(statuses.toSorted(), [...Array<number>(10).fill(200), 429, 429])
  const visitors = await Promise.all(
    Array.from({ length: 6 }, async () => (await fetch(`${backend.url}/visitors`, { method: 'POST', headers: { origin: site } })).status),
  )
  assert.deepEqual(visitors.toSorted(), [...Array<number>(5).fill(201), 429])
})
