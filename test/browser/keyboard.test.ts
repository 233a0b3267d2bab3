/** The console without a mouse: everything can be reached with Tab and Enter, and what opens returns the focus when it closes. */
import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { openConsole } from '../support/browser.ts'
import { becomes } from '../support/browser-visit.ts'
import { startTestApp } from '../support/test-app.ts'

const inConsole = openConsole(() => startTestApp())

// More focusable elements than any page has before the one that is looked for.
const maxTabs = 60

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, place: Locator): Promise<void> {
  for (let tabs = 0; tabs < maxTabs; tabs++) {
    if (await hasFocus(place)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`${maxTabs} tabs did not lead to ${String(place)}`)
}

const hasFocus = (place: Locator): Promise<boolean> => place.evaluate((element: any) => element === element.ownerDocument.activeElement)

inConsole('console: pages are reached with Tab and Enter, and the content with its skip link', async ({ page, open }) => {
  await open('/')
  await page.keyboard.press('Tab')
  assert.ok(await hasFocus(page.getByRole('link', { name: 'Skip to content' })))
  await tabTo(page, page.getByRole('link', { name: 'API keys', exact: true }))
  await page.keyboard.press('Enter')
  // There is one agent, so its keys are opened.
  await page.getByRole('tab', { name: 'Keys', selected: true }).waitFor()
})

inConsole('console: a dialog takes the focus, traps it, and returns it when Escape closes it', async ({ page, app, open }) => {
  await open(`/keys/${app.caller.agentId}`)
  const opener = page.getByRole('button', { name: 'Create API key' })
  await tabTo(page, opener)
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  const within = (): Promise<boolean> => dialog.evaluate((element: any) => element.contains(element.ownerDocument.activeElement))
  for (let tabs = 0; tabs < 20; tabs++) {
    await page.keyboard.press('Tab')
    assert.ok(await within(), `after ${tabs + 1} tabs the focus has left the dialog`)
  }
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await becomes(page, 'document.activeElement !== document.body')
  assert.ok(await hasFocus(opener))
})

inConsole('console: a message is written and sent in the playground with the keyboard alone', async ({ page, app, open }) => {
  await open(`/playground/${app.caller.agentId}`)
  const box = page.getByLabel('Message', { exact: true })
  await tabTo(page, box)
  await page.keyboard.type('hello')
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.type('there')
  await page.keyboard.press('Enter')
  await page.getByRole('log').getByText('You said: hello').waitFor()
})

inConsole('console: the color scheme is changed with the keyboard, and stays', async ({ page, open }) => {
  await open('/')
  const scheme = (): Promise<string> => page.evaluate<string>('document.documentElement.dataset.mantineColorScheme')
  assert.equal(await scheme(), 'light')
  await tabTo(page, page.getByRole('button', { name: 'Session menu' }))
  await page.keyboard.press('Enter')
  const item = page.getByRole('menuitem', { name: 'Switch to dark mode' })
  await item.waitFor()
  while (!(await hasFocus(item))) await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  assert.equal(await scheme(), 'dark')
  await open('/agents')
  assert.equal(await scheme(), 'dark')
})
