/** The spend limits of an agent: set, shown with what is spent, and removed. */
import assert from 'node:assert/strict'
import { openConsole } from '../support/browser.ts'
import { startTestApp } from '../support/test-app.ts'

const inConsole = openConsole(() => startTestApp({ balanceUsd: '10' }))

inConsole('console: a spend limit is set, shown with what is spent under it, replaced and removed', async ({ page, app, open }) => {
  const { agentId } = app.caller
  await open(`/agents/${agentId}/limits`)
  await page.getByText('No limits.').waitFor()
  const field = page.getByRole('textbox', { name: 'Limit (USD)' })
  await field.fill('much')
  await page.getByRole('button', { name: 'Set limit' }).click()
  assert.equal(await field.getAttribute('aria-invalid'), 'true')
  assert.deepEqual((await app.made('GET', `/agents/${agentId}`))['spend_limits'], [])
  await field.fill('0.50')
  await page.getByRole('button', { name: 'Set limit' }).click()
  const limits = page.getByRole('table', { name: 'Spend limits' })
  await limits.getByRole('row', { name: /Each end user UTC day/ }).waitFor()
  assert.deepEqual((await app.made('GET', `/agents/${agentId}`))['spend_limits'], [{ scope: 'end_user', usd: '0.50000000', window: 'day' }])

  await app.made('PATCH', `/agents/${agentId}`, { spend_limits: [{ scope: 'agent', usd: '1', window: 'total' }] })
  const { json } = await app.chat('hi', { user: 'ann' })
  await open(`/agents/${agentId}/limits`)
  const spent = page.getByRole('table', { name: 'Spent in the current windows' })
  await spent.getByLabel(`${json.usage.charged_usd} USD`).waitFor()
  assert.equal(await spent.getByRole('progressbar', { name: 'Used: This agent, All time' }).count(), 1)
  await limits.getByRole('button', { name: 'Remove limit' }).click()
  await page.getByText('No limits.').waitFor()
  assert.deepEqual((await app.made('GET', `/agents/${agentId}`))['spend_limits'], [])
})
