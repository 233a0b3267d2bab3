/** An agent's page with its tabs: tools as forms, models from the provider, activity, and what can be undone. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import type { Locator } from 'playwright-core'
import { barriersOf } from '../support/axe.ts'
import { openConsole } from '../support/browser.ts'
import { startTestApp } from '../support/test-app.ts'
import { startToolServer } from '../support/tool-server.ts'

const tools = await startToolServer()
const models = createServer((request, response) => {
  const refused = request.headers.authorization !== 'Bearer right'
  response.writeHead(refused ? 401 : 200, { 'content-type': 'application/json' })
  response.end(refused ? 'the key was revoked' : '{"data":[{"id":"gpt-4o"},{"id":"org/own-model"}]}')
})
await new Promise<void>((resolve) => models.listen(0, '127.0.0.1', resolve))
const base = `http://127.0.0.1:${(models.address() as AddressInfo).port}/v1`
after(async () => {
  await tools.close()
  models.close().closeAllConnections()
})
const inConsole = openConsole(() => startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address } }))

inConsole(
  'console: an HTTP tool is filled in as a form, called before it is saved, removed, and restored with its secret',
  async ({ page, app, open }) => {
    const agent = await app.makeAgent(app.caller.ownerId, { name: 'Tooled' })
    const stored = async () => app.made('GET', `/agents/${agent.id}`)
    await open(`/agents/${agent.id}/tools`)
    await page.getByRole('button', { name: 'Add HTTP tool' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Tool name').fill('book')
    await dialog
      .getByRole('textbox', { name: /^Description/ })
      .first()
      .fill('Books a day.')
    await dialog.getByRole('combobox', { name: /^Method/ }).click()
    await page.getByRole('option', { name: 'POST' }).click()
    await dialog.getByRole('textbox', { name: /^URL/ }).fill(`${tools.baseUrl}/book`)
    await dialog.getByRole('button', { name: 'Add parameter' }).click()
    const row = dialog.getByRole('group', { name: 'Parameter 1' })
    await dialog.getByRole('button', { name: 'Add tool' }).click()
    await row.getByText('Enter a name.').waitFor()
    await row.getByLabel('Name').fill('day')
    await dialog.getByRole('combobox', { name: 'Authentication' }).click()
    await page.getByRole('option', { name: 'Bearer token' }).click()
    await dialog.getByLabel('Token', { exact: true }).fill('shop-token')

    assert.deepEqual(await barriersOf(page), [])
    const trial = dialog.getByRole('group', { name: 'Test before saving' })
    await trial.getByRole('textbox', { name: 'day' }).fill('Monday')
    await trial.getByRole('button', { name: 'Call tool' }).click()
    await trial.getByText('/book done, call 1').waitFor()
    const [called] = tools.callsOf('/book')
    assert.deepEqual([called!.headers.authorization, called!.body], ['Bearer shop-token', '{"day":"Monday"}'])
    assert.equal((await stored()).version, 1)

    await dialog.getByRole('button', { name: 'Add tool' }).click()
    await page.getByText('Saved book in version 2.').waitFor()
    const saved = await stored()
    assert.deepEqual(saved.tools[0].parameters, {
      type: 'object',
      properties: { day: { type: 'string' } },
      required: ['day'],
      additionalProperties: false,
    })
    await page.getByRole('button', { name: 'Edit book' }).click()
    assert.equal(await dialog.getByRole('combobox', { name: 'Authentication' }).inputValue(), 'Bearer token')
    await page.keyboard.press('Escape')

    await page.getByRole('button', { name: 'Remove book' }).click()
    await dialog.getByRole('button', { name: 'Remove tool' }).click()
    await page.getByText('Removed book. Saved as version 3.').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Restored book. Saved as version 4.').waitFor()
    assert.deepEqual((await stored()).tools, saved.tools)
    await page.getByRole('button', { name: 'Test book' }).click()
    await dialog.getByRole('textbox', { name: 'day' }).fill('Tuesday')
    await dialog.getByRole('button', { name: 'Call tool' }).click()
    await dialog.getByText('/book done, call 2').waitFor()
    assert.equal(tools.callsOf('/book')[1]!.headers.authorization, 'Bearer shop-token')
  },
)

inConsole('console: the models of a provider are offered with their prices, or its words say why not', async ({ page, app, open }) => {
  for (const [name, key] of [
    ['listing', 'right'],
    ['silent', 'wrong'],
  ])
    await app.made('POST', '/providers', { name, kind: 'openai', base_url: base, api_key: key })
  await open('/agents/new')
  const provider = page.getByRole('combobox', { name: /^Provider/ })
  const model = page.getByRole('combobox', { name: /^Model ID/ })
  await provider.click()
  await page.getByRole('option', { name: 'silent' }).click()
  await page.getByText(/silent could not list its models: .*401.*the key was revoked/).waitFor()
  await model.fill('any-model')
  await provider.click()
  await page.getByRole('option', { name: 'listing' }).click()
  await page.getByText(/listing lists 2 models.*This ID is not among them/).waitFor()
  await model.click()
  await page.getByRole('option', { name: /^org\/own-model$/ }).waitFor()
  await page.getByRole('option', { name: /^gpt-4o\s*\$2\.50 \/ \$10/ }).click()
  await page.getByText(/Listed price for listing\/gpt-4o: \$2\.50 prompt/).waitFor()
})

inConsole('console: after the key of a provider is corrected, its models are requested again', async ({ page, app, open }) => {
  await app.made('POST', '/providers', { name: 'corrected', kind: 'openai', base_url: base, api_key: 'wrong' })
  await open('/providers')
  const [listed, edit, test] = ['Models of', 'Edit', 'Test'].map((what) => page.getByRole('dialog', { name: new RegExp(`^${what} `) }))
  const show = page.getByRole('button', { name: 'Models of corrected' })
  const close = async (dialog: Locator): Promise<void> => {
    await dialog.getByRole('button', { name: 'Close' }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  await show.click()
  await listed!.getByText('corrected could not list its models').waitFor()
  await close(listed!)
  await page.getByRole('button', { name: 'Edit corrected' }).click()
  await edit!.getByLabel('Provider API key').fill('right')
  await edit!.getByRole('button', { name: 'Save' }).click()
  // The saved provider is tested next.
  await close(test!)
  await show.click()
  await listed!.getByRole('rowheader', { name: 'org/own-model' }).waitFor()
})

inConsole(
  'console: activity shows the turns of the agent, old addresses lead to its tabs, and disabling can be undone',
  async (visitor) => {
    const { page, app, open } = visitor
    const { agentId } = app.caller
    await app.chat('hello')
    await open(`/agents/${agentId}/activity`)
    await page.getByRole('region', { name: 'Last 7 days' }).getByText('1 completed').waitFor()
    await page.getByRole('region', { name: 'Recent turns' }).getByText('Completed').waitFor()
    for (const [path, tab] of [
      ['/knowledge', 'Knowledge'],
      ['/keys', 'Keys'],
    ]) {
      await open(`${path}/${agentId}`)
      await page.getByRole('tab', { name: tab!, selected: true }).waitFor()
    }
    await page.getByRole('switch', { name: 'Enabled' }).click()
    await page.getByRole('button', { name: 'Disable agent' }).click()
    await page.getByText('This agent is disabled').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('This agent is disabled').waitFor({ state: 'detached' })
    assert.equal((await app.made('GET', `/agents/${agentId}`)).enabled, true)
  },
)
