/** Surfaces, Admin API: conversations, messages and turns as the operator reads them. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { allPages, refused, startAdminApp } from '../support/admin-app.ts'
import { gate } from '../support/model-server.ts'

const app = await startAdminApp()

void test('conversations: all keys are listed, and every filter narrows', async () => {
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
  })
})

void test('conversations: messages come newest first with their turn and its cost', async () => {
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
  assert.deepEqual(reply.turn, { state: 'completed', agent_version: 1, usage: { ...json.usage, estimated: false } })
  await refused(app.admin('GET', '/conversations/conv_x/messages'), 404, 'not_found')
})

void test('turns: one shows state, run, attempts, steps, cost and the cause of its failure', async () => {
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
  assert.deepEqual(turn.usage, { ...json.usage, estimated: false })

  app.model.script({ status: 400, body: 'the model does not exist' })
  const failed = await app.chat('hi', { user: 'turns' })
  assert.equal(failed.status, 500)
  assert.ok(!failed.text.includes('does not exist'))
  const released = await app.made('GET', `/turns/${failed.json.error.request_id}`)
  assert.deepEqual([released.state, released.failure.code, released.usage], ['released', 'internal_error', null])
  assert.match(released.failure.cause, /does not exist/)
})

void test('turns: the list narrows by status and agent, newest first', async () => {
  const other = await app.makeCaller()
  const first = await app.chat('1', { caller: other, user: 'a' })
  const second = await app.chat('2', { caller: other, user: 'b' })
  const found = await allPages(app, `/turns?agent_id=${other.agentId}&status=completed`, 1)
  assert.deepEqual(
    found.map(({ request_id }) => request_id),
    [second.json.request_id, first.json.request_id],
  )
  assert.deepEqual(await allPages(app, `/turns?agent_id=${other.agentId}&status=failed`, 1), [])
  await refused(app.admin('GET', '/turns?status=done'), 422, 'validation_error', /status/)
  await refused(app.admin('GET', `/turns/${randomUUID()}`), 404, 'not_found')
})
