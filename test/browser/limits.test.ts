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
  await page.getByRole('dialog').getByRole('button', { name: 'Remove limit' }).click()
  await page.getByText('No limits.').waitFor()
  assert.deepEqual((await app.made('GET', `/agents/${agentId}`))['spend_limits'], [])
})

inConsole(
  'console: the removal of a limit is confirmed, and limits that another operator has set meanwhile are kept',
  async ({ page, app, open }) => {
    const own = { scope: 'agent', usd: '10.00000000', window: 'total' }
    const ofOther = { scope: 'api_key', usd: '5.00000000', window: 'month' }
    const { id } = await app.makeAgent(app.caller.ownerId, { spend_limits: [own] })
    const stored = async () => (await app.made('GET', `/agents/${id}`))['spend_limits']
    await open(`/agents/${id}/limits`)
    await app.made('PATCH', `/agents/${id}`, { spend_limits: [own, ofOther] })
    await page.getByRole('textbox', { name: 'Limit (USD)' }).fill('0.50')
    await page.getByRole('button', { name: 'Set limit' }).click()
    const limits = page.getByRole('table', { name: 'Spend limits' })
    await limits.getByRole('row', { name: /Each end user/ }).waitFor()
    const ofUsers = { scope: 'end_user', usd: '0.50000000', window: 'day' }
    assert.deepEqual(await stored(), [own, ofOther, ofUsers])

    await app.made('PATCH', `/agents/${id}`, { spend_limits: [own, { ...ofOther, usd: '6.00000000' }, ofUsers] })
    await limits
      .getByRole('row', { name: /Each end user/ })
      .getByRole('button', { name: 'Remove limit' })
      .click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/^Each end user, UTC day: /).waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.equal((await stored()).length, 3)
    await limits
      .getByRole('row', { name: /Each end user/ })
      .getByRole('button', { name: 'Remove limit' })
      .click()
    await dialog.getByRole('button', { name: 'Remove limit' }).click()
    await limits.getByRole('row', { name: /Each end user/ }).waitFor({ state: 'detached' })
    assert.deepEqual(await stored(), [own, { ...ofOther, usd: '6.00000000' }])
  },
)
