/** The page of an owner's ledger: an entry is reviewed before it is added, added once, and refused beside its field. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { openConsole } from '../support/browser.ts'
import { changeRows } from '../support/change-rows.ts'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

const inConsole = openConsole(() => startTestApp({ balanceUsd: '10' }))

const credit = (app: TestApp, ownerId: string, amount: string): Promise<Json> =>
  app.made('POST', `/owners/${ownerId}/ledger`, { amount_usd: amount }, { 'idempotency-key': crypto.randomUUID() })

inConsole(
  'console: an entry that would make the balance negative is refused beside its field, and the ledger is unchanged',
  async ({ page, app, open }) => {
    await open(`/money/${app.caller.ownerId}`)
    await page.getByLabel('Amount (USD)').fill('-10.00000001')
    await page.getByRole('button', { name: 'Review entry' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Add entry' }).click()
    await dialog.waitFor({ state: 'detached' })
    const field = page.getByRole('textbox', { name: /Amount \(USD\)/ })
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
    assert.match(
      await page
        .locator(`#${await field.getAttribute('aria-describedby').then((ids) => ids!.split(' ').find((id) => id.endsWith('error')))}`)
        .innerText(),
      /\w{4,}/,
    )
    assert.equal((await app.ledger()).length, 1)
    // An invalid amount does not get this far.
    await field.fill('ten')
    await page.getByRole('button', { name: 'Review entry' }).click()
    assert.equal(await dialog.count(), 0)
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
  },
  { refusals: [409] },
)

inConsole(
  'console: an entry is shown with the resulting balance, and then is in the ledger with its note and all decimal places',
  async (visitor) => {
    const { page, app, open } = visitor
    await open(`/money/${app.caller.ownerId}`)
    await page.getByLabel('Amount (USD)').fill('2.5')
    await page.getByLabel('Note').fill('Invoice 1042')
    await page.getByRole('button', { name: 'Review entry' }).click()
    const dialog = page.getByRole('dialog')
    await dialog
      .getByRole('row', { name: /Balance after/ })
      .getByLabel('12.50000000 USD')
      .waitFor()
    await dialog.getByRole('button', { name: 'Add entry' }).click()
    const entry = page.getByRole('row', { name: /Invoice 1042/ })
    await entry.waitFor()
    const amount = entry.getByLabel('2.50000000 USD')
    assert.equal(await amount.innerText(), '$2.50')
    await amount.hover()
    await page.getByRole('tooltip').getByText('2.50000000 USD').waitFor()
    assert.equal((await app.owner()).balance_usd, '12.50000000')
  },
)

inConsole('console: the ledger can be downloaded as CSV', async ({ page, app, open }) => {
  await open(`/money/${app.caller.ownerId}`)
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: /CSV/ }).click()])
  assert.match(file.suggestedFilename(), /\.csv$/)
})

inConsole('console: the usage of a range can be downloaded as CSV, by what is chosen', async ({ page, app, open }) => {
  await app.chat('hello', { user: 'ann' })
  await open(`/usage?range=24h&agent_id=${app.caller.agentId}`)
  await page.getByRole('combobox', { name: 'CSV lines by' }).click()
  await page.getByRole('option', { name: 'End user' }).click()
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download CSV' }).click()])
  assert.equal(file.suggestedFilename(), 'usage-by-end-user.csv')
  const [heading, line, ...rest] = (await readFile(await file.path(), 'utf8')).trim().split('\r\n')
  assert.match(heading!, /^month,day,owner_id,/)
  assert.ok(line!.split(',').includes('ann'), line)
  assert.deepEqual(rest, [])
})

inConsole(
  'console: an owner shows the running turns that hold its balance, and what turns without a reply have reserved',
  async (visitor) => {
    const { page, app, open } = visitor
    const held = gate()
    app.model.script([held, 'x'])
    const running = app.chat('hold', { user: 'customer-42' })
    await held.reached
    await open(`/money/${app.caller.ownerId}`)
    const [turn] = (await app.owner())['running_turns']
    const row = page.getByRole('table', { name: 'Running turns of this owner' }).getByRole('row', { name: /customer-42/ })
    await row.getByLabel(`${turn.held_usd} USD`).waitFor()
    assert.equal(await page.getByText('used by turns without a reply').count(), 0)
    held.open()
    await running
    // No text, twice: the model's answer is unusable, and its usage is unpaid.
    const usage = { usage: { prompt_tokens: 30, completion_tokens: 80, total_tokens: 110 } }
    app.model.script(['', usage], ['', usage])
    await app.chat('fails', { user: 'customer-43' })
    const { unpaid_usd: unpaid } = await app.owner()
    await open(`/money/${app.caller.ownerId}`)
    await page.getByText('used by turns without a reply').waitFor()
    await page.getByLabel(`${unpaid} USD`).first().waitFor()
    assert.equal(await page.getByRole('table', { name: 'Running turns of this owner' }).count(), 0)
  },
)

inConsole('console: an owner shows its balance by day, its top end users and the ledger by kind and day', async (visitor) => {
  const { page, app, open } = visitor
  for (const user of ['gil', 'gil', 'hal']) await app.chat('hello', { user })
  await open(`/money/${app.caller.ownerId}`)
  await page.getByRole('img', { name: /^Balance by day since .* now; lasts / }).waitFor()
  const users = page.getByRole('table', { name: 'End users by spend' })
  assert.match(await users.getByRole('row').nth(1).innerText(), /\d/)
  const ledger = page.getByRole('table', { name: 'Ledger, newest first' })
  await ledger.getByRole('cell', { name: 'Charge', exact: true }).first().waitFor()
  await page.getByRole('combobox', { name: 'Kind' }).click()
  await page.getByRole('option', { name: 'Credit' }).click()
  await page.waitForURL(/kind=credit/)
  await ledger.getByRole('cell', { name: 'Charge', exact: true }).first().waitFor({ state: 'detached' })
  await ledger.getByRole('cell', { name: 'Credit', exact: true }).first().waitFor()
  const today = new Date().toISOString().slice(0, 10)
  await page.getByLabel('From (UTC)').fill(today)
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download CSV' }).click()])
  assert.match(file.suggestedFilename(), new RegExp(`-ledger-${today}\\.csv$`))
  const lines = (await readFile(await file.path(), 'utf8')).trim().split('\r\n').slice(1)
  assert.ok(lines.length > 0 && lines.every((line) => line.includes(',credit,')), lines.join('\n'))
  // What did this user cost last month? One click from here.
  await users.getByRole('link', { name: 'gil' }).click()
  await page.getByText('Last month', { exact: true }).click()
  await page.waitForURL(/range=last-month.*external_user_id=gil/)
  await page.getByText('No turns ended in this range').waitFor()
})

inConsole(
  'console: end users with the same name are listed by agent, and the links of an owner lead to the usage shown',
  async (visitor) => {
    const { page, app, open } = visitor
    const caller = await app.makeCaller({ agent: { name: 'First desk' } })
    const second = await app.makeAgent(caller.ownerId, { name: 'Second desk' })
    const { api_key: apiKey } = await app.made('POST', `/agents/${second.id}/keys`, { permission: 'full' })
    for (const one of [caller, { ...caller, agentId: second.id, apiKey }]) await app.chat('hello', { user: 'ann', caller: one })
    await open(`/money/${caller.ownerId}`)
    const users = page.getByRole('table', { name: 'End users by spend' })
    for (const agent of ['First desk', 'Second desk']) await users.getByRole('row', { name: new RegExp(`^ann ${agent} 1`) }).waitFor()
    const usage = page.getByRole('link', { name: 'View usage of Second desk' })
    assert.match((await usage.getAttribute('href'))!, /range=30d&agent_id=agt_/)
    await users
      .getByRole('row', { name: /Second desk/ })
      .getByRole('link', { name: 'ann' })
      .click()
    await page.waitForURL((url) => url.searchParams.get('agent_id') === second.id && url.searchParams.get('external_user_id') === 'ann')
  },
)

inConsole('console: the balance by day counts every credit of the month', async ({ page, app, open }) => {
  const owner = await app.made('POST', '/owners', { name: 'Often credited' })
  for (let credits = 0; credits < 101; credits++) await credit(app, owner.id, '1')
  await open(`/money/${owner.id}`)
  await page.getByRole('img', { name: /\$0\.00 then, \$101\.00 now/ }).waitFor()
})

inConsole(
  'console: an entry that is reviewed again shows the present balance, and after a failure the same entry',
  async (visitor) => {
    const { page, app, open } = visitor
    const owner = await app.made('POST', '/owners', { name: 'Reviewed', balance_usd: '10' })
    await open(`/money/${owner.id}`)
    const [dialog, review] = [page.getByRole('dialog'), page.getByRole('button', { name: 'Review entry' })]
    const before = (amount: string) => dialog.getByRole('row', { name: /Balance before/ }).getByLabel(`${amount} USD`)
    const close = async (): Promise<void> => {
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    await page.getByLabel('Amount (USD)').fill('1')
    await review.click()
    await before('10.00000000').waitFor()
    await close()
    await credit(app, owner.id, '5')
    await page.getByRole('button', { name: 'Edit owner' }).click()
    await dialog.getByLabel('Name').fill('Reviewed twice')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await review.click()
    await before('15.00000000').waitFor()

    // The entry is added, and its response is lost.
    await page.route('**/ledger', async (route) => {
      await route.fetch()
      await route.fulfill({ status: 503, json: { error: { code: 'service_unavailable', message: 'Busy.', request_id: 'r' } } })
    })
    await dialog.getByRole('button', { name: 'Add entry' }).click()
    await dialog.getByText('The entry may not have been added').waitFor()
    await page.unroute('**/ledger')
    await close()
    await review.click()
    await before('15.00000000').waitFor()
    await dialog.getByRole('button', { name: 'Add entry' }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.equal((await app.made('GET', `/owners/${owner.id}`)).balance_usd, '16.00000000')
  },
  { refusals: [503] },
)

inConsole(
  'console: an owner shows the documents that wait and the CPU time that they used, and the status those of all',
  async ({ page, app, open }) => {
    const { ownerId, agentId } = app.caller
    const startedAt = Date.now()
    await changeRows(
      app,
      `insert into indexing_windows (owner_id, started_at, spent_ms, waits_until) values ('${ownerId}', ${startedAt}, 1800000, ${startedAt + 3_600_000})`,
    )
    for (const title of ['Returns', 'Deliveries']) await app.made('POST', `/agents/${agentId}/documents`, { title, text: 'Some words.' })
    await open(`/money/${ownerId}`)
    const panel = page.getByRole('region', { name: 'Documents' })
    await panel.getByText(/^The CPU time is used up\. They are indexed again in \d+ minutes\.$/).waitFor()
    const text = await panel.innerText()
    assert.match(text, /2 of at most 2,000 wait to be indexed\./)
    assert.match(text, /Reading them took 30m 0s of at most 30m 0s of CPU time in this hour\./)
    await open('/operations')
    assert.match(await page.getByText('Queued documents').locator('..').innerText(), /Queued documents\s+2/)
  },
)
