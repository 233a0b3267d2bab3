/** Running turns on the conversation pages: their text while it is generated, and the button that stops them; and feedback: the list, and its change. */
import assert from 'node:assert/strict'
import { openConsole } from '../support/browser.ts'
import { gate } from '../support/model-server.ts'
import type { Gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp } from '../support/test-app.ts'

const inConsole = openConsole(() => startTestApp())

/** A turn that has come to the gate. */
async function startTurn(app: TestApp, user: string, held: Gate): Promise<{ turn: Json; answer: Promise<Answer> }> {
  const answer = app.chat('hi', { user })
  await held.reached
  const { data } = await app.made('GET', '/turns?status=running')
  return { turn: data[0], answer }
}

inConsole('console: a running turn is listed with the conversations, and Cancel ends it and says so', async ({ page, app, open }) => {
  const held = gate()
  app.model.script([held, 'too late'])
  const { turn, answer } = await startTurn(app, 'listed', held)
  await open('/conversations')
  const row = page
    .getByRole('table', { name: 'Running turns' })
    .getByRole('row')
    .filter({ hasText: turn.request_id.slice(-12) })
  await row.getByRole('button', { name: `Cancel turn ${turn.request_id}` }).click()
  await page
    .getByRole('status')
    .filter({ hasText: 'cancelled before there was any text. Only finished tool calls that have a price were charged.' })
    .waitFor()
  await row.waitFor({ state: 'detached' })
  assert.equal((await answer).json.error.code, 'turn_cancelled')
  assert.equal((await app.made('GET', `/turns/${turn.request_id}`)).state, 'cancelled')
  held.open()

  await open(`/conversations/${turn.conversation_id}`)
  const shown = page.getByRole('article', { name: 'Turn without a reply' })
  await shown.getByText('Cancelled', { exact: true }).waitFor()
  await shown.getByText('The turn was cancelled before there was any text.').waitFor()
})

inConsole(
  'console: a conversation shows the text of its running turn live; after a cancel it is the reply, marked incomplete',
  async ({ page, app, open }) => {
    const [first, second] = [gate(), gate()]
    app.model.script(['The parcel ', first, 'is **on its way** ', second, 'and arrives'])
    const { turn, answer } = await startTurn(app, 'live', first)
    await open(`/conversations/${turn.conversation_id}`)
    const live = page.getByRole('region', { name: 'Reply so far' })
    await live.getByText('The parcel').waitFor()
    assert.equal(await live.getByText('on its way').count(), 0)
    first.open()
    await live.locator('strong', { hasText: 'on its way' }).waitFor()
    await page.getByRole('button', { name: `Cancel turn ${turn.request_id}` }).click()
    await page.getByRole('status').filter({ hasText: 'cancelled. The text so far is the reply, marked as incomplete' }).waitFor()
    const reply = page.getByRole('article', { name: 'Reply', exact: true })
    await reply.getByText('Cancelled', { exact: true }).waitFor()
    await reply.locator('strong', { hasText: 'on its way' }).waitFor()
    await live.waitFor({ state: 'detached' })
    assert.equal((await answer).json.message.incomplete, true)
    second.open()
  },
)

inConsole('console: without feedback, the page links to the reference of the API, also on another port', async ({ page, open }) => {
  const apiUrl = 'http://127.0.0.1:8443'
  await page.route('**/admin/v1/session', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), api_url: apiUrl } })
  })
  await page.route('**/admin/v1/feedback?*', (route) => route.fulfill({ json: { data: [], next_cursor: null } }))
  await open('/feedback')
  assert.equal(await page.getByRole('link', { name: 'Open API docs' }).getAttribute('href'), `${apiUrl}/docs`)
})

inConsole('console: feedback is listed with filters, and shown with its turn', async ({ page, app, open }) => {
  const give = async (user: string, feedback: Json): Promise<Json> => {
    const { json } = await app.chat('hi', { user })
    assert.equal((await app.chatRequest(feedback, { path: `turns/${json.request_id}/feedback` })).status, 200)
    return json
  }
  await give('pleased', { rating: 'up', comment: 'Quick and correct.' })
  const turn = await give('annoyed', { rating: 'down', comment: '<b>Wrong</b> price.', tags: ['wrong price'] })
  await open('/feedback')
  const table = page.getByRole('table', { name: 'Feedback, newest changes first' })
  await table.getByText('Quick and correct.').waitFor()
  await page.getByLabel('Tag').fill('wrong price')
  await page.getByRole('button', { name: 'Search' }).click()
  await table.getByText('Quick and correct.').waitFor({ state: 'detached' })
  await table.getByText('<b>Wrong</b> price.').waitFor()
  assert.match(page.url(), /\?tag=wrong(\+|%20)price$/)
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await table.getByText('Quick and correct.').waitFor()
  await page.getByRole('combobox', { name: 'Rating' }).click()
  await page.getByRole('option', { name: 'Down' }).click()
  await table.getByText('Quick and correct.').waitFor({ state: 'detached' })

  await table.getByRole('link', { name: `Trace of turn ${turn.request_id}` }).click()
  await page.getByRole('tab', { name: 'Trace', selected: true }).waitFor()
  await page.getByText('<b>Wrong</b> price.').waitFor()
  await page.goBack()
  await table.getByRole('link', { name: `Conversation of turn ${turn.request_id}` }).click()
  const reply = page.getByRole('article', { name: 'Reply', exact: true })
  await reply.getByText('Down', { exact: true }).waitFor()
  await reply.getByText('<b>Wrong</b> price.').waitFor()
})

