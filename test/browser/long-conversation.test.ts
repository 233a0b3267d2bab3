/** A conversation of ten thousand messages: the page renders some dozens of them at a time, and every one can be reached. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { openConsole } from '../support/browser.ts'
import { becomes } from '../support/browser-visit.ts'
import { lengthenConversation } from '../support/long-conversation.ts'
import { makeFolder, startTestApp } from '../support/test-app.ts'

const turns = 5_000
// A screen has a dozen; what is rendered beyond it is for smooth scrolling.
const maxDrawn = 200
// Of the whole page, however its elements are arranged.
const maxElements = 5_000

const inConsole = openConsole(async () => {
  const folder = await makeFolder()
  const first = await startTestApp({ folder })
  await first.chat('hello')
  await first.close()
  await lengthenConversation(folder, turns)
  const app = await startTestApp({ folder, seeded: first, model: first.model })
  const close = app.close.bind(app)
  app.close = async () => {
    await close()
    await rm(folder, { recursive: true, force: true })
  }
  return app
})

async function assertFew(page: Page): Promise<void> {
  await page.getByRole('article').first().waitFor()
  const drawn = await page.getByRole('article').count()
  assert.ok(drawn < maxDrawn, `${drawn} rows are drawn`)
  const elements = await page.evaluate<number>('document.querySelectorAll("*").length')
  assert.ok(elements < maxElements, `${elements} elements are in the page`)
}

inConsole(
  'console: a conversation of 10,000 messages opens at its end, and can be scrolled to its first message',
  async ({ page, app, open }) => {
    const { data } = await app.made('GET', '/conversations')
    assert.equal(data[0].message_count, 2 * turns)
    await open(`/conversations/${data[0].id}`)
    const list = page.getByRole('region', { name: 'Messages' })
    await list.getByText('You said: hello').waitFor()
    await assertFew(page)

    await page.getByRole('button', { name: 'Jump to oldest' }).click()
    await page.getByText('All 10,000 messages loaded').waitFor()
    await list.getByText(/^Message 1 of/).waitFor()
    await assertFew(page)
    assert.equal(await list.getByRole('article').first().getAttribute('aria-setsize'), String(2 * turns))

    // Anywhere between, by the scroll bar.
    for (const share of [0.25, 0.5, 0.75]) {
      await list.evaluate((element: any, to) => element.scrollTo(0, element.scrollHeight * to), share)
      const near = 2 * turns * share
      await becomes(
        page,
        `[...document.querySelectorAll('[aria-posinset]')].some((item) => Math.abs(item.ariaPosInSet - ${near}) < ${turns / 5})`,
      )
      await assertFew(page)
    }
    await page.getByRole('button', { name: 'Jump to newest' }).click()
    await list.getByText('You said: hello').waitFor()
    await assertFew(page)
  },
)

inConsole(
  'console: Enter finds a text and goes to its last match, and Previous match goes on there when older messages are loaded',
  async ({ page, app, open }) => {
    const { data } = await app.made('GET', '/conversations')
    await open(`/conversations/${data[0].id}`)
    const list = page.getByRole('region', { name: 'Messages' })
    await list.getByText('You said: hello').waitFor()
    await page.getByLabel('Find in conversation').fill('50 of')
    await page.keyboard.press('Enter')
    await page.getByText('1 message', { exact: true }).waitFor()
    await page.keyboard.press('Enter')
    await list.getByText('Message 9950 of').waitFor()
    await page.getByRole('button', { name: 'Load older messages' }).click()
    await page.getByText('Newest 200 messages loaded').waitFor()
    await page.getByRole('button', { name: 'Previous match' }).click()
    await list.getByText('Message 9850 of').waitFor()
    await page.getByRole('button', { name: 'Next match' }).click()
    await list.getByText('Message 9950 of').waitFor()
  },
)
