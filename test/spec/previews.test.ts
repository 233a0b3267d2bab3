/** Previews: the operator runs a message with a version or a draft of an agent, and nothing of the installation changes. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { TestContext } from 'node:test'
import { HeldLookUps } from '../support/held-look-ups.ts'
import { gate } from '../support/model-server.ts'
import { adminToken, parseEvents, startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp, TestAppOptions } from '../support/test-app.ts'
import { call, threeTools } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolServer } from '../support/tool-server.ts'
import { until } from '../support/until.ts'

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

const preview = (app: TestApp, body: Json): Promise<Answer> => app.admin('POST', `/agents/${app.caller.agentId}/preview`, body)
const play = (app: TestApp, message: string, user?: string): Promise<Answer> =>
  app.admin('POST', `/agents/${app.caller.agentId}/playground`, { message, ...(user && { external_user_id: user }) })
const prompts = (app: TestApp): (string | null)[] => app.model.calls.at(-1)!.messages.map(({ content }) => content)

// All but the audit log and the last use of keys.
const tables = ['turns', 'messages', 'journal', 'traces', 'turn_errors', 'ledger', 'conversations', 'owners', 'agent_versions', 'spending']
async function stored(app: TestApp): Promise<unknown> {
  const rows = await Promise.all(tables.map((table) => app.query(`select * from ${table}`)))
  return rows.map((table) =>
    table.map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value))).toSorted(),
  )
}

void test('rerun.harmless: a preview has the history of the playground, makes no call with side effects, and stores and charges nothing', async (t) => {
  const { app, tools } = await start(t)
  await play(app, 'first')
  await play(app, 'of another', 'ann')
  await app.chat('of a caller', { user: 'playground' })
  const before = await stored(app)
  app.model.script(
    [call('look', { day: 'Monday' }, 'a'), call('book', { day: 'Monday' }, 'b')],
    ['It is free.', { usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 } }],
  )
  const { status, json } = await preview(app, { message: 'book Monday' })
  assert.equal(status, 200, JSON.stringify(json))
  assert.deepEqual([json['text'], json['failure'], json['version']], ['It is free.', null, 1])
  assert.deepEqual(tools.callsOf('/book'), [])
  assert.equal(tools.callsOf('/look').length, 1)
  const [first, second] = app.model.calls.slice(-2)
  assert.deepEqual(
    first!.messages.map(({ content }) => content),
    ['You are a test.', 'first', 'You said: first', 'book Monday'],
  )
  assert.match(String(second!.messages.at(-1)!.content), /not made: this is a test run.*Nothing was changed/)
  const types = json['spans'].map(({ type }: Json) => type)
  // Also the call that was not made is where it was asked for.
  assert.deepEqual(types, ['attempt', 'retrieval', 'model_call', 'tool_call', 'tool_call', 'model_call'])
  const { prompt_tokens: prompt, completion_tokens: completion } = json['usage']
  assert.ok(prompt > 1000, 'both steps')
  assert.equal(json['cost_usd'], (Math.ceil(prompt * 15 + completion * 60) / 1e8).toFixed(8))

  assert.equal((await preview(app, { message: 'and mine?', external_user_id: 'ann' })).status, 200)
  assert.deepEqual(prompts(app), ['You are a test.', 'of another', 'You said: of another', 'and mine?'])
  assert.equal((await preview(app, { message: 'new here', external_user_id: 'ben' })).status, 200)
  assert.deepEqual(prompts(app), ['You are a test.', 'new here'])
  assert.deepEqual(await stored(app), before)
  await app.verify()
})

void test('rerun.harmless: a preview runs the chosen version with its price, and the overrides apply to it only', async () => {
  await using app = await startTestApp()
  const path = `/agents/${app.caller.agentId}`
  const price = { prompt_usd_per_million: '1', completion_usd_per_million: '2' }
  await app.made('PATCH', path, { system_prompt: 'The second one.', price })
  const usage = { usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 } }
  app.model.script(['a', usage], ['b', usage], ['c', usage])
  const present = await preview(app, { message: 'hello' })
  assert.deepEqual([prompts(app)[0], present.json['version'], present.json['cost_usd']], ['The second one.', 2, '0.00003000'])
  const old = await preview(app, { message: 'hello', version: 1 })
  assert.deepEqual([prompts(app)[0], old.json['version'], old.json['cost_usd']], ['You are a test.', 1, '0.00000750'])

  const overrides = { system_prompt: 'A draft.', temperature: 0.5, max_output_tokens: 7, model: 'scripted/other' }
  const drafted = await preview(app, { message: 'hello', version: 1, overrides })
  const { body } = app.model.calls.at(-1)!
  assert.deepEqual([prompts(app)[0], body['model'], body['temperature'], body['max_tokens']], ['A draft.', 'other', 0.5, 7])
  const asked = drafted.json['spans'].find(({ type }: Json) => type === 'model_call')
  assert.deepEqual([asked.model, asked.messages[0].content], ['other', 'A draft.'])
  await play(app, 'once more')
  assert.equal(prompts(app)[0], 'The second one.')
  assert.equal((await app.made('GET', path))['version'], 2)
})

void test('rerun.harmless: a preview of an unknown agent or version, or with wrong fields, is refused; a failing model is part of the result', async () => {
  await using app = await startTestApp({ agent: { max_message_length: 5 } })
  const calls = app.model.calls.length
  for (const [body, status] of [
    [{}, 422],
    [{ message: '' }, 422],
    [{ message: '123456' }, 422],
    [{ message: 'hi', version: 0 }, 422],
    [{ message: 'hi', overrides: { temperature: 3 } }, 422],
    [{ message: 'hi', overrides: { tools: [] } }, 422],
    [{ message: 'hi', version: 9 }, 422],
    [{ message: 'hi', overrides: { model: 'gone/model' } }, 422],
    [{ message: 'hi', overrides: { model: 'model' } }, 422],
  ] as const)
    assert.equal((await preview(app, body)).status, status, JSON.stringify(body))
  assert.match((await preview(app, { message: '123456' })).json['error'].message, /at most 5 characters/)
  assert.match((await preview(app, { message: 'hi', version: 9 })).json['error'].message, /no version 9/)
  assert.match(
    (await preview(app, { message: 'hi', overrides: { model: 'scriptd/model' } })).json['error'].message,
    /^The provider of the model scriptd\/model does not exist\. Did you mean scripted\?$/,
  )
  assert.deepEqual(
    (await app.made('GET', '/audit')).data.filter((entry: Json) => entry['verb'] === 'try'),
    [],
    'nothing has started',
  )
  assert.equal((await app.admin('POST', '/agents/agt_none/preview', { message: 'hi' })).status, 404)
  assert.equal(app.model.calls.length, calls)
  app.model.script({ status: 401, body: { error: { message: 'no such key' } } })
  const { json } = await preview(app, { message: '👋👋👋👋👋' })
  assert.deepEqual([json['text'], json['failure'].cause_kind], ['', 'provider_401'])
  assert.match(json['failure'].cause, /no such key/)
})

const request = (app: TestApp, body: Json, accept: string, signal?: AbortSignal): Promise<Response> =>
  fetch(`${app.adminUrl}/admin/v1/agents/${app.caller.agentId}/preview`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json', accept },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  })

for (const accept of ['application/json', 'text/event-stream'])
  void test(`rerun.harmless: a preview as ${accept} ends when its caller disconnects`, async () => {
    await using app = await startTestApp()
    const held = gate()
    app.model.script(['some text', held, 'x'])
    const leaving = new AbortController()
    const sent = request(app, { message: 'hello' }, accept, leaving.signal).then((response) => response.text())
    const asked = await app.model.nextCall()
    await held.reached
    leaving.abort()
    await assert.rejects(sent)
    // Below the time after which a silent call of the model is ended anyway.
    const end = await Promise.race([asked.ended, setTimeout(15_000, 'still running', { ref: false })])
    held.open()
    assert.equal(end, 'aborted')
  })

for (const how of ['resetAndDestroy', 'end'] as const)
  void test(`rerun.harmless: a rerun and a preview whose caller leaves before it is authenticated call no model (${how})`, async () => {
    await using app = await startTestApp()
    const { json } = await app.chat('hello')
    const calls = app.model.calls.length
    using lookUps = await HeldLookUps.of(app)
    const head = `Host: x\r\nAuthorization: Bearer ${lookUps.token}\r\n`
    const body = JSON.stringify({ message: 'hi' })
    const type = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`
    const rerun = `POST /admin/v1/turns/${json['request_id']}/rerun HTTP/1.1\r\n${head}\r\n`
    const tried = `POST /admin/v1/agents/${app.caller.agentId}/preview HTTP/1.1\r\n${head}${type}\r\n${body}`
    // The body of a request whose connection was reset is not read, so no preview begins.
    const sent = how === 'end' ? [rerun, tried] : [rerun]
    const port = Number(new URL(app.adminUrl).port)
    const sockets = sent.map(() => connect({ port, host: '127.0.0.1', allowHalfOpen: true }))
    for (const [index, socket] of sockets.entries()) socket.write(sent[index]!)
    const held = await lookUps.waiting(sockets.length)
    const left = Promise.all(held.map(({ request, response }) => (how === 'end' ? once(request.socket, 'end') : once(response, 'close'))))
    for (const socket of sockets) socket[how]()
    await left
    lookUps.release()
    await until('each is answered', () => held.every(({ response }) => response.writableEnded))
    assert.deepEqual(
      [held.map(({ response }) => response.statusCode), app.model.calls.length],
      [sent.map(() => (how === 'end' ? 503 : 400)), calls],
    )
    for (const socket of sockets) socket.destroy()
  })

void test('rerun.harmless: a preview streams its text while it is generated, and ends with what the JSON response has', async (t) => {
  const { app, tools } = await start(t)
  await play(app, 'first')
  const before = await stored(app)
  const held = gate()
  const reply = [call('look', { day: 'Monday' }, 'a'), call('book', { day: 'Monday' }, 'b')]
  app.model.script(['Let me look. ', ...reply], ['It is ', held, 'free.'])
  const response = await request(app, { message: 'book Monday' }, 'text/event-stream')
  assert.match(String(response.headers.get('content-type')), /^text\/event-stream/)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('It is ')) text += (await reader.read()).value!
  assert.ok(!text.includes('preview.completed'))
  held.open()
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value
  const events = parseEvents(text)
  assert.equal(
    events
      .slice(0, -1)
      .map(({ event, data }) => (event === 'response.output_text.delta' ? data['delta'] : event))
      .join(''),
    'Let me look. \n\nIt is free.',
  )
  const { event, data } = events.at(-1)!
  assert.equal(event, 'preview.completed')
  assert.deepEqual(tools.callsOf('/book'), [])
  assert.deepEqual(await stored(app), before)

  app.model.script(['Let me look. ', ...reply], ['It is ', 'free.'])
  const { json } = await preview(app, { message: 'book Monday' })
  assert.deepEqual([Object.keys(data), data['text'], data['usage']], [Object.keys(json), json['text'], json['usage']])
})

void test('rerun.harmless: a streamed preview is refused as JSON before it runs, and a failing model is in its last event', async () => {
  await using app = await startTestApp()
  const refused = await request(app, { message: 'hi', version: 9 }, 'text/event-stream')
  assert.deepEqual([refused.status, ((await refused.json()) as Json)['error'].code], [422, 'validation_error'])
  app.model.script({ status: 401, body: { error: { message: 'no such key' } } })
  const failed = parseEvents(await (await request(app, { message: 'hi' }, 'text/event-stream')).text())
  assert.deepEqual(
    failed.map(({ event, data }) => [event, data['failure'].cause_kind]),
    [['preview.completed', 'provider_401']],
  )
  // The last event of a server that stops.
  const held = gate()
  app.model.script(['some text', held])
  const running = request(app, { message: 'hi' }, 'text/event-stream').then((response) => response.text())
  await held.reached
  await app.close()
  const { event, data } = parseEvents(await running).at(-1)!
  assert.deepEqual([event, data['code']], ['error', 'service_unavailable'])
})

void test('rerun.harmless: a preview before a turn has the history of that turn, whether it runs or has ended', async () => {
  await using app = await startTestApp()
  await play(app, 'first')
  const held = gate()
  app.model.script([held, 'x'])
  const sent = play(app, 'second')
  await held.reached
  const [{ request_id: turn }] = (await app.made('GET', '/turns?status=running'))['data']
  const before = ['You are a test.', 'first', 'You said: first', 'draft']
  app.model.script('while it runs')
  assert.equal((await preview(app, { message: 'draft', before_turn: turn })).json['text'], 'while it runs')
  assert.deepEqual(prompts(app), before)
  held.open()
  await sent
  await play(app, 'third')
  assert.equal((await preview(app, { message: 'draft', before_turn: turn })).status, 200)
  assert.deepEqual(prompts(app), before)

  // A turn that was running when it was read has its reply by the time its history is read.
  const [{ request_id: third, conversation_id: conversationId }] = (await app.made('GET', '/turns'))['data']
  const read = { requestId: third, conversationId, isLastRun: false, endedAt: Number.MAX_SAFE_INTEGER, limit: 100 }
  assert.deepEqual(
    (await app.app.store.read.listHistoryBefore(read)).map(({ content }) => content),
    ['first', 'You said: first', 'second', 'x'],
  )

  const other = await app.makeAgent(app.caller.ownerId)
  const calls = app.model.calls.length
  assert.equal((await preview(app, { message: 'hi', before_turn: 'none' })).status, 404)
  assert.equal((await app.admin('POST', `/agents/${other.id}/preview`, { message: 'hi', before_turn: turn })).status, 404)
  assert.equal((await preview(app, { message: 'hi', before_turn: turn, external_user_id: 'ann' })).status, 422)
  assert.equal(app.model.calls.length, calls)
})

void test('audit.trials: who runs a preview is in the log, and who reads the history in it; without the entry no model is called', async () => {
  await using app = await startTestApp()
  await play(app, 'remember this')
  const { token, id: tokenId } = await app.made('POST', '/tokens', { name: 'CI', role: 'editor' })
  const headers = { authorization: `Bearer ${token}` }
  const answer = await app.admin('POST', `/agents/${app.caller.agentId}/preview`, { message: 'hi' }, headers)
  assert.equal(answer.status, 200, answer.text)
  const [{ id: conversation }] = (await app.made('GET', '/conversations'))['data']
  const { data } = await app.made('GET', `/audit?author_id=${tokenId}`)
  const shown = data.map(({ verb, noun, subject_id: subject }: Json) => [verb, noun, subject])
  assert.deepEqual(shown, [
    ['read', 'conversation', conversation],
    ['try', 'agent', app.caller.agentId],
  ])

  await using broken = await startTestApp({ env: { TURNKEEP_FAILPOINTS: 'write.before-commit=throw if:recordTrial' } })
  const calls = broken.model.calls.length
  assert.equal((await preview(broken, { message: 'hi' })).status, 500)
  assert.equal(broken.model.calls.length, calls)
})
