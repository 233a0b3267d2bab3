/** The passages that support a reply are stored with the message for the operator, and are never part of what a caller reads. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'
import { call } from '../support/tool-process-runs.ts'

const returns =
  '# Returns\n\n## Deadlines\n\nA zeppelin may be returned within thirty days.\n\n## Costs\n\nReturning a zeppelin costs nothing.'
const repairs = '# Repairs\n\nA torn balloon is mended within a week.'

void test('tools.citations: passages of the prompt and of the search tool are stored once per document and section, in order, for the operator alone', async () => {
  await using app = await startTestApp({ agent: { tools: [{ type: 'builtin', name: 'search_knowledge' }] } })
  const { agentId } = app.caller
  await app.app.knowledge.index({ documentId: 'doc_returns', agentId, title: 'Terms', text: returns })
  await app.app.knowledge.index({ documentId: 'doc_repairs', agentId, title: 'Workshop', text: repairs })
  app.model.script(
    [call('search_knowledge', { query: 'zeppelin' }, 'a'), call('search_knowledge', { query: 'torn balloon' }, 'b')],
    'Thirty days.',
  )
  const { json, text } = await app.chat('How long may I return a zeppelin?')
  assert.equal(json.message.content, 'Thirty days.')
  assert.match(app.model.calls[0]!.messages[0]!.content!, /\[Terms › Returns › Deadlines\]\n/)
  assert.doesNotMatch(text, /doc_|Workshop|citation/)
  const listed = (await app.messages()).at(-1)!
  assert.deepEqual(Object.keys(listed).toSorted(), ['content', 'created_at', 'id', 'request_id', 'role'])

  const page = await app.made('GET', `/conversations/${json.conversation_id}/messages`)
  const [reply, question] = page.data as Json[]
  const cited = reply!.citations as Json[]
  const sections = cited.map(({ document_id: id, title, section }) => [id, title, section])
  assert.ok(sections.some(([id, , section]) => id === 'doc_returns' && String(section).includes('Deadlines')))
  assert.deepEqual(sections.at(-1)!.slice(0, 2), ['doc_repairs', 'Workshop'], 'what the tool found comes after what the prompt had')
  assert.equal(new Set(sections.map((one) => one.join())).size, sections.length, 'each once')
  assert.ok(!question!.citations || question!.citations.length === 0)
  await app.verify()
})

void test('tools.citations: a reply that used no passages has no citations', async () => {
  await using app = await startTestApp()
  const { json } = await app.chat('Hello')
  const page = await app.made('GET', `/conversations/${json.conversation_id}/messages`)
  assert.deepEqual(page.data[0].citations ?? [], [])
  await app.verify()
})
