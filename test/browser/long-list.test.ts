/** A list of ten thousand rows: however many are loaded, the page has a fixed number of them, and the start can be shown again. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { openConsole } from '../support/browser.ts'
import { multiplyConversation } from '../support/long-list.ts'
import { makeFolder, startTestApp } from '../support/test-app.ts'

const conversations = 10_000
// As in the console.
const [pageSize, maxRows] = [25, 150]

const inConsole = openConsole(async () => {
  const folder = await makeFolder()
  const first = await startTestApp({ folder })
  await first.chat('hello')
  await first.close()
  multiplyConversation(folder, conversations)
  const app = await startTestApp({ folder, seeded: first, model: first.model })
  const close = app.close.bind(app)
  app.close = async () => {
    await close()
    await rm(folder, { recursive: true, force: true })
  }
  return app
})

inConsole('console: a long list keeps the last rows that were loaded, says which, and goes back to its start', async ({ page, open }) => {
  await open('/conversations')
  const rows = page.getByRole('table', { name: /^Conversations/ }).locator('tbody tr')
  const more = page.getByRole('button', { name: 'Load more' })
  const pages = maxRows / pageSize + 3
  for (let loaded = 1; loaded < pages; loaded++) {
    await more.click()
    // The real conversation is the first row.
    await rows.filter({ hasText: `user ${(loaded + 1) * pageSize - 2}` }).waitFor()
    const count = await rows.count()
    assert.ok(count <= maxRows, `${count} rows are in the page`)
  }
  await page.getByText(`Showing ${pages * pageSize - maxRows + 1} to ${pages * pageSize}`, { exact: true }).waitFor()
  assert.equal(await rows.count(), maxRows)
  await page.getByRole('button', { name: 'Back to the start' }).click()
  await page.getByText(`Showing the first ${pageSize}`, { exact: true }).waitFor()
  await rows.filter({ hasText: 'user 0' }).waitFor()
})
