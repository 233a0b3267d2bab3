/** The page of the API keys: a secret is shown once and nowhere else, and a revoked key is refused. */
import assert from 'node:assert/strict'
import { openConsole } from '../support/browser.ts'
import { read, startTestApp } from '../support/test-app.ts'

const inConsole = openConsole(() => startTestApp())

inConsole('console: the secret of a new key is shown once, works, and is in no later response, page, storage or URL', async (visitor) => {
  const { page, app, open, settled } = visitor
  const { agentId } = app.caller
  await open(`/keys/${agentId}`)
  await page.getByRole('button', { name: 'Create API key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Website')
  await dialog.getByRole('button', { name: 'Create API key' }).click()
  const shown = page.getByRole('region', { name: 'API key', exact: true })
  const apiKey = (await shown.innerText()).trim()
  assert.match(apiKey, /^svc_live_/)
  // An accidental click does not close it.
  await page.keyboard.press('Escape')
  assert.ok(await shown.isVisible())

  assert.equal((await app.chat('hello', { apiKey })).status, 200)
  const secret = apiKey.split('.')[1]!
  const answers: Promise<string>[] = []
  page.on('response', (response) => {
    if (response.url().includes('/admin/v1/')) answers.push(response.text().catch(() => ''))
  })
  await page.getByRole('button', { name: 'I have stored the key' }).click()
  await dialog.waitFor({ state: 'detached' })
  assert.ok(!(await page.content()).includes(secret), 'the secret is still in the page')
  await page.getByRole('row', { name: /Website/ }).waitFor()
  for (const path of [`/keys/${agentId}`, `/agents/${agentId}`, '/operations']) {
    await open(path)
    assert.ok(!(await page.content()).includes(secret), `the secret is in ${path}`)
  }
  await page.goBack()
  await settled()
  assert.ok(!(await page.content()).includes(secret), 'the secret came back')
  const reported = await Promise.all(answers)
  assert.ok(reported.length > 3 && !reported.some((text) => text.includes(secret)), 'a later answer holds the secret')
})

inConsole('console: a key that is revoked on the page is refused immediately', async ({ page, app, open }) => {
  const { agentId } = app.caller
  const key = await app.made('POST', `/agents/${agentId}/keys`, { name: 'Old shop', permission: 'full' })
  const list = async (): Promise<number> =>
    (await read(await fetch(`${app.url}/v1/agents/${agentId}/conversations`, { headers: { authorization: `Bearer ${key.api_key}` } })))
      .status
  assert.equal(await list(), 200)
  await open(`/keys/${agentId}`)
  await page.getByRole('button', { name: /^Revoke .*Old shop/ }).click()
  await page.getByRole('button', { name: 'Revoke API key' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page
    .getByRole('row', { name: /Old shop/ })
    .getByText('Revoked')
    .waitFor()
  assert.equal(await list(), 401)
})

inConsole('console: the default end user and MCP of a key are set and changed in its form', async ({ page, app, open }) => {
  const { agentId } = app.caller
  const stored = async (): Promise<unknown[]> => {
    const { data } = await app.made('GET', `/agents/${agentId}/keys`)
    const { default_external_user_id: user, mcp } = data.find(({ name }: { name: string | null }) => name === 'Desk')
    return [user, mcp]
  }
  await open(`/keys/${agentId}`)
  await page.getByRole('button', { name: 'Create API key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Desk')
  await dialog.getByLabel('Default end user ID').fill('desk')
  await dialog.getByRole('button', { name: 'Create API key' }).click()
  await page.getByRole('button', { name: 'I have stored the key' }).click()
  assert.deepEqual(await stored(), ['desk', true])

  await page.getByRole('button', { name: 'Edit Desk' }).click()
  assert.equal(await dialog.getByLabel('Default end user ID').inputValue(), 'desk')
  await dialog.getByLabel('Default end user ID').fill('')
  await dialog.getByRole('switch', { name: 'MCP' }).uncheck()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  assert.deepEqual(await stored(), [null, false])
})

inConsole(
  'console: the page of the keys has the addresses and a snippet for each client, and those of MCP work',
  async ({ page, app, open }) => {
    const { agentId, apiKey } = app.caller
    await open(`/keys/${agentId}`)
    const section = page.getByRole('region', { name: 'Use the agent with other clients' })
    const shown = async (client: string): Promise<string> => {
      await section.getByRole('tab', { name: client, exact: true }).click()
      return section.getByRole('region', { name: `${client} snippet` }).innerText()
    }
    for (const text of [`${app.url}/v1`, agentId, `${app.url}/mcp`])
      assert.ok(await section.getByText(text, { exact: true }).isVisible(), text)
    assert.equal(await section.getByRole('button', { name: /^Copy (base URL|model|server URL)$/ }).count(), 3)
    for (const client of ['OpenAI SDK, TypeScript', 'OpenAI SDK, Python', 'AI SDK', 'LangChain']) {
      const text = await shown(client)
      assert.ok(text.includes(`${app.url}/v1`) && text.includes(agentId) && text.includes('TURNKEEP_API_KEY'), text)
    }
    for (const client of ['Claude Code', 'Cursor', 'VS Code']) {
      const { mcpServers, servers } = JSON.parse(await shown(client))
      const { url, headers } = (mcpServers ?? servers).turnkeep
      const withKey = headers.Authorization.replace(/\$\{.*\}/, apiKey)
      const answer = await fetch(url, {
        method: 'POST',
        headers: { authorization: withKey, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      })
      assert.match(await answer.text(), /"name":"test-agent"/, client)
    }
  },
)
