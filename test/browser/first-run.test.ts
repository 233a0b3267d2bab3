/** From a first start to a first reply, as a user does it: an empty server, the console, and in the end the command in a terminal. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openConsole } from '../support/browser.ts'
import { startModelServer } from '../support/model-server.ts'
import type { ModelServer } from '../support/model-server.ts'
import { startServer } from '../support/server-process.ts'
import { makeFolder } from '../support/test-app.ts'

type FreshApp = { adminUrl: string; folder: string; model: ModelServer; close(): Promise<void> }

const inConsole = openConsole(async (): Promise<FreshApp> => {
  const [folder, model] = await Promise.all([makeFolder(), startModelServer()])
  const server = await startServer({ TURNKEEP_DATA_DIR: folder })
  return {
    adminUrl: server.url,
    folder,
    model,
    async close() {
      await server.stop()
      await model.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
})

inConsole(
  'console: the first run leads to a first reply, and to a command that returns the same reply twice',
  async ({ page, app, open, settled, say }) => {
    const started = performance.now()
    await open('/')
    await page.getByRole('button', { name: 'Use the admin token' }).click()
    await page.getByLabel(/^Admin token/).fill(readFileSync(join(app.folder, 'admin.token'), 'utf8').trim())
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Set up your first agent', level: 1 }).waitFor()
    await settled()

    await page.getByRole('combobox', { name: 'Kind' }).click()
    await page.getByRole('option', { name: /compatible/ }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('mine')
    await page.getByLabel('Base URL').fill(app.model.baseUrl)
    await page.getByLabel('Provider API key').fill('my-key')
    await page.getByRole('button', { name: 'Add provider' }).click()
    await page.getByRole('combobox', { name: 'Model to test' }).fill('my-model')
    await page.getByRole('button', { name: 'Test provider' }).click()
    await page.getByText(/^mine responded in/).waitFor()
    await page.getByRole('button', { name: 'Continue to agent' }).click()

    await page.getByLabel('Agent name').fill('First')
    await page.getByLabel('System prompt').fill('You are the first one.')
    await page.getByText('No price is listed for this model').waitFor()
    await page.getByLabel('Prompt price').fill('1')
    await page.getByLabel('Completion price').fill('2')
    await page.getByRole('button', { name: 'Create agent' }).click()

    await page.getByRole('button', { name: 'Create API key' }).click()
    await page.getByRole('button', { name: 'Continue to first message' }).click()
    await page.getByLabel('Message', { exact: true }).fill('Who is there?')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('region', { name: 'Reply' }).getByText('You said: Who is there?').waitFor()
    say(`from the sign-in to the first reply: ${((performance.now() - started) / 1000).toFixed(1)} s of the machine's own time`)

    await page.getByRole('button', { name: 'Continue to API call' }).click()
    const command = await page.getByRole('region', { name: 'curl command', exact: true }).innerText()
    const calls = app.model.calls.length
    const [first, second] = [await paste(command), await paste(command)]
    assert.match(first.message.content, /^You said: /)
    assert.deepEqual([second.message, second.request_id], [first.message, first.request_id])
    assert.equal(app.model.calls.length, calls + 1)

    // A returning user has completed the first steps.
    await open('/')
    assert.equal(await page.getByRole('heading', { name: 'Set up your first agent' }).count(), 0)
  },
  { signedIn: false },
)

async function paste(command: string): Promise<{ message: { content: string }; request_id: string }> {
  const { stdout } = await promisify(execFile)('bash', ['-c', command], { timeout: 60_000 })
  return JSON.parse(stdout)
}

inConsole(
  'console: verify runs from the page on the real data, and reports every invariant as ok',
  async ({ page, app, open, settled }) => {
    await open('/')
    await page.getByRole('button', { name: 'Use the admin token' }).click()
    await page.getByLabel(/^Admin token/).fill(readFileSync(join(app.folder, 'admin.token'), 'utf8').trim())
    await page.keyboard.press('Enter')
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Status' }).click()
    await settled()
    await page.getByRole('button', { name: 'Verify data' }).click()
    await page.getByText(/All \d+ invariants hold/).waitFor()
  },
  { signedIn: false },
)
