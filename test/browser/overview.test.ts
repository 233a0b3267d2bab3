/** The overview: figures of one time range with the period before, why turns failed, and what needs attention. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { openConsole } from '../support/browser.ts'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import { startReceiver } from '../support/webhook-receiver.ts'

const receiver = await startReceiver()
after(() => receiver[Symbol.asyncDispose]())
const inConsole = openConsole(() => startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: receiver.host }, balanceUsd: '10' }))
const dayMs = 24 * 60 * 60 * 1000

inConsole('console: the overview compares a range with the period before, in the address and as a table', async ({ page, app, open }) => {
  // Both periods end at the time of day of the browser, whose clock is not moved.
  await app.moveClock(-8 * dayMs)
  for (const user of ['ann', 'ben']) await app.chat('hello', { user })
  await app.moveClock(8 * dayMs)
  for (const user of ['ann', 'ben', 'cid']) await app.chat('hello', { user })
  await open('/?overview&range=30d')
  const figures = page.getByRole('region', { name: /^Figures compared/ })
  await figures.getByText('none in the previous 30 days').first().waitFor()
  await page.getByText('7 days', { exact: true }).click()
  await page.waitForURL(/range=7d/)
  await figures.getByText('+50% from the previous 7 days').first().waitFor()
  await figures.getByRole('img', { name: /Previous turns: 2\. Turns: 3\./ }).waitFor()
  await figures.getByRole('button', { name: /^Show table/ }).click()
  const table = figures.getByRole('table')
  assert.match(await table.innerText(), /Turns\s+Previous turns\s+Error rate\s+Previous error rate\s+Spend/)
  assert.equal(await table.getByRole('row').count(), 8)
  await page.reload()
  await figures.getByText('+50% from the previous 7 days').first().waitFor()
})

inConsole(
  'console: the overview shows a failing provider, a low balance, a used limit and a failing webhook, each with one action',
  async ({ page, app, open }) => {
    await open('/?overview')
    await page.getByText('Nothing needs attention.').waitFor()
    await app.made('PATCH', `/agents/${app.caller.agentId}`, { spend_limits: [{ scope: 'api_key', usd: '0.5', window: 'month' }] })
    await app.chat('hello', { user: 'cora' })
    // A limit of a scope and window that is new counts what was charged before.
    await app.made('PATCH', `/agents/${app.caller.agentId}`, { spend_limits: [{ scope: 'agent', usd: '0.00000001', window: 'total' }] })
    await app.made('PATCH', `/agents/${app.caller.agentId}`, { spend_limits: [{ scope: 'agent', usd: '0.00000001', window: 'month' }] })
    const other = await app.makeAgent(app.caller.ownerId, { name: 'Night line' })
    const key = await app.made('POST', `/agents/${other.id}/keys`, { permission: 'full' })
    const caller = { agentId: other.id, apiKey: key.api_key, ownerId: app.caller.ownerId }
    const poor = await app.made('POST', '/owners', { name: 'Poor owner', balance_usd: '0.25' })
    receiver.on('/broken', (_, response) => void response.writeHead(500).end())
    const webhook = await app.made('POST', '/webhooks', { url: receiver.url('/broken'), events: ['turn.released'] })
    await app.moveClock(2)
    app.model.script({ status: 402, body: '{"error":{"message":"Your credit is used up."}}' })
    const { json } = await app.chat('hello', { user: 'dan', caller })
    await receiver.got('/broken', 1)

    await open('/?overview')
    const list = page.getByRole('list', { name: 'Needs attention' })
    await list.getByText(/^Provider \w+ fails$/).waitFor()
    await list.getByText(/provider_402, 1 of the last \d+ turns: Your credit is used up\./).waitFor()
    await list.getByText('Poor owner has a low balance').waitFor()
    await list.getByText('Spend limit reached').waitFor()
    const hrefOf = (name: RegExp) => list.getByRole('link', { name }).getAttribute('href')
    assert.match((await hrefOf(/^Open trace/))!, new RegExp(`/turns/${json.error.request_id}$`))
    assert.match((await hrefOf(/^Add credit: Poor owner/))!, new RegExp(`/money/${poor.id}$`))
    assert.match((await hrefOf(/^View limits/))!, new RegExp(`/agents/${app.caller.agentId}/limits$`))
    assert.match((await hrefOf(/^Open webhook/))!, new RegExp(`/webhooks/${webhook.id}$`))

    const failures = page.getByRole('region', { name: 'Turns without a reply' })
    const row = failures.getByRole('listitem').filter({ hasText: 'provider_402' })
    await row.getByText('Your credit is used up.').waitFor()
    assert.match(await row.innerText(), /1 · since .* · last just now/)
    assert.match(await row.innerText(), /Night line/)
    await row.getByRole('link', { name: 'Open trace: newest turn with provider_402' }).click()
    await page.waitForURL(new RegExp(`/turns/${json.error.request_id}`))
  },
)

inConsole('console: the overview ranks agents, and shows a running turn that can be cancelled', async ({ page, app, open }) => {
  const agent = await app.makeAgent(app.caller.ownerId, { name: 'Busy desk' })
  const key = await app.made('POST', `/agents/${agent.id}/keys`, { permission: 'full' })
  const caller = { agentId: agent.id, apiKey: key.api_key, ownerId: app.caller.ownerId }
  for (let turn = 0; turn < 12; turn++) await app.chat('hello', { user: 'eve', caller })
  await open('/?overview&range=24h')
  const rows = page.getByRole('table', { name: 'Agents by activity' }).getByRole('row')
  assert.match(await rows.nth(1).innerText(), /Busy desk[\s\S]*12/)
  await page.getByText('No turn is running.').waitFor()
  const held = gate()
  app.model.script([held, 'late'])
  const answer = app.chat('wait', { user: 'fay', caller })
  await held.reached
  const running = page.getByRole('list', { name: 'Running turns' })
  await running.getByText('Busy desk').waitFor()
  await running.getByRole('button', { name: /^Cancel turn/ }).click()
  await page.getByText('No turn is running.').waitFor()
  held.open()
  await answer
})

inConsole(
  'console: the days below a chart are UTC days, also in a time zone in the east',
  async ({ page, app, open }) => {
    await app.chat('hello', { user: 'gus' })
    await page.addInitScript(`(() => {
      const drawn = (window.drawn = [])
      const { fillText } = CanvasRenderingContext2D.prototype
      CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        drawn.push({ text, x })
        fillText.call(this, text, x, y)
      }
    })()`)
    await open('/usage?range=7d')
    const chart = page.getByRole('region', { name: 'Completed turns and errors' })
    await chart.getByRole('img').waitFor()
    const drawn = await page.evaluate<{ text: string; x: number }[]>('window.drawn')
    const labels = drawn.filter(({ text }) => /^[A-Z][a-z]+ \d+$/.test(text)).toSorted((one, other) => one.x - other.x)
    await chart.getByRole('button', { name: /^Show table/ }).click()
    const days = await chart.getByRole('table').getByRole('rowheader').allTextContents()
    assert.equal(days.length, 7)
    assert.ok(days[0]!.startsWith(`${labels[0]!.text}, `), `${days[0]} is labeled ${labels[0]!.text}`)
  },
  // Wide enough for a label of each day.
  { context: { timezoneId: 'Asia/Tokyo', viewport: { width: 1920, height: 1000 } } },
)
