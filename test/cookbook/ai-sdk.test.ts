/**
 * docs/cookbook/ai-sdk.md on Express: `useChat` of the real @ai-sdk/react in a real browser, with the real service behind its backend. The
 * page is reloaded at every moment of a reply. TEST_RELOADS=100 makes it the run of a hundred.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { noBrowser, visit } from '../support/cookbook-page.ts'
import { layOut, startProgram } from '../support/cookbook-program.ts'
import { gate } from '../support/model-server.ts'
import type { Gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

const reloads = Number(process.env['TEST_RELOADS'] ?? 6)
const packages = ['ai', '@ai-sdk/react', 'react', 'react-dom', 'vite']

async function startBackend(t: TestContext, app: TestApp): Promise<string> {
  const { folder, remove } = layOut('ai-sdk.md', packages)
  t.after(remove)
  const built = spawnSync(process.execPath, [join(folder, 'node_modules/vite/bin/vite.js'), 'build'], { cwd: folder, encoding: 'utf8' })
  assert.equal(built.status, 0, `${built.stdout}${built.stderr}`)
  const environment = { AGENT_URL: app.url, AGENT_ID: app.caller.agentId, API_KEY: app.caller.apiKey }
  const backend = await startProgram(folder, 'server.mts', environment)
  t.after(() => backend.kill())
  return backend.url
}

/** What the page shows: one line for each message. */
const linesOf = (page: Page): Promise<string[]> => page.locator('[role=log] p').allTextContents()

/** Records every text that the last line has had since the page was opened. */
const recordTexts = `
  window.texts = []
  new MutationObserver(() => {
    const reply = document.querySelector('[role=log] p.assistant:last-child')?.textContent
    if (reply !== undefined && reply !== window.texts.at(-1)) window.texts.push(reply)
  }).observe(document, { subtree: true, childList: true, characterData: true })`

async function send(page: Page, text: string): Promise<void> {
  await page.getByRole('button', { name: 'Send', disabled: false }).waitFor()
  await page.getByLabel('Message').fill(text)
  await page.getByLabel('Message').press('Enter')
}

/** Reloads a page whose chat has no running turn. The page then streams the newest reply again, in place of what it has: waits for its end. */
async function reloadAndResume(page: Page): Promise<void> {
  const resumed = page.waitForEvent('requestfinished', (request) => request.url().endsWith('/stream'))
  await page.reload()
  await resumed
  await page.getByRole('button', { name: 'Send', disabled: false }).waitFor()
}

void test(`cookbook/ai-sdk: reloads in the middle of ${reloads} replies lose no text and double none`, { skip: noBrowser() }, async (t) => {
  await using app = await startTestApp()
  const url = await startBackend(t, app)
  await visit([url], async (page, picture) => {
    await page.addInitScript(recordTexts)
    for (let turn = 0; turn < reloads; turn++) {
      // The reply stops before each of its pieces, and the page is reloaded at one of these moments, or at two.
      const pieces = ['Parcels ', 'may be returned ', `within ${turn} days.`]
      const gates: Gate[] = pieces.map(() => gate())
      const whole = pieces.join('')
      app.model.script(pieces.flatMap((piece, index) => [gates[index]!, piece]))
      await page.goto(`${url}/?chat=chat-${turn}-of-test`)
      await send(page, `How long may I return parcel ${turn}?`)
      for (const [index, held] of gates.entries()) {
        await held.reached
        const sofar = pieces.slice(0, index).join('')
        if (sofar !== '') await page.getByText(sofar).waitFor()
        if (turn % 3 === index || turn % 5 === index) {
          await page.reload()
          await page.getByText(`How long may I return parcel ${turn}?`).waitFor()
          // Resumed while the turn is running: the text so far is there before the rest is generated.
          if (sofar !== '') await page.getByText(sofar).waitFor()
          if (turn === 1) await picture('ai-sdk')
        }
        held.open()
      }
      await page.getByText(whole).waitFor()
      await page.getByRole('button', { name: 'Send', disabled: false }).waitFor()
      assert.deepEqual(await linesOf(page), [`How long may I return parcel ${turn}?`, whole])
      const texts = await page.evaluate<string[]>('texts')
      assert.deepEqual(
        texts.filter((text) => !whole.startsWith(text)),
        [],
        'a text that is no part of the reply was shown',
      )
      // A page that is opened later has the same.
      await reloadAndResume(page)
      assert.deepEqual(await linesOf(page), [`How long may I return parcel ${turn}?`, whole])
    }
    assert.ok(!(await page.content()).includes(app.caller.apiKey))
  })
  assert.equal(app.model.calls.length, reloads)
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, reloads)
})

void test(
  'cookbook/ai-sdk: a stopped reply keeps its text, and one that failed is tried again with the same key',
  { skip: noBrowser() },
  async (t) => {
    await using app = await startTestApp()
    const url = await startBackend(t, app)
    await visit([url], async (page) => {
      await page.goto(`${url}/?chat=chat-that-stops`)
      const held = gate()
      app.model.script(['Parcels ', held, 'may be returned.'])
      await send(page, 'May I return it?')
      await page.getByText('Parcels').waitFor()
      await page.getByRole('button', { name: 'Stop' }).click()
      await page.getByRole('button', { name: 'Send', disabled: false }).waitFor()
      assert.deepEqual(await linesOf(page), ['May I return it?', 'Parcels '])
      held.open()

      // Three calls of the model are one attempt of the turn, which is then released.
      app.model.script({ status: 503 }, { status: 503 }, { status: 503 }, 'It is late.')
      await send(page, 'Where is it?')
      await page.getByRole('alert').waitFor()
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByText('It is late.').waitFor()
      await page.getByRole('button', { name: 'Send', disabled: false }).waitFor()
      assert.equal(await page.getByRole('alert').count(), 0)
      await reloadAndResume(page)
      assert.deepEqual(await linesOf(page), ['May I return it?', 'Parcels ', 'Where is it?', 'It is late.'])
    })
    assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 2)
  },
)
