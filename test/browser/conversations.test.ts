/** Conversations: from a text that a user saw to the trace of the reply, by the keyboard, and messages of turns without a reply. */
import assert from 'node:assert/strict'
import { barriersOf } from '../support/axe.ts'
import { openConsole } from '../support/browser.ts'
import { startTestApp } from '../support/test-app.ts'

const inConsole = openConsole(() => startTestApp())

inConsole(
  'console: a text leads to its conversation, to the reply and to its trace, by the keyboard alone',
  async ({ page, app, open }) => {
    app.model.script('The parcel is in **Zürich**.', 'Good day.', 'Nothing else.')
    const { json: found } = await app.chat('Where is it?', { user: 'ann' })
    await app.chatRequest({ rating: 'down', comment: 'It is not there.' }, { path: `turns/${found.request_id}/feedback` })
    await app.chat('Hello', { user: 'bob' })
    await app.chat('And else?', { user: 'ann' })
    await open('/conversations')
    const table = page.getByRole('table', { name: 'Conversations, newest first' })
    await table.getByRole('row').nth(2).waitFor()
    await page.getByLabel('Search messages').fill('zürich')
    await page.keyboard.press('Enter')
    await table.locator('mark', { hasText: 'Zürich' }).waitFor()
    assert.deepEqual(await table.getByRole('rowheader').getByRole('link').allTextContents(), ['ann'])
    assert.match(page.url(), /\?q=z%C3%BCrich$/)

    await page.getByRole('heading', { name: 'Conversations', level: 1 }).focus()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    const turn = page.getByRole('region', { name: 'Turn', exact: true })
    await turn.getByRole('option', { name: /^Settlement/ }).waitFor()
    await turn.getByText(found.request_id).waitFor()
    const reply = page.getByRole('article', { name: 'Reply', exact: true }).filter({ hasText: 'Zürich' })
    await reply.getByText('It is not there.').waitFor()
    await page.waitForFunction('CSS.highlights.get("found")?.size === 1')

    // Escape closes the trace; from the list, arrow keys go to a message and Enter opens its trace.
    await turn.getByRole('button', { name: 'Close turn' }).focus()
    await page.keyboard.press('Escape')
    await turn.waitFor({ state: 'detached' })
    await page.getByRole('region', { name: 'Messages' }).focus()
    for (const key of ['ArrowUp', 'k', 'ArrowUp', 'ArrowDown']) await page.keyboard.press(key)
    await page.waitForFunction('document.activeElement.getAttribute("aria-posinset") === "3"')
    await page.keyboard.press('Enter')
    await turn.getByRole('option', { name: /^Settlement/ }).waitFor()
    assert.ok(!page.url().includes(found.request_id))
  },
)

inConsole(
  'console: a turn without a reply shows its message, the cause and what to do, and is found by its state',
  async ({ page, app, open }) => {
    app.model.script({ status: 400, body: { error: { message: 'no such model' } } })
    await app.chat('Is anyone there?', { user: 'eve' })
    await app.chat('Hello', { user: 'bob' })
    await open('/conversations?status=released')
    const table = page.getByRole('table', { name: 'Conversations, newest first' })
    await table.getByText('Is anyone there?').waitFor()
    assert.deepEqual(await table.getByRole('rowheader').getByRole('link').allTextContents(), ['eve'])
    await table.getByRole('link', { name: 'eve' }).click()
    const article = page.getByRole('article', { name: 'Turn without a reply' })
    await article.getByText('Is anyone there?').waitFor()
    await article.getByText(/no such model/).waitFor()
    await article.getByRole('link', { name: 'Test provider' }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Remove filter Status' }).click()
    await table.getByRole('link', { name: 'bob' }).waitFor()
  },
)

inConsole(
  'console: on a phone, the filters of every list are behind one button that counts them, and works with the keyboard',
  async ({ page, app, open }) => {
    await page.setViewportSize({ width: 390, height: 844 })
    const pages = [
      { path: '/conversations?status=failed&rating=down', field: 'Status of a turn', value: 'Failed', count: 2 },
      { path: '/turns?status=failed', field: 'Status', value: 'Failed', count: 1 },
      { path: '/feedback?rating=down', field: 'Rating', value: 'Down', count: 1 },
      { path: `/usage?agent_id=${app.caller.agentId}`, field: 'End user', value: '', count: 1 },
      { path: '/audit?verb=create', field: 'Action', value: 'create', count: 1 },
    ]
    for (const { path, field, value, count } of pages) {
      await open(path)
      const button = page.getByRole('button', { name: `Filters (${count})`, exact: true })
      const shown = page.getByRole('main').getByLabel(field, { exact: true }).and(page.locator('input'))
      await button.waitFor()
      assert.equal(await shown.count(), 0, path)
      await button.press('Enter')
      await shown.waitFor()
      assert.equal(await shown.inputValue(), value, path)
      assert.deepEqual(await barriersOf(page), [], path)
      await button.press('Enter')
      await shown.waitFor({ state: 'detached' })
    }

    await open('/conversations?rating=down')
    await page.getByRole('button', { name: 'Filters (1)' }).press('Enter')
    await page.getByLabel('End user ID').fill('ann')
    await page.getByLabel('End user ID').press('Enter')
    await page.getByRole('button', { name: 'Filters (2)' }).waitFor()
    const { searchParams } = new URL(page.url())
    assert.deepEqual([...searchParams.entries()].toSorted(), [
      ['external_user_id', 'ann'],
      ['rating', 'down'],
    ])
  },
)

// Last, because the app then has two owners.
inConsole('console: with several owners, the list of conversations shows whose agent replied', async ({ page, app, open }) => {
  app.model.script('Good day.')
  await app.chat('Hello', { user: 'owned' })
  const row = page.getByRole('table', { name: 'Conversations, newest first' }).getByRole('row').filter({ hasText: 'owned' })
  const { name: agent } = await app.made('GET', `/agents/${app.caller.agentId}`)
  await open('/conversations')
  await row.getByText(agent, { exact: true }).waitFor()
  await app.made('POST', '/owners', { name: 'Another owner', balance_usd: '1' })
  await open('/conversations')
  await row.getByText(`${agent} · Test owner`, { exact: true }).waitFor()
})
