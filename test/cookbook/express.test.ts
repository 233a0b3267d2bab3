/** docs/cookbook/express.md: its page in a real browser, its backend, and the real service behind it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noBrowser, visit } from '../support/cookbook-page.ts'
import { layOut, startProgram } from '../support/cookbook-program.ts'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'

void test('cookbook/express: a reload in the middle of a reply shows it once, with one charge', { skip: noBrowser() }, async (t) => {
  await using app = await startTestApp()
  const { folder, remove } = layOut('express.md')
  t.after(remove)
  const environment = { AGENT_URL: app.url, AGENT_ID: app.caller.agentId, API_KEY: app.caller.apiKey, SESSION_SECRET: 'session' }
  const backend = await startProgram(folder, 'server.mts', environment)
  t.after(() => backend.kill())

  assert.equal((await fetch(`${backend.url}/api/messages`)).status, 401)
  const forged = { cookie: 'user=user-1.c2lnbmF0dXJl', 'content-type': 'application/json' }
  assert.equal((await fetch(`${backend.url}/api/messages`, { method: 'POST', headers: forged, body: '{}' })).status, 401)

  await visit([backend.url], async (page, picture) => {
    await page.goto(backend.url)
    assert.ok(!(await page.content()).includes(app.caller.apiKey))
    const message = page.getByLabel('Message')
    const lines = page.locator('#log p')
    // The browser ignores Enter while the page waits for a reply or for the history.
    const send = async (text: string): Promise<void> => {
      await page.getByRole('button', { name: 'Send', disabled: false }).waitFor()
      await message.fill(text)
      await message.press('Enter')
    }

    app.model.script(['Hello ', '<b>there</b>.'])
    await send('Hi')
    await page.getByText('Hello <b>there</b>.').waitFor()

    const held = gate()
    app.model.script(['Parcels may be returned ', held, 'within thirty days.'])
    await send('How long may I return a parcel?')
    await page.getByText('Parcels may be returned').waitFor()
    await picture('express')
    const again = page.waitForRequest((request) => request.method() === 'POST')
    await page.reload()
    await again
    held.open()
    await page.getByText('Parcels may be returned within thirty days.').waitFor()
    await page.getByRole('button', { name: 'Send', disabled: false }).waitFor()
    await page.waitForFunction(`!localStorage.getItem('unanswered') && document.querySelectorAll('#log p').length === 4`)
    assert.deepEqual(await lines.allTextContents(), [
      'Hi',
      'Hello <b>there</b>.',
      'How long may I return a parcel?',
      'Parcels may be returned within thirty days.',
    ])

    // An error that a retry cannot fix is shown, and is not sent forever.
    await send('x'.repeat(33_000))
    await page.getByText('This message could not be answered. Try again later.').waitFor()
    await page.waitForFunction(`!localStorage.getItem('unanswered')`)
  })
  assert.equal(app.model.calls.length, 2)
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 2)
})