inConsole(
  'console: the feedback on a turn is given, changed with the keyboard, removed, and restored by Undo',
  async ({ page, app, open }) => {
    const { json } = await app.chat('hi', { user: 'rated' })
    const stored = async (): Promise<Json> => (await app.made('GET', `/turns/${json.request_id}`)).feedback
    await open(`/turns/${json.request_id}`)
    const group = page.getByRole('group', { name: 'Feedback' })
    await group.getByRole('button', { name: 'Down' }).click()
    const edit = group.getByRole('button', { name: 'Edit feedback' })
    // Shown when the focus is on the group.
    await page.locator('.toast', { hasText: 'Feedback saved' }).waitFor()
    assert.equal((await stored()).rating, 'down')

    await edit.press('Enter')
    await group.getByLabel('Comment').fill('Too long.')
    await group.getByLabel('Tags').fill('long')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Control+Enter')
    // The form closes when the feedback is stored.
    await edit.waitFor()
    await group.getByText('Too long.').waitFor()
    const { rating, comment, tags } = await stored()
    assert.deepEqual([rating, comment, tags], ['down', 'Too long.', ['long']])

    await edit.click()
    await group.getByLabel('Comment').fill('not saved')
    await page.keyboard.press('Escape')
    await edit.waitFor()
    await group.getByText('Too long.').waitFor()

    await group.getByRole('button', { name: 'Remove' }).click()
    await group.getByText('No feedback yet.').waitFor()
    assert.equal(await stored(), null)
    await page.locator('.toast', { hasText: 'Feedback removed' }).getByRole('button', { name: 'Undo' }).click()
    await group.getByText('Too long.').waitFor()
    assert.deepEqual((await stored()).tags, ['long'])
  },
)

inConsole('console: a filter that Enter applies keeps the focus, so that another one can be typed', async ({ page, app, open }) => {
  const { agentId } = app.caller
  const fields = [
    { path: `/turns?agent_id=${agentId}`, label: 'End user', name: 'external_user_id', values: ['ann', 'ben'] },
    { path: '/turns', label: 'Trace ID', name: 'trace_id', values: ['a'.repeat(32), 'b'.repeat(32)] },
    { path: '/audit', label: 'Action', name: 'verb', values: ['create', 'change'] },
  ]
  for (const { path, label, name, values } of fields) {
    await open(path)
    await page.getByRole('main').getByLabel(label, { exact: true }).focus()
    for (const value of values) {
      await page.keyboard.press('Control+a')
      await page.keyboard.type(value)
      await page.keyboard.press('Enter')
      await page.waitForURL(({ searchParams }) => searchParams.get(name) === value)
    }
  }
})

inConsole(
  'console: turn.finish-reason: a reply that was cut off says why, in the conversation, in the list of traces and on its page; a whole one says nothing',
  async ({ page, app, open }) => {
    app.model.script(['Whole.'])
    await app.chat('first', { user: 'ends' })
    app.model.script(['The parcel is', { finish: 'length' }])
    const { json } = await app.chat('second', { user: 'ends' })
    app.model.script(['It was', { finish: 'content_filter' }])
    await app.chat('third', { user: 'ends' })
    await open(`/conversations/${json['conversation_id']}`)
    await page.getByText('Cut off at the token limit', { exact: true }).waitFor()
    await page.getByText('Cut off by a content filter', { exact: true }).waitFor()
    assert.equal(await page.getByText(/^Cut off|^Cancelled$|^Refused$/).count(), 2)
    await open(`/turns/${json['request_id']}`)
    await page.locator('dl[aria-label=Turn]').getByText('Cut off at the token limit', { exact: true }).waitFor()
    const cause = page.getByRole('region', { name: 'Cause' })
    await cause.getByText('The model reached its output limit. The text so far is the reply.').waitFor()
    await cause.getByText('then response.completed with incomplete: true').waitFor()
    await open('/turns')
    await page.getByText('Cut off at the token limit', { exact: true }).waitFor()
  },
)
