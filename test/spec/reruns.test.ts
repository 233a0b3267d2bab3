/** Reruns: the operator runs the message of a turn again, and nothing of the installation changes. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp, TestAppOptions } from '../support/test-app.ts'
import { call, threeTools } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolServer } from '../support/tool-server.ts'

async function start(t: TestContext, options: TestAppOptions = {}): Promise<{ app: TestApp; tools: ToolServer }> {
  const tools = await startToolServer()
  const env = { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address }
  const app = await startTestApp({ ...options, env, agent: { tools: threeTools(tools), ...options.agent } })
  t.after(async () => {
    await app.close()
    await tools.close()
  })
  return { app, tools }
}

const rerun = (app: TestApp, id: string, overrides?: Json): Promise<Answer> =>
  app.admin('POST', `/turns/${id}/rerun`, overrides && { overrides })

// The last use of a key and the like are written while nothing else happens, so these tables are those of turns and money. That the messages
// were read is in the audit log.
const tables = ['turns', 'messages', 'journal', 'traces', 'turn_errors', 'ledger', 'conversations', 'owners', 'api_keys']
async function stored(app: TestApp): Promise<unknown> {
  const rows = await Promise.all(tables.map((table) => app.query(`select * from ${table}`)))
  const withoutUse = (row: Json): Json => ({ ...row, last_used_at: null })
  return rows.map((table) =>
    table.map((row) => JSON.stringify(withoutUse(row), (_, value) => (typeof value === 'bigint' ? String(value) : value))).toSorted(),
  )
}

void test('rerun.harmless: the same message, history and tools without side effects; a call with side effects is not made; nothing is stored', async (t) => {
  const { app, tools } = await start(t)
  await app.chat('first')
  app.model.script([call('look', { day: 'Monday' }, 'a'), call('book', { day: 'Monday' }, 'b')], 'Booked.')
  const { json } = await app.chat('book Monday')
  await app.chat('later')
  const before = await stored(app)
  const toolCalls = tools.calls.length

  app.model.script(
    [call('look', { day: 'Monday' }, 'a'), call('book', { day: 'Monday' }, 'b')],
    ['It is free.', { usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 } }],
  )
  const { status, json: again } = await rerun(app, json['request_id'])
  assert.equal(status, 200, JSON.stringify(again))
  assert.equal(again['text'], 'It is free.')
  assert.equal(again['failure'], null)
  assert.equal(tools.callsOf('/book').length, 1, 'only the turn itself has booked')
  assert.equal(tools.callsOf('/look').length, 2)
  assert.equal(tools.calls.length, toolCalls + 1)
  assert.ok(!tools.calls.at(-1)!.idempotencyKey.startsWith(json['request_id']), 'a call of its own')

  const [first, second] = app.model.calls.slice(-2)
  assert.deepEqual(
    first!.messages.map(({ content }) => content),
    ['You are a test.', 'first', 'You said: first', 'book Monday'],
  )
  assert.match(String(second!.messages.at(-1)!.content), /not made: this is a test run.*Nothing was changed/)
  assert.deepEqual(
    again['spans'].filter((span: Json) => span['type'] === 'tool_call').map((span: Json) => [span['name'], span['status']]),
    [
      ['look', 'answered'],
      ['book', 'not_made'],
    ],
  )
  const prompt = again['usage'].prompt_tokens
  assert.ok(prompt > 1000, 'both steps')
  const cost = Math.ceil(prompt * 15 + again['usage'].completion_tokens * 60) / 1e8
  assert.equal(again['cost_usd'], cost.toFixed(8))

  assert.deepEqual(await stored(app), before)
  await app.verify()
})

void test('rerun.harmless: another prompt, model, message and parameters apply to the rerun only', async () => {
  await using app = await startTestApp()
  const { json } = await app.chat('hello')
  const overrides = { system_prompt: 'Be brief.', temperature: 0.5, max_output_tokens: 7, message: 'good morning', model: 'scripted/other' }
  const { status, json: again } = await rerun(app, json['request_id'], overrides)
  assert.equal(status, 200, JSON.stringify(again))
  const { body, messages } = app.model.calls.at(-1)!
  assert.deepEqual([body['model'], body['temperature'], body['max_tokens']], ['other', 0.5, 7])
  assert.deepEqual(
    messages.map(({ content }) => content),
    ['Be brief.', 'good morning'],
  )
  const asked = again['spans'].find((span: Json) => span['type'] === 'model_call')
  assert.deepEqual(
    [asked['model'], asked['parameters'], asked['messages'][0].content],
    ['other', { temperature: 0.5, max_output_tokens: 7 }, 'Be brief.'],
  )
  await app.chat('once more')
  assert.equal(app.model.calls.at(-1)!.body['model'], 'test-model')
  assert.equal(app.model.calls.at(-1)!.messages[0]!.content, 'You are a test.')
  for (const wrong of [{ temperature: 3 }, { tools: [] }, { model: 'nothing' }, { max_output_tokens: 0 }])
    assert.equal((await rerun(app, json['request_id'], wrong)).status, 422, JSON.stringify(wrong))
})

void test('rerun.harmless: a failure of the model is part of the result; running, unknown and erased turns are refused', async () => {
  await using app = await startTestApp()
  app.model.script({ status: 401, body: { error: { message: 'no such key' } } })
  const refused = await app.chat('hello')
  const id = refused.json['error'].request_id
  app.model.script({ status: 401, body: { error: { message: 'no such key' } } })
  const { json } = await rerun(app, id)
  assert.deepEqual([json['text'], json['failure'].cause_kind], ['', 'provider_401'])
  assert.match(json['failure'].cause, /no such key/)
  const calls = app.model.calls.length
  const unknown = await rerun(app, id, { model: 'scriptd/model' })
  assert.deepEqual([unknown.status, unknown.json['error']?.code], [422, 'validation_error'])
  assert.equal(unknown.json['error'].message, 'The provider of the model scriptd/model does not exist. Did you mean scripted?')
  assert.equal((await rerun(app, id, { model: 'model' })).status, 422)
  assert.equal(app.model.calls.length, calls)
  assert.equal((await rerun(app, id)).json['text'], 'You said: hello')

  const held = gate()
  app.model.script([held, 'x'])
  const sent = app.chat('slow', { user: 'ann' })
  await held.reached
  const [{ request_id: running }] = (await app.made('GET', '/turns?status=running'))['data']
  assert.equal((await rerun(app, running)).json['error'].code, 'conflict')
  held.open()
  await sent
  assert.equal((await rerun(app, randomUUID())).status, 404)
  await app.made('DELETE', `/agents/${app.caller.agentId}/end-users?external_user_id=ann`)
  assert.equal((await rerun(app, running)).status, 404)
})

void test('rerun.harmless: a rerun has the deadline of a turn, and ends when the server stops', async () => {
  const app = await startTestApp({ turnSettings: { turnMs: 300 } })
  // It may be late itself, and can be run again either way.
  const { json } = await app.chat('hello')
  const [late, stopped] = [gate(), gate()]
  app.model.when('hello', [late, 'x'])
  const timedOut = await rerun(app, json['request_id'] ?? json['error'].request_id)
  assert.deepEqual([timedOut.status, timedOut.json['failure'].cause_kind], [200, 'turn_timeout'])
  late.open()
  await app.close()

  const again = await startTestApp()
  const other = await again.chat('hello')
  again.model.script([stopped, 'x'])
  // Undefined if its connection was closed without an answer.
  const cut = rerun(again, other.json['request_id']).catch(() => undefined)
  await stopped.reached
  const closed = again.close()
  assert.equal((await cut)?.json['error'].code, 'service_unavailable')
  stopped.open()
  await closed
})
