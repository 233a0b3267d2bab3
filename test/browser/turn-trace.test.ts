/** The trace of a turn on the page of its conversation: what each attempt did, in order, as text and never as HTML. */
import assert from 'node:assert/strict'
import type { Locator } from 'playwright-core'
import { openConsole } from '../support/browser.ts'
import { hostile } from '../support/hostile-app.ts'
import { startTestApp } from '../support/test-app.ts'
import { call, threeTools } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'

const inConsole = openConsole(async () => {
  const tools = await startToolServer()
  tools.when('/look', { status: 500, body: hostile })
  const env = { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address }
  const agent = { tools: threeTools(tools), knowledge: { max_tokens: 1_000, top_k: 5 } }
  const app = await startTestApp({ env, agent })
  return {
    adminUrl: app.adminUrl,
    app,
    async close() {
      await app.close()
      await tools.close()
    },
  }
})

inConsole(
  'console: a trace shows passages, prompts, tool calls and what was charged, in order and as text',
  async ({ page, app, open }) => {
    const { agentId } = app.app.caller
    for (const [index, word] of ['Monday', 'Tuesday'].entries()) {
      const text = `${word} may be returned within 30 days. ${hostile} `.repeat(2)
      await app.app.app.knowledge.index({ documentId: `doc_${index}`, agentId, title: `Returns on ${word} ${hostile}`, text })
    }
    app.app.model.script([hostile, call('look', { day: hostile }, 'a')], 'All done.')
    const { json } = await app.app.chat('Monday returned', { user: 'traced' })
    await open(`/conversations/${json['conversation_id']}`)
    const reply = page.getByRole('article', { name: 'Reply', exact: true })
    await reply.getByRole('button', { name: 'Trace' }).click()
    const spans = page.getByRole('region', { name: 'Turn', exact: true }).getByRole('listbox', { name: 'Spans' })
    const names = (): Promise<(string | null)[]> => spans.locator('[title]').evaluateAll((items) => items.map((item) => item.textContent))
    await spans.getByRole('option', { name: /^Settlement/ }).waitFor()
    assert.deepEqual(await names(), [
      'Attempt 1',
      'Admission',
      'Retrieval: 2 passages',
      'Model call 1',
      'Tool look',
      'Model call 2',
      'Settlement',
    ])
    const select = async (name: string): Promise<Locator> => {
      await spans.getByRole('option', { name: new RegExp(`^${name}`) }).click()
      return page.getByRole('region', { name: 'Turn', exact: true }).getByRole('region', { name: `Details of ${name}`, exact: true })
    }

    const passages = await select('Retrieval: 2 passages')
    await passages.getByText(`1. Returns on Monday ${hostile}`).waitFor()
    await passages.getByText('Sent to the model').first().waitFor()
    await passages
      .getByText(/^score [\d.]+$/)
      .first()
      .waitFor()
    await passages.getByRole('region', { name: 'Passage 1' }).getByText('Monday may be returned within 30 days.').waitFor()
    const first = await select('Model call 1')
    await first.getByText('tool_calls', { exact: true }).waitFor()
    await first.getByRole('region', { name: 'Message 2, user' }).getByText('Monday returned').waitFor()
    await first.getByRole('tab', { name: 'Parameters' }).click()
    for (const name of ['book', 'look', 'cancel']) await first.getByRole('region', { name: `Tool ${name}` }).waitFor()
    await first.getByRole('tab', { name: 'Returned' }).click()
    assert.equal(await first.getByRole('region', { name: 'Text' }).textContent(), hostile)
    const tool = await select('Tool look')
    await tool.getByText('Error', { exact: true }).waitFor()
    assert.equal(await tool.getByRole('region', { name: 'Arguments of look' }).textContent(), JSON.stringify({ day: hostile }, null, 2))
    assert.match((await tool.getByRole('region', { name: 'Error of look' }).textContent())!, /^Status 500/)
    const settlement = await select('Settlement')
    await settlement.getByRole('region', { name: 'Price calculation' }).getByText('Completion', { exact: true }).waitFor()
    assert.equal(await reply.locator('img, script').count(), 0, 'a text was rendered as HTML')
    assert.equal(await page.evaluate('window.__xss'), undefined)
  },
)

inConsole('console: a trace shows why a turn has no reply, in the words of the provider', async ({ page, app, open }) => {
  app.app.model.script({ status: 400, body: { error: { message: `no such model ${hostile}` } } })
  const { json } = await app.app.chat('hi', { user: 'refused' })
  const { conversation_id: conversationId } = await app.app.made('GET', `/turns/${json['error'].request_id}`)
  await open(`/conversations/${conversationId}`)
  const turn = page.getByRole('article', { name: 'Turn without a reply' })
  await turn.getByRole('button', { name: 'Trace' }).click()
  // The failed span is selected.
  const failed = page.getByRole('region', { name: 'Turn', exact: true }).getByRole('region', { name: 'Details of Model call 1' })
  await failed.getByText('provider_400', { exact: true }).waitFor()
  await failed.getByText(/no such model \u202e<img src=x/).waitFor()
  assert.equal(await turn.locator('img, script').count(), 0, 'a text was rendered as HTML')
})

inConsole(
  'console: the list of traces has the end user of each turn, and is filtered by it in the address',
  async ({ page, app, open }) => {
    const { agentId } = app.app.caller
    const user = `ann & ${hostile}`
    const { json } = await app.app.chat('hi', { user })
    const { json: other } = await app.app.chat('hi', { user: 'ben' })
    await open('/turns')
    const rowOf = ({ request_id: id }: typeof json): Locator => page.getByRole('row').filter({ hasText: String(id).slice(-12) })
    await rowOf(other).getByRole('link', { name: 'ben', exact: true }).waitFor()
    assert.equal(await page.getByLabel('End user', { exact: true }).isDisabled(), true)

    await open(`/turns?agent_id=${agentId}`)
    await rowOf(other).waitFor()
    await page.getByLabel('End user', { exact: true }).fill(user)
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.searchParams.get('external_user_id') === user && url.searchParams.get('agent_id') === agentId)
    await rowOf(other).waitFor({ state: 'detached' })
    await rowOf(json).getByRole('link', { name: user, exact: true }).click()
    await page.getByRole('button', { name: 'Export data' }).waitFor()
    assert.deepEqual(
      [new URL(page.url()).pathname, new URL(page.url()).searchParams.get('external_user_id')],
      [`/console/end-users/${agentId}/one`, user],
    )
  },
)
