/** `audit.trials`: whoever runs a tool or the agent for real, without changing what is stored, is in the audit log before it starts. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { refused } from '../support/admin-app.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp } from '../support/test-app.ts'
import { threeTools } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'

const trial = { tool: 'book', arguments: { day: 'Monday' } }
let tools: Awaited<ReturnType<typeof startToolServer>>
const startWithTools = (env: Record<string, string> = {}): Promise<TestApp> =>
  startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address, ...env }, agent: { tools: threeTools(tools) } })
before(async () => {
  tools = await startToolServer()
})
after(() => tools.close())

void test('audit.trials: a trial of a tool and a message in the playground are in the log with their author, and an unknown tool is not', async () => {
  await using app = await startWithTools()
  const { token, id: tokenId } = await app.made('POST', '/tokens', { name: 'CI', role: 'editor' })
  const ask = (path: string, body: Json): Promise<Answer> =>
    app.admin('POST', `/agents/${app.caller.agentId}${path}`, body, { authorization: `Bearer ${token}` })
  const tried = await ask('/tools/try', trial)
  assert.equal(tried.status, 200, tried.text)
  await refused(ask('/tools/try', { tool: 'nothing' }), 422, 'validation_error')
  assert.equal((await ask('/playground', { message: 'hi' })).status, 200)
  const { data } = await app.made('GET', `/audit?author_id=${tokenId}`)
  assert.deepEqual(
    data.map(({ verb, noun, subject_id, fields, changes, author_name }: Json) => [verb, noun, subject_id, fields, changes, author_name]),
    [
      ['try', 'agent', app.caller.agentId, [], null, 'CI'],
      ['try', 'agent', app.caller.agentId, ['tools.book'], null, 'CI'],
    ],
  )
  assert.equal(data[1].request_id, tried.headers.get('x-request-id'))
})

void test('audit.trials: if the entry cannot be stored, no tool is called and no message is sent', async () => {
  await using own = await startWithTools({ TURNKEEP_FAILPOINTS: 'write.before-commit=throw if:recordTrial' })
  const calls = tools.callsOf('/book').length
  assert.equal((await own.admin('POST', `/agents/${own.caller.agentId}/tools/try`, trial)).status, 500)
  assert.equal(tools.callsOf('/book').length, calls)
  assert.equal((await own.admin('POST', `/agents/${own.caller.agentId}/playground`, { message: 'hi' })).status, 500)
  assert.deepEqual((await own.made('GET', '/turns')).data, [])
})
