/** The pages of end users: the list with its periods and orders, one of them, the export and the erasure. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { openConsole } from '../support/browser.ts'
import { startTestApp } from '../support/test-app.ts'

const inConsole = openConsole(() => startTestApp())

inConsole('console: end-users: are listed by spend, and one is opened, exported and erased', async ({ page, app, open }) => {
  const odd = 'zoë/?&=%25 <b>'
  for (const [user, completion_tokens] of [
    [odd, 900],
    ['ben', 100],
  ] as const) {
    app.model.script(['hi', { usage: { prompt_tokens: 10, completion_tokens } }])
    const { json } = await app.chat(`hello of ${user}`, { user })
    await app.chatRequest({ rating: 'up' }, { path: `turns/${json.request_id}/feedback` })
  }
  await open('/end-users')
  await page.getByText('Choose an agent', { exact: true }).waitFor()
  await open(`/end-users/${app.caller.agentId}`)
  const table = page.getByRole('table', { name: 'End users' })
  await table.waitFor()
  assert.deepEqual(await table.getByRole('rowheader').allTextContents(), [odd, 'ben'])
  assert.equal(await table.getByRole('cell', { name: '1 / 0', exact: true }).count(), 2)
  await page.getByRole('combobox', { name: 'Sort by' }).click()
  await page.getByRole('option', { name: 'Last activity' }).click()
  await page.waitForURL(/sort=last_activity/)
  await table.getByRole('row').nth(1).filter({ hasText: 'ben' }).waitFor()
  await page.getByRole('combobox', { name: 'Period' }).click()
  await page.getByRole('option', { name: 'All time' }).click()
  await page.waitForURL(/window=total/)

  await table.getByRole('link', { name: odd }).click()
  await page.getByRole('heading', { name: odd, level: 1 }).waitFor()
  const spent = (await app.made('GET', `/usage?group_by=end_user`)).data.find(
    (line: { external_user_id: string }) => line.external_user_id === odd,
  )
  await page.getByLabel(`${spent.charged_usd} USD`).nth(2).waitFor()
  await page.getByText('1 / 0').waitFor()

  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export data' }).click()
  const download = await downloading
  assert.equal(download.suggestedFilename(), 'zoë-25-b.ndjson')
  const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n')
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { type: string }).type),
    ['conversation', 'message', 'message', 'turn', 'feedback', 'ledger_entry'],
  )

  await page.getByRole('button', { name: 'Erase end user' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('zoë/', { exact: false }).waitFor()
  await dialog.getByRole('button', { name: 'Erase end user' }).click()
  await page.getByRole('heading', { name: 'End user erased' }).waitFor()
  await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link').last().click()
  // The list that was loaded before the erasure may be shown until it is loaded again.
  await table.getByRole('rowheader', { name: odd }).waitFor({ state: 'detached' })
  await table.getByRole('rowheader', { name: 'ben' }).waitFor()
  assert.deepEqual(await table.getByRole('rowheader').allTextContents(), ['ben'])
})

inConsole('console: percent signs of an end user and a message stay as they are in the addresses of pages', async ({ page, app, open }) => {
  const [user, message] = ['user%40example.com', 'see https://shop.example/a%2Fb']
  await app.chat(message, { user })
  await app.chat(message, { user: 'user@example.com' })
  await open(`/end-users/${app.caller.agentId}/one?${new URLSearchParams({ external_user_id: user })}`)
  await page.getByRole('main').getByRole('link', { name: 'Traces', exact: true }).click()
  await page.getByRole('heading', { name: 'Traces', level: 1 }).waitFor()
  assert.equal(await page.getByLabel('End user', { exact: true }).inputValue(), user)
  const turns = page.getByRole('table', { name: 'Turns, newest first' })
  await turns.getByRole('rowheader').getByRole('link').click()
  await page.getByRole('heading', { name: message, level: 1 }).waitFor()
  await page.getByRole('link', { name: 'Open in playground' }).click()
  const box = page.getByLabel('Message', { exact: true })
  await box.waitFor()
  assert.equal(await box.inputValue(), message)
  assert.equal(await page.getByLabel('End user ID').and(page.locator('input')).inputValue(), user)

  await open(`/conversations?${new URLSearchParams({ q: 'a%2Fb', external_user_id: user })}`)
  const conversations = page.getByRole('table', { name: 'Conversations, newest first' })
  await conversations.locator('mark', { hasText: 'a%2Fb' }).waitFor()
  assert.deepEqual(await conversations.getByRole('rowheader').getByRole('link').allTextContents(), [user])
})
