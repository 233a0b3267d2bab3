/** The page of a webhook: its deliveries, a retry of one, a test event, and a new secret that is shown once. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { openConsole } from '../support/browser.ts'
import { startTestApp } from '../support/test-app.ts'
import { startReceiver } from '../support/webhook-receiver.ts'

const receiver = await startReceiver()
after(() => receiver[Symbol.asyncDispose]())
const inConsole = openConsole(() => startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: receiver.host } }))

inConsole('console: a delivery that failed is listed with its error, and is sent again under the same ID', async ({ page, app, open }) => {
  receiver.on('/retried', (_, response) => void response.writeHead(500).end())
  const webhook = await app.made('POST', '/webhooks', { url: receiver.url('/retried'), events: ['turn.completed'] })
  await app.moveClock(2)
  await app.chat('hello')
  await receiver.got('/retried', 1)
  await open(`/webhooks/${webhook.id}`)
  const row = page.getByRole('row', { name: /turn\.completed/ })
  await page.reload()
  await row.getByText('the endpoint answered 500').waitFor()
  assert.match(await row.innerText(), /pending/)
  receiver.on('/retried', (_, response) => void response.writeHead(204).end())
  await row.getByRole('button', { name: /^Retry evt_/ }).click()
  const [first, second] = await receiver.got('/retried', 2)
  assert.equal(second!.id, first!.id)
  await page.reload()
  await row.getByText('delivered').waitFor()
})

inConsole('console: a test event is sent from the page of a webhook, which shows the answer', async ({ page, app, open }) => {
  const webhook = await app.made('POST', '/webhooks', { url: receiver.url('/tested'), events: ['turn.completed'] })
  await open(`/webhooks/${webhook.id}`)
  await page.getByRole('button', { name: 'Send test event' }).click()
  await page.getByText('The endpoint answered 204').waitFor()
  assert.deepEqual(
    (await receiver.got('/tested', 1)).map(({ json }) => json.type),
    ['webhook.test'],
  )
  receiver.on('/tested', (_, response) => void response.writeHead(503).end())
  await page.getByRole('button', { name: 'Send test event' }).click()
  await page.getByText('the endpoint answered 503').waitFor()
})

inConsole('console: the new secret of a webhook is shown once, signs deliveries, and is in no later page', async ({ page, app, open }) => {
  const webhook = await app.made('POST', '/webhooks', { url: receiver.url('/rotated'), events: ['turn.completed'] })
  await open(`/webhooks/${webhook.id}`)
  await page.getByRole('button', { name: 'Rotate secret' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('radio', { name: 'Immediately' }).check()
  await dialog.getByRole('button', { name: 'Rotate secret' }).click()
  const shown = page.getByRole('region', { name: 'Signing secret', exact: true })
  const secret = (await shown.innerText()).trim()
  assert.match(secret, /^whsec_/)
  assert.notEqual(secret, webhook.secret)
  // An accidental click does not close it.
  await page.keyboard.press('Escape')
  assert.ok(await shown.isVisible())
  await page.getByRole('button', { name: 'I have stored the secret' }).click()
  await dialog.waitFor({ state: 'detached' })
  assert.ok(!(await page.content()).includes(secret), 'the secret is still in the page')
  await app.moveClock(2)
  await app.chat('hello')
  const [one] = await receiver.got('/rotated', 1)
  new StandardWebhook(secret).verify(one!.body, one!.headers)
  assert.throws(() => new StandardWebhook(webhook.secret).verify(one!.body, one!.headers))
  await open(`/webhooks/${webhook.id}`)
  assert.ok(!(await page.content()).includes(secret), 'the secret came back')
})
