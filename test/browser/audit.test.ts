/** The audit log in the console: values before and after, filters in the address, and CSV. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { openConsole } from '../support/browser.ts'
import { readCsv } from '../support/read-csv.ts'
import { startTestApp } from '../support/test-app.ts'

const inConsole = openConsole(() => startTestApp())
const path = '/audit'

inConsole('console audit.changes: an entry shows who changed what, from which value to which', async ({ page, app, open }) => {
  await app.made('PATCH', `/owners/${app.caller.ownerId}`, { name: 'Example Shop', low_balance_usd: '1.5' })
  const key = await app.made('POST', `/agents/${app.caller.agentId}/keys`, { permission: 'full', default_external_user_id: 'Ann' })
  await app.made('PATCH', `/keys/${key.id}`, { default_external_user_id: 'Ben' })
  await open(path)
  const log = page.getByRole('table', { name: 'Audit log, newest first' })
  const row = log.getByRole('row').filter({ hasText: 'change owner' })
  await row.waitFor()
  assert.match(
    await row.innerText(),
    /Admin token\s+change owner\s+own_\w+\s+name: Test owner → Example Shop\s+low_balance_usd: 1\.50000000/,
  )
  const ofKey = log.getByRole('row').filter({ hasText: 'change key' })
  assert.match(await ofKey.innerText(), /default_external_user_id$/)
})

inConsole('console audit: the filters are in the address, apply to the CSV, and can be cleared', async ({ page, app, open }) => {
  await app.made('PATCH', `/owners/${app.caller.ownerId}`, { name: 'Example Shop' })
  await open(path)
  const log = page.getByRole('table', { name: 'Audit log, newest first' })
  await log.getByRole('row').filter({ hasText: 'create agent' }).waitFor()
  await page.getByLabel('Object type').fill('owner')
  await page.getByLabel('Object type').press('Enter')
  await page.getByLabel('Action').fill('change')
  await page.getByLabel('Action').press('Enter')
  await page.waitForURL(/verb=change&noun=owner|noun=owner&verb=change/)
  // While the entries load there is no table, so the removed ones are gone before the wanted one is there.
  await log.getByRole('row').filter({ hasText: 'create owner' }).waitFor({ state: 'detached' })
  await log.getByRole('row').filter({ hasText: 'change owner' }).waitFor()
  assert.equal(await log.getByRole('row').count(), 2)
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download CSV' }).click()])
  assert.equal(file.suggestedFilename(), 'audit-log.csv')
  assert.deepEqual(
    readCsv(await readFile(await file.path(), 'utf8')).map(({ verb, noun }) => [verb, noun]),
    [['change', 'owner']],
  )
  await page.getByLabel('Action').fill('none')
  await page.getByLabel('Action').press('Enter')
  await page.getByText('No matching entries').waitFor()
})
