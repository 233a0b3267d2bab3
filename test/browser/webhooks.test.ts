/** The page of a webhook: its deliveries, a retry of one, a test event, and a new secret that is shown once. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { openConsole } from '../support/browser.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { until } from '../support/until.ts'
import { startReceiver } from '../support/webhook-receiver.ts'

const receiver = await startReceiver()
after(() => receiver[Symbol.asyncDispose]())
const inConsole = openConsole(() => startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: receiver.host } }))

// The page reads the deliveries of a webhook again after this time. A test moves the page's clock, in a context of its own.
const refetchMs = 10_000

const isDelivered = (app: TestApp, id: string): Promise<void> =>
  until('the delivery has succeeded', async () => {
    const { data } = await app.made('GET', `/webhooks/${id}/deliveries`)
    return data.length > 0 && data.every(({ status }: Json) => status === 'delivered')
  })

inConsole(
  'console: a delivery that failed is listed with its error, and is sent again under the same ID',
  async ({ page, app, open }) => {
    receiver.on('/retried', (_, response) => void response.writeHead(500).end())
    const webhook = await app.made('POST', '/webhooks', { url: receiver.url('/retried'), events: ['turn.completed'] })
    await app.moveClock(2)
    await app.chat('hello')
    await receiver.got('/retried', 1)
    await page.clock.install()
    await open(`/webhooks/${webhook.id}`)
    const row = page.getByRole('row', { name: /turn\.completed/ })
    await page.reload()
    await row.getByText('the endpoint answered 500').waitFor()
    await row.getByText('Retrying').waitFor()
    receiver.on('/retried', (_, response) => void response.writeHead(204).end())
    await row.getByRole('button', { name: /^Retry evt_/ }).click()
    await isDelivered(app, webhook.id)
    await page.clock.fastForward(refetchMs)
    // Before the click there may have been another attempt, without the operator.
    await row.getByText('Delivered').waitFor()
    const [first, ...others] = await receiver.got('/retried', 2)
    for (const other of others) assert.equal(other.id, first!.id)
  },
  { context: {} },
)

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
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Rotate secret' }).click()
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

inConsole(
  'console: a webhook is created with its secret shown once, edited, disabled and deleted',
  async ({ page, app, open, settled }) => {
    await page.clock.install()
    await open('/webhooks')
    await page.getByRole('button', { name: 'Create webhook' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('URL').fill('http://shop.example/hook')
    await dialog.getByRole('checkbox', { name: /^turn\.completed/ }).check()
    await dialog.getByRole('button', { name: 'Create webhook' }).click()
    await dialog.getByText(/^url is not allowed/).waitFor()
    await page.keyboard.press('Escape')
    await page.mouse.click(5, 5)
    assert.ok(await dialog.getByRole('checkbox', { name: /^turn\.completed/ }).isChecked())
    await dialog.getByLabel('URL').fill(receiver.url('/created'))
    await dialog.getByLabel('Description').fill('Order system')
    await dialog.getByRole('button', { name: 'Create webhook' }).click()
    const secret = (await page.getByRole('region', { name: 'Signing secret', exact: true }).innerText()).trim()
    await page.getByRole('button', { name: 'I have stored the secret' }).click()
    const created = (await app.made('GET', '/webhooks')).data.find(
      (one: { description: string | null }) => one.description === 'Order system',
    )
    assert.deepEqual([created.events.toSorted(), created.enabled], [['turn.completed', 'turn.failed', 'turn.released'], true])
    await app.moveClock(2)
    await app.chat('hello')
    const [sent] = await receiver.got('/created', 1)
    new StandardWebhook(secret).verify(sent!.body, sent!.headers)

    await isDelivered(app, created.id)
    await page.clock.fastForward(refetchMs)
    await page
      .getByRole('row', { name: /Order system/ })
      .getByText('Delivering')
      .waitFor()
    await page.getByRole('link', { name: receiver.url('/created') }).click()
    await page.getByRole('heading', { level: 1, name: 'Order system' }).waitFor()
    const choose = async (item: string): Promise<void> => {
      await page.getByRole('button', { name: 'More actions' }).click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    await choose('Edit')
    await dialog.getByRole('radio', { name: 'All, also future types' }).check()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await choose('Disable')
    await page.getByText('Disabled', { exact: true }).waitFor()
    const changed = await app.made('GET', `/webhooks/${created.id}`)
    assert.deepEqual([changed.events, changed.enabled], [['*'], false])
    await settled()
    await choose('Delete')
    await dialog.getByRole('button', { name: 'Delete webhook' }).click()
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
    assert.equal((await app.admin('GET', `/webhooks/${created.id}`)).status, 404)
  },
  { refusals: [422], context: {} },
)

inConsole('console: a delivery opens with its body, by its address too, and links to the trace', async ({ page, app, open }) => {
  const webhook = await app.made('POST', '/webhooks', { url: receiver.url('/opened'), events: ['turn.completed'] })
  await app.moveClock(2)
  const { json } = await app.chat('hello')
  await receiver.got('/opened', 1)
  await open(`/webhooks/${webhook.id}?status=delivered`)
  await page.getByRole('button', { name: `Open turn.completed, evt_${json.request_id}_turn_completed` }).click()
  const body = page.getByRole('region', { name: 'body', exact: true })
  assert.equal(JSON.parse(await body.innerText()).data.request_id, json.request_id)
  await page.reload()
  await body.waitFor()
  await page.getByRole('link', { name: 'Open trace' }).click()
  await page.waitForURL((url) => url.pathname.endsWith(`/turns/${json.request_id}`))
})

inConsole('console: events of a range are sent again', async ({ page, app, open }) => {
  await app.chat('hello')
  const webhook = await app.made('POST', '/webhooks', { url: receiver.url('/replayed'), events: ['turn.completed'] })
  await open(`/webhooks/${webhook.id}`)
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Replay events' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click()
  await receiver.got('/replayed', 1)
})
