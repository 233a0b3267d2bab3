/** The trace of a turn on the page of its conversation: what each attempt did, in order, as text and never as HTML. */
import assert from 'node:assert/strict'
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
    const attempt = page.getByRole('region', { name: 'Turn', exact: true }).getByRole('region', { name: 'Run 1, attempt 1' })
    await attempt.getByText('Completed', { exact: true }).waitFor()
    const steps = ['Admission', 'Retrieval', 'Model call, step 1', 'Tool call look, step 1', 'Model call, step 2', 'Settlement']
    assert.deepEqual(await attempt.getByRole('listitem').evaluateAll((items) => items.map((item) => item.ariaLabel)), steps)

    const passages = attempt.getByRole('listitem', { name: 'Retrieval' })
    await passages.getByText(`1. Returns on Monday ${hostile}`).click()
    await passages
      .getByText(/^Score [\d.]+ · sent to the model$/)
      .first()
      .waitFor()
    await passages.getByRole('region', { name: 'Passage 1' }).getByText('Monday may be returned within 30 days.').waitFor()
    const first = attempt.getByRole('listitem', { name: 'Model call, step 1' })
    await first.getByText(/^Prompt \(\d messages\)$/).click()
    await first.getByRole('region', { name: 'Message 2 of step 1, user' }).getByText('Monday returned').waitFor()
    await first.getByText('Tools: book, look, cancel').waitFor()
    await first.getByText('Text', { exact: true }).click()
    assert.equal(await first.getByRole('region', { name: 'Text of step 1' }).textContent(), hostile)
    const tool = attempt.getByRole('listitem', { name: 'Tool call look, step 1' })
    await tool.getByText('Error', { exact: true }).waitFor()
    await tool.getByText('Arguments and result').click()
    assert.equal(await tool.getByRole('region', { name: 'Arguments of look' }).textContent(), JSON.stringify({ day: hostile }))
    assert.match((await tool.getByRole('region', { name: 'Error of look' }).textContent())!, /^Status 500/)
    assert.equal(await attempt.locator('img, script, a, svg').count(), 0, 'a text was rendered as HTML')
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
  const attempt = page.getByRole('region', { name: 'Turn', exact: true }).getByRole('region', { name: 'Run 1, attempt 1' })
  await attempt.getByText('Released', { exact: true }).waitFor()
  const failed = attempt.getByRole('listitem', { name: 'Model call, step 1' })
  await failed.getByText(/no such model \u202e<img src=x/).waitFor()
  assert.equal(await attempt.locator('img, script, a, svg').count(), 0, 'a text was rendered as HTML')
})
