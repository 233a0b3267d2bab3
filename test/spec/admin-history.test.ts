/** Admin API: conversations, messages and turns as the operator reads them. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { allPages, refused, startAdminApp } from '../support/admin-app.ts'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

const app = await startAdminApp()

void test('conversations: the list covers all keys, and every filter narrows it', async () => {
  const other = await app.makeCaller()
  await app.chat('hi', { user: 'ada' })
  await app.chat('hi', { user: 'bob' })
  await app.chat('hi', { user: 'ada', caller: other })
  const users = async (query: string) =>
    (await allPages(app, `/conversations${query}`, 2)).map((conversation) => conversation.external_user_id)
  assert.deepEqual((await users('')).toSorted(), ['ada', 'ada', 'bob'])
  assert.deepEqual(await users(`?agent_id=${app.caller.agentId}`), ['bob', 'ada'])
  assert.deepEqual(await users('?external_user_id=bob'), ['bob'])
  assert.deepEqual(await users(`?agent_id=${other.agentId}&external_user_id=bob`), [])
  const [key] = (await app.made('GET', `/agents/${other.agentId}/keys`)).data
  assert.deepEqual(await users(`?key_id=${key.id}`), ['ada'])
  assert.deepEqual(await users(`?key_id=${key.key_id}`), ['ada'])
  assert.deepEqual(await users('?key_id=key_x'), [])
  await refused(app.admin('GET', '/conversations?user=ada'), 422, 'validation_error', /user/)

  const [shown] = (await app.made('GET', `/conversations?key_id=${key.id}`)).data
  assert.deepEqual(shown, {
    id: shown.id,
    agent_id: other.agentId,
    key_id: key.id,
    external_user_id: 'ada',
    created_at: shown.created_at,
    last_message_at: shown.last_message_at,
    message_count: 2,
    turn: null,
  })
})

void test('conversations: from (inclusive) and to (exclusive) filter by creation time, across all pages', async () => {
  await using own = await startTestApp()
  for (const user of ['a', 'b', 'c', 'd']) {
    await own.chat('hi', { user })
    await own.moveClock(60_000)
  }
  await own.chat('once more', { user: 'a' })
  const [d, c, b, a] = (await own.made('GET', '/conversations')).data as [Json, Json, Json, Json]
  const users = async (query: string) =>
    (await allPages(own, `/conversations?${query}`, 1)).map((conversation) => conversation.external_user_id)
  assert.deepEqual(await users(`from=${b.created_at}`), ['d', 'c', 'b'])
  assert.deepEqual(await users(`to=${d.created_at}`), ['c', 'b', 'a'])
  assert.deepEqual(await users(`from=${b.created_at}&to=${d.created_at}`), ['c', 'b'])
  assert.deepEqual(await users(`from=${b.created_at}&external_user_id=a`), [], 'a began before, whatever it said since')
  assert.deepEqual(await users(`from=${a.created_at}&to=${b.created_at}&agent_id=${own.caller.agentId}`), ['a'])
  const zoned = new Date(Date.parse(c.created_at) + 2 * 3_600_000).toISOString().replace('Z', '+02:00')
  assert.deepEqual(await users(`from=${encodeURIComponent(zoned)}`), ['d', 'c'])
  assert.deepEqual(await users('to=2020-01-01'), [])
  for (const query of ['from=yesterday', 'from=2026-11-21T12:00:00', 'from='])
    await refused(own.admin('GET', `/conversations?${query}`), 422, 'validation_error', /^from /)
  await refused(own.admin('GET', '/conversations?to=1'), 422, 'validation_error', /^to /)
  for (const to of ['2026-11-21', '2026-11-20'])
    await refused(own.admin('GET', `/conversations?from=2026-11-21&to=${to}`), 422, 'validation_error', /^from must be before to/)
})

void test('conversations: messages are newest first, each with its turn and cost', async () => {
  app.model.script('Good day.')
  const { json } = await app.chat('Hello', { user: 'messages' })
  await app.chat('More', { user: 'messages' })
  const messages = await allPages(app, `/conversations/${json.conversation_id}/messages`, 3)
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['assistant', 'user', 'assistant', 'user'],
  )
  const reply = messages[2]!
  assert.deepEqual([reply.id, reply.content, reply.request_id], [json.message.id, 'Good day.', json.request_id])
  assert.deepEqual(reply.turn, {
    status: 'completed',
    state: 'completed',
    agent_version: 1,
    incomplete: false,
    finish_reason: 'stop',
    rating: null,
    usage: { ...json.usage, estimated: false },
  })
  await refused(app.admin('GET', '/conversations/conv_x/messages'), 404, 'not_found')
})

void test('conversations: a reply shows its tool calls, and its turn shows the steps; a user message shows neither', async () => {
  const caller = await app.makeCaller({ agent: { tools: [{ type: 'builtin', name: 'now' }] } })
  const calls = [
    { toolCall: { id: 'c1', name: 'now', arguments: '{"time_zone":"Europe/Berlin"}' } },
    { toolCall: { id: 'c2', name: 'nothing_such', arguments: 'no JSON' } },
  ]
  app.model.script(['Let me see. ', ...calls], [{ toolCall: { id: 'c3', name: 'now', arguments: '{}' } }], 'It is late.')
  const { json } = await app.chat('What time is it?', { caller })
  assert.deepEqual(json.message.content, 'Let me see. \n\nIt is late.')

  const [reply, message] = (await app.made('GET', `/conversations/${json.conversation_id}/messages`)).data
  assert.deepEqual([message.tool_calls, message.citations, reply.citations], [[], [], []])
  const [berlin, unknown, utc] = reply.tool_calls
  assert.deepEqual([berlin.name, berlin.step, berlin.arguments, berlin.is_error], ['now', 1, '{"time_zone":"Europe/Berlin"}', false])
  assert.match(berlin.result, /Europe\/Berlin/)
  assert.ok(Number.isInteger(berlin.ms))
  assert.deepEqual([unknown.name, unknown.step, unknown.arguments, unknown.is_error], ['nothing_such', 1, 'no JSON', true])
  assert.match(unknown.result, /no tool named/)
  assert.deepEqual([utc.name, utc.step, reply.tool_calls.length], ['now', 2, 3])

  const { steps } = await app.made('GET', `/turns/${json.request_id}`)
  assert.deepEqual(
    steps.map(({ run, step, part, kind }: Json) => [run, step, part, kind]),
    [
      [1, 1, 0, 'model'],
      [1, 1, 1, 'tool_finished'],
      [1, 1, 2, 'tool_finished'],
      [1, 2, 0, 'model'],
      [1, 2, 1, 'tool_finished'],
    ],
  )
  assert.deepEqual(steps[0].payload.tool_calls, [
    { name: 'now', arguments: '{"time_zone":"Europe/Berlin"}' },
    { name: 'nothing_such', arguments: 'no JSON' },
  ])
  assert.equal(steps[0].payload.text, 'Let me see. ')
  assert.ok(steps[0].payload.usage.prompt_tokens > 0)
  assert.deepEqual(steps[1].payload, berlin)
})

void test('conversations: a long tool result is truncated in the list and complete in the turn', async () => {
  const server = createServer((_request, response) => response.end(`😀${'x'.repeat(5000)}`))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await using own = await startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: `127.0.0.1:${port}` } })
  try {
    const tool = { type: 'http', name: 'read', description: 'Reads.', parameters: { type: 'object' }, method: 'GET' }
    await own.made('PATCH', `/agents/${own.caller.agentId}`, { tools: [{ ...tool, url: `http://127.0.0.1:${port}/`, side_effects: true }] })
    own.model.script([{ toolCall: { id: 'c1', name: 'read', arguments: '{}' } }], 'Long.')
    const { json } = await own.chat('Read it')
    const [reply] = (await own.made('GET', `/conversations/${json.conversation_id}/messages`)).data
    const { result } = reply.tool_calls[0]
    assert.equal([...result].length, 2001)
    assert.match(result, /😀x+…$/u)
    const { steps } = await own.made('GET', `/turns/${json.request_id}`)
    assert.deepEqual(
      steps.map(({ kind }: Json) => kind),
      ['model', 'tool_started', 'tool_finished'],
    )
    assert.deepEqual([steps[1].payload.name, steps[1].payload.result, steps[1].payload.ms], ['read', null, null])
    assert.ok(steps[2].payload.result.includes('x'.repeat(5000)))
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

void test('turns: a turn shows its state, run, attempts, steps, cost and the cause of its failure', async () => {
  const held = gate()
  app.model.script([held, 'x'])
  const asked = app.chat('hi', { user: 'turns' })
  await held.reached
  const running = (await app.made('GET', '/turns?status=running')).data[0]
  assert.deepEqual([running.state, running.run, running.attempts, running.usage, running.ended_at], ['running', 1, 1, null, null])
  assert.notEqual(running.held_usd, '0.00000000')
  held.open()
  const { json } = await asked
  const turn = await app.made('GET', `/turns/${json.request_id}`)
  assert.equal(turn.request_id, running.request_id)
  assert.deepEqual([turn.state, turn.held_usd, turn.failure, turn.steps], ['completed', '0.00000000', null, []])
  const details = {
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
    tool_calls_usd: '0.00000000',
  }
  assert.deepEqual(turn.usage, { ...json.usage, ...details, estimated: false })

  app.model.script({ status: 400, body: 'the model does not exist' })
  const failed = await app.chat('hi', { user: 'turns' })
  assert.equal(failed.status, 500)
  assert.ok(!failed.text.includes('does not exist'))
  const released = await app.made('GET', `/turns/${failed.json.error.request_id}`)
  assert.deepEqual([released.state, released.failure.code, released.usage], ['released', 'internal_error', null])
  assert.match(released.failure.cause, /does not exist/)
})

void test('turns: the list filters by status and agent, newest first', async () => {
  const other = await app.makeCaller()
  const first = await app.chat('1', { caller: other, user: 'a' })
  const second = await app.chat('2', { caller: other, user: 'b' })
  const found = await allPages(app, `/turns?agent_id=${other.agentId}&status=completed`, 1)
  assert.deepEqual(
    found.map(({ request_id }) => request_id),
    [second.json.request_id, first.json.request_id],
  )
  assert.deepEqual(await allPages(app, `/turns?agent_id=${other.agentId}&status=failed`, 1), [])
  const own = `conversation_id=${first.json.conversation_id}`
  const ofConversation = async (query: string): Promise<string[]> =>
    (await allPages(app, `/turns?${query}`, 1)).map((turn) => turn.request_id)
  assert.deepEqual(await ofConversation(own), [first.json.request_id])
  assert.deepEqual(await ofConversation(`${own}&status=completed&agent_id=${other.agentId}`), [first.json.request_id])
  assert.deepEqual(await ofConversation(`${own}&status=failed`), [])
  assert.deepEqual(await ofConversation('conversation_id=conv_unknown'), [])
  assert.deepEqual(
    found.map(({ external_user_id: user }) => user),
    ['b', 'a'],
  )
  const ofUser = `agent_id=${other.agentId}&external_user_id=a`
  const next = await app.chat('3', { caller: other, user: 'a' })
  // The end user has a conversation for each key.
  const { api_key: apiKey } = await app.made('POST', `/agents/${other.agentId}/keys`, { permission: 'full' })
  const ofOtherKey = await app.chat('4', { caller: { ...other, apiKey }, user: 'a' })
  assert.deepEqual(await ofConversation(ofUser), [ofOtherKey.json.request_id, next.json.request_id, first.json.request_id])
  assert.deepEqual(await ofConversation(`${ofUser}&${own}&status=completed`), [next.json.request_id, first.json.request_id])
  assert.deepEqual(await ofConversation(`${ofUser}&status=failed`), [])
  assert.deepEqual(await ofConversation(`agent_id=${app.caller.agentId}&external_user_id=b`), [])
  await refused(app.admin('GET', '/turns?external_user_id=a'), 422, 'validation_error', /external_user_id needs agent_id/)
  await refused(app.admin('GET', '/turns?status=done'), 422, 'validation_error', /status/)
  await refused(app.admin('GET', `/turns/${randomUUID()}`), 404, 'not_found')
})

void test('conversations: one is read by its id, and an unknown id is 404', async () => {
  const { json } = await app.chat('hi', { user: 'one alone' })
  const found = await app.made('GET', `/conversations/${json.conversation_id}`)
  assert.deepEqual({ ...found, turn: null }, (await app.made('GET', '/conversations?external_user_id=one%20alone')).data[0])
  assert.deepEqual([found.external_user_id, found.message_count], ['one alone', 2])
  await refused(app.admin('GET', '/conversations/conv_unknown'), 404, 'not_found')
})
