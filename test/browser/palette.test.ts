/** The command palette, the keyboard shortcuts, breadcrumbs, and lists as cards on a phone. */
import assert from 'node:assert/strict'
import { barriersOf } from '../support/axe.ts'
import { openConsole } from '../support/browser.ts'
import { becomes } from '../support/browser-visit.ts'
import { startTestApp } from '../support/test-app.ts'

const externalUserId = 'visitor 42'

const inConsole = openConsole(async () => {
  const app = await startTestApp({ agent: { name: 'Order desk' } })
  const orders = app.caller
  await app.made('PATCH', `/owners/${orders.ownerId}`, { name: 'Harbour Supply' })
  // Others to choose from, with similar names.
  await app.makeAgent(orders.ownerId, { name: 'Order archive' })
  await app.makeCaller({ agent: { name: 'Reading room' } })
  const { json } = await app.chat('Where is my order?', { user: externalUserId })
  const { request_id: requestId, conversation_id: conversationId } = json
  return { adminUrl: app.adminUrl, app, orders, externalUserId, requestId, conversationId, close: () => app.close() }
})

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true }

inConsole('console: the command palette finds pages, agents, owners and keys, and opens them with the keyboard', async (visitor) => {
  const { page, app, open } = visitor
  await open('/feedback')
  await page.keyboard.press('Control+k')
  const field = page.getByRole('combobox', { name: /^Search pages/ })
  const list = page.getByRole('listbox', { name: 'Results' })
  await field.waitFor()
  await field.fill('order desk')
  await list.getByRole('option', { name: /Chat with Order desk/ }).waitFor()
  assert.deepEqual(await barriersOf(page), [])
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Order desk', level: 1 }).waitFor()
  assert.match(page.url(), new RegExp(`/agents/${app.orders.agentId}$`))

  await page.keyboard.press('Control+k')
  await field.fill('audit')
  await list.getByRole('option', { name: /Audit log/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Audit log', level: 1 }).waitFor()
})

inConsole('console: the command palette recognizes the IDs of turns and conversations, and looks up an end user', async (visitor) => {
  const { page, app, open, settled } = visitor
  await open('/')
  const go = async (text: string, option: RegExp): Promise<void> => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /^Search pages/ }).fill(text)
    await page.getByRole('option', { name: option }).click()
    await settled()
  }
  await go(app.requestId, /^Trace of this request ID/)
  assert.ok(page.url().endsWith(`/turns/${app.requestId}`))
  await go(app.conversationId, /^Conversation with this ID/)
  assert.ok(page.url().endsWith(`/conversations/${app.conversationId}`))
  await go(app.externalUserId, /^Conversations of “/)
  assert.equal(new URL(page.url()).searchParams.get('external_user_id'), app.externalUserId)
})

inConsole('console: the command palette closes with Escape and returns the focus, and the arrow keys choose', async ({ page, open }) => {
  await open('/agents')
  const opener = page.getByRole('button', { name: /^Find/ })
  await opener.click()
  const selected = page.locator('[role="option"][aria-selected="true"]')
  await selected.waitFor()
  const first = await selected.textContent()
  await page.keyboard.press('ArrowDown')
  assert.notEqual(await selected.textContent(), first)
  await page.keyboard.press('ArrowUp')
  assert.equal(await selected.textContent(), first)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await becomes(page, 'document.activeElement !== document.body')
  assert.ok(await opener.evaluate((element: any) => element === element.ownerDocument.activeElement))
})

inConsole('console: ? lists the shortcuts, and g with a letter opens a page but not while typing', async ({ page, open }) => {
  await open('/conversations')
  const user = page.getByLabel('End user ID')
  await user.click()
  await page.keyboard.type('g u?')
  assert.equal(await user.inputValue(), 'g u?')
  assert.equal(await page.getByRole('dialog').count(), 0)
  await page.getByRole('heading', { level: 1 }).click()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Go to Usage').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('g')
  await page.keyboard.press('u')
  await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor()
})

inConsole('console: a detail page has breadcrumbs that lead back', async ({ page, app, open }) => {
  await open(`/money/${app.orders.ownerId}`)
  await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Owners' }).click()
  await page.getByRole('heading', { name: 'Owners', level: 1 }).waitFor()
})

inConsole(
  'console: on a phone the rows of a list are cards, and each cell has the name of its column',
  async ({ page, open }) => {
    await open('/turns')
    const row = page
      .getByRole('table', { name: /^Turns/ })
      .locator('tbody tr')
      .first()
    const [first, second] = [(await row.locator('td').nth(0).boundingBox())!, (await row.locator('td').nth(1).boundingBox())!]
    assert.ok(second.y >= first.y + first.height - 1, 'the cells are beside each other')
    assert.equal(await row.locator('td').nth(0).getAttribute('data-label'), 'Status')
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('combobox', { name: /^Search pages/ }).waitFor()
    assert.deepEqual(await barriersOf(page), [])
  },
  { context: phone },
)

