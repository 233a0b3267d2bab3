/** The agents' pages: a change is a version that can be compared and rolled back, and errors appear beside their field. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { barriersOf } from '../support/axe.ts'
import { openConsole } from '../support/browser.ts'
import { answer, startScriptedMcp, tool } from '../support/mcp-scripted-server.ts'
import { startTestApp } from '../support/test-app.ts'

const server = await startScriptedMcp({
  tools: [
    tool('find', { inputSchema: { type: 'object', properties: { order: { type: 'string', pattern: '^A-' } }, required: ['order'] } }),
  ],
})
after(() => server.close())
const inConsole = openConsole(() => startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: `127.0.0.1:${server.port}` } }))

inConsole('console: the pinned parameters of an MCP tool are shown, and its test starts with them', async ({ page, app, open }) => {
  const agent = await app.makeAgent(app.caller.ownerId, { tools: [{ type: 'mcp', name: 'shop', url: server.url }] })
  await open(`/agents/${agent.id}/tools`)
  await page.getByLabel('Parameters of find').click()
  await page.getByRole('region', { name: 'JSON Schema of find' }).getByText('"pattern": "^A-"').waitFor()
  await page.getByRole('button', { name: 'Test find on shop' }).click()
  await page.getByRole('dialog').getByText('JSON', { exact: true }).click()
  assert.deepEqual(JSON.parse(await page.getByRole('textbox', { name: 'Arguments' }).inputValue()), { order: '' })
})

inConsole(
  'console: an MCP server is tested before it is saved: what failed is shown, then its tools',
  async ({ page, app, open }) => {
    const agent = await app.makeAgent(app.caller.ownerId, { name: 'Served' })
    await open(`/agents/${agent.id}/tools`)
    await page.getByRole('button', { name: 'Add MCP server' }).click()
    const dialog = page.getByRole('dialog')
    const test = dialog.getByRole('button', { name: 'Test connection' })
    await test.click()
    await dialog.getByText('Enter a URL.').waitFor()
    await dialog.getByLabel('Server name').fill('shop')
    await dialog.getByRole('textbox', { name: /^URL/ }).fill(server.url)
    server.on('initialize', (_, response) => answer(response, 401, {}))
    await test.click()
    await dialog
      .getByRole('alert')
      .getByText(/The MCP server shop: the server returned status 401: check the credentials/)
      .waitFor()
    await dialog.getByText(/make sure that the server is running/).waitFor()
    server.off('initialize')
    await test.click()
    await dialog.getByText('Connected. Saving pins 1 tool:').waitFor()
    await dialog.getByRole('list', { name: 'Tools of the server' }).getByText('Does find.').waitFor()
    assert.deepEqual(await barriersOf(page), [])
    assert.equal((await app.made('GET', `/agents/${agent.id}`)).version, 1)

    await dialog.getByRole('button', { name: 'Add server' }).click()
    await page.getByText('Saved shop with 1 pinned tool in version 2.').waitFor()
  },
  { refusals: [422] },
)

inConsole(
  'console: a changed prompt is a new version, shown beside the old one line by line, and rolled back',
  async ({ page, app, open }) => {
    const { agentId } = app.caller
    await open(`/agents/${agentId}`)
    await page.getByLabel('System prompt').fill('You are a test.\nAnswer in rhymes.')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved as version 2.').waitFor()
    await page.getByRole('tab', { name: 'Versions' }).click()
    await page.getByRole('button', { name: 'Compare with version 1' }).click()
    const comparison = page.getByRole('region', { name: 'Version comparison' })
    await comparison.getByText('Answer in rhymes.').waitFor()
    await comparison.getByRole('button', { name: 'Close comparison' }).click()
    await page.getByRole('button', { name: 'Roll back to version 1' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back to version 1' }).click()
    await page.getByText('Rolled back to version 1. Saved as version 3.').waitFor()
    assert.equal((await app.made('GET', `/agents/${agentId}`)).system_prompt, 'You are a test.')
  },
)

inConsole('console: what is typed while an agent is saved stays, and is saved next', async ({ page, app, open }) => {
  const agent = await app.makeAgent(app.caller.ownerId, { name: 'Typed' })
  const { promise: isSent, resolve: sent } = Promise.withResolvers<void>()
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>()
  await page.route(`**/agents/${agent.id}`, async (route) => {
    if (route.request().method() === 'PATCH') {
      sent()
      await goesOn
    }
    await route.continue()
  })
  await open(`/agents/${agent.id}`)
  const [prompt, passages] = [page.getByLabel('System prompt'), page.getByLabel(/^Max passages/)]
  await prompt.fill('The first half')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await isSent
  await prompt.fill('The first half and the second.')
  await passages.fill('3')
  goOn()
  await page.getByRole('button', { name: 'Save', exact: true }).waitFor()
  assert.equal(await prompt.inputValue(), 'The first half and the second.')
  await page.getByText(/^You have unsaved changes/).waitFor()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Saved as version 3.').waitFor()
  const saved = await app.made('GET', `/agents/${agent.id}`)
  assert.deepEqual([saved.version, saved.system_prompt, saved.knowledge.top_k], [3, 'The first half and the second.', 3])
})

inConsole(
  'console: invalid fields of a new agent are marked by the page and by the server, and then it is created',
  async ({ page, app, open }) => {
    await open('/agents/new')
    await page.getByRole('button', { name: 'Create agent' }).click()
    const name = page.getByRole('textbox', { name: /^Name/ })
    assert.equal(await name.getAttribute('aria-invalid'), 'true')
    await name.fill('Harbour desk')
    await page.getByLabel('System prompt').fill('You answer for the harbour.')
    await page.getByRole('combobox', { name: /^Provider/ }).click()
    await page.getByRole('option', { name: 'scripted' }).click()
    await page.getByRole('combobox', { name: /^Model ID/ }).fill('harbour-1')
    await page.getByText(/No price is listed for scripted\/harbour-1/).waitFor()
    await page.getByLabel(/^Prompt price/).fill('1.5')
    await page.getByLabel(/^Completion price/).fill('6')
    await page.getByRole('button', { name: 'Create agent' }).click()
    await page.getByRole('heading', { name: 'Harbour desk', level: 1 }).waitFor()
    const { data } = await app.made('GET', '/agents')
    const made = data.find((agent: { name: string }) => agent.name === 'Harbour desk')
    assert.deepEqual([made.model, made.price.prompt_usd_per_million], ['scripted/harbour-1', '1.50000000'])
  },
  { refusals: [422] },
)

inConsole(
  'console: prices of cached tokens and of tool calls are entered, refused beside their field, changed and removed',
  async ({ page, app, open }) => {
    const agent = await app.makeAgent(app.caller.ownerId, { name: 'Priced' })
    const stored = async () => app.made('GET', `/agents/${agent.id}`)
    await open(`/agents/${agent.id}`)
    const [cached, written] = [page.getByLabel('Cached prompt price'), page.getByLabel('Cache write price')]
    await cached.fill('a tenth')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    assert.equal(await cached.getAttribute('aria-invalid'), 'true')
    await cached.fill('0.05')
    await written.fill('0.625')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved as version 2.').waitFor()
    const { price } = await stored()
    assert.deepEqual([price.cached_prompt_usd_per_million, price.cache_write_usd_per_million], ['0.05000000', '0.62500000'])
    await cached.fill('')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved as version 3.').waitFor()
    assert.equal((await stored()).price.cached_prompt_usd_per_million, null)

    await open(`/agents/${agent.id}/tools`)
    await page.getByRole('button', { name: 'Add HTTP tool' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Tool name').fill('order')
    await dialog.getByRole('textbox', { name: /^Description/ }).fill('Where an order is.')
    await dialog.getByRole('textbox', { name: /^URL/ }).fill('https://shop.example.com/orders')
    const perCall = dialog.getByRole('textbox', { name: /^Price per call/ })
    await perCall.fill('1 cent')
    await dialog.getByRole('button', { name: 'Add tool' }).click()
    assert.equal(await perCall.getAttribute('aria-invalid'), 'true')
    await perCall.fill('0.01')
    await dialog.getByRole('button', { name: 'Add tool' }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.equal((await stored()).tools[0].price_usd, '0.01000000')
  },
)

inConsole('console: a disabled agent answers no message until it is enabled', async ({ page, app, open }) => {
  const agent = await app.makeAgent(app.caller.ownerId, { name: 'Winter campaign' })
  await open(`/agents/${agent.id}`)
  await page.getByRole('switch', { name: 'Enabled' }).click()
  await page.getByRole('button', { name: 'Disable agent' }).click()
  await page.getByText('This agent is disabled').waitFor()
  assert.equal((await app.made('GET', `/agents/${agent.id}`)).enabled, false)
  await page.getByRole('switch', { name: 'Enabled' }).click()
  await page.getByText('This agent is disabled').waitFor({ state: 'detached' })
  assert.equal((await app.made('GET', `/agents/${agent.id}`)).enabled, true)
})

inConsole('console: deleting an agent requires typing its name, and removes it from the list', async ({ page, app, open }) => {
  const agent = await app.makeAgent(app.caller.ownerId, { name: 'Short-lived' })
  await open(`/agents/${agent.id}`)
  await page.getByRole('button', { name: 'Delete agent…' }).click()
  const dialog = page.getByRole('dialog')
  const verb = dialog.getByRole('button', { name: 'Delete agent', exact: true })
  assert.equal(await verb.isDisabled(), true)
  await dialog.getByRole('textbox').fill('Short-lived')
  await verb.click()
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor()
  await page.getByRole('link', { name: 'Short-lived' }).waitFor({ state: 'detached' })
  assert.equal((await app.admin('GET', `/agents/${agent.id}`)).status, 404)
})