inConsole('console: an action confirms with a message that can be dismissed', async ({ page, app, open }) => {
  await open(`/money/${app.orders.ownerId}`)
  await page.getByRole('button', { name: 'Edit owner' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel(/^Name/).fill('Renamed Supply')
  await dialog.getByRole('button', { name: 'Save' }).click()
  const said = page.getByRole('status').filter({ hasText: 'Owner saved' })
  // It stays while the pointer is on it.
  await said.getByText('Owner saved').hover()
  assert.deepEqual(await barriersOf(page), [])
  await said.getByRole('button', { name: 'Dismiss' }).click()
  await page.getByText('Owner saved').waitFor({ state: 'detached' })
})

inConsole('console: without motion, a dialog or a menu appears at the place where it stays', async ({ page, app, open, settled }) => {
  await open(`/agents/${app.orders.agentId}`)
  // The visitor's browser asks for reduced motion. In each frame: where on the screen it is. A menu is measured above the screen first.
  await page.evaluate(`(() => {
    window.places = []
    const look = () => {
      const { x, y, width, bottom } = document.querySelector('[role="dialog"], [role="menu"]')?.getBoundingClientRect() ?? {}
      if (width > 0 && bottom > 0) window.places.push([x, y].map(Math.round).join(' '))
      requestAnimationFrame(look)
    }
    look()
  })()`)
  const placesOf = async (show: () => Promise<void>, role: 'dialog' | 'menu'): Promise<string[]> => {
    await page.evaluate('window.places = []')
    await show()
    await page.getByRole(role).waitFor()
    await settled()
    await page.keyboard.press('Escape')
    await page.getByRole(role).waitFor({ state: 'detached' })
    return [...new Set(await page.evaluate<string[]>('window.places'))]
  }
  const places = {
    palette: await placesOf(() => page.keyboard.press('Control+k'), 'dialog'),
    question: await placesOf(() => page.getByRole('button', { name: 'Delete agent…' }).click(), 'dialog'),
    menu: await placesOf(() => page.getByRole('button', { name: /^Admin token/ }).click(), 'menu'),
  }
  for (const [what, seen] of Object.entries(places)) assert.equal(seen.length, 1, `${what}: ${seen.join(', ')}`)
})

inConsole(
  'console: unsaved settings are asked about before the command palette, a shortcut or a link leaves the agent',
  async ({ page, app, open }) => {
    await open(`/agents/${app.orders.agentId}`)
    const prompt = page.getByLabel('System prompt')
    await prompt.fill('Answer in rhymes.')
    const question = page.getByRole('dialog', { name: 'Leave without saving?' })
    const byPalette = async (): Promise<void> => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: /^Search pages/ }).fill('conversations')
      await page.locator('[role="option"][aria-selected="true"]', { hasText: /^Conversations/ }).waitFor()
      await page.keyboard.press('Enter')
    }
    const byShortcut = async (): Promise<void> => {
      await heading.click()
      await page.keyboard.press('g')
      await page.keyboard.press('c')
    }
    const heading = page.getByRole('heading', { level: 1 })
    const link = page.getByRole('link', { name: 'Conversations', exact: true })
    for (const [leave, focused] of [
      [byPalette, prompt],
      [byShortcut, heading],
      [(): Promise<void> => link.click(), link],
    ] as const) {
      await leave()
      await question.getByRole('button', { name: 'Cancel' }).click()
      await question.waitFor({ state: 'detached' })
      await focused.and(page.locator(':focus')).waitFor()
      assert.equal(await prompt.inputValue(), 'Answer in rhymes.')
    }
    // Nothing is lost by another tab of the same agent.
    await page.getByRole('tab', { name: /^Versions/ }).click()
    await page.getByRole('tab', { name: /^Versions/, selected: true }).waitFor()
    await byPalette()
    await question.getByRole('button', { name: 'Leave without saving' }).click()
    await page.getByRole('heading', { name: 'Conversations', level: 1 }).waitFor()
  },
)

inConsole(
  'console: unsaved settings are asked about before a sign-out',
  async ({ page, app, open }) => {
    await open(`/agents/${app.orders.agentId}`)
    const prompt = page.getByLabel('System prompt')
    await prompt.fill('Answer in rhymes.')
    const question = page.getByRole('dialog', { name: 'Leave without saving?' })
    const signOut = async (): Promise<void> => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: /^Search pages/ }).fill('sign out')
      await page.locator('[role="option"][aria-selected="true"]', { hasText: /^Sign out/ }).waitFor()
      await page.keyboard.press('Enter')
    }
    await signOut()
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    assert.equal(await prompt.inputValue(), 'Answer in rhymes.')
    // One that fails leaves everything as it was.
    const session = '**/admin/v1/session'
    await page.route(session, (route) => (route.request().method() === 'DELETE' ? route.fulfill({ status: 503 }) : route.continue()))
    await signOut()
    await question.getByRole('button', { name: 'Leave without saving' }).click()
    await page.getByText(/^Could not sign out: /).waitFor()
    assert.equal(await prompt.inputValue(), 'Answer in rhymes.')
    await page.getByRole('link', { name: 'Conversations', exact: true }).click()
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    await page.unroute(session)
    await signOut()
    await question.getByRole('button', { name: 'Leave without saving' }).click()
    await page.getByText('You are signed out').waitFor()
  },
  { refusals: [503] },
)

inConsole('console: an agent with unsaved settings is deleted without a question about them', async ({ page, app: { app }, open }) => {
  const agent = await app.makeAgent(app.caller.ownerId, { name: 'Short-lived' })
  await open(`/agents/${agent.id}`)
  await page.getByLabel('System prompt').fill('Answer in rhymes.')
  await page.getByRole('button', { name: 'Delete agent…' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill('Short-lived')
  await page.getByRole('button', { name: 'Delete agent', exact: true }).click()
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor()
})
