/**
 * POST /chat (docs/spec.md, "Sending a message"): one message, one reply, the agent's prompt and history. Over real HTTP, on the real
 * store.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startTestApp } from '../support/test-app.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

void test('chat: a message gets a reply with its id, conversation, message and usage, and is charged', async () => {
  await using app = await startTestApp()
  const { status, json, headers } = await app.chat('hello')
  assert.equal(status, 200)
  assert.match(json.request_id, uuid)
  assert.equal(headers.get('x-request-id'), json.request_id)
  assert.match(json.conversation_id, /^conv_[0-9a-z]{26}$/)
  assert.match(json.message.id, /^msg_[0-9a-z]{26}$/)
  assert.deepEqual(Object.keys(json), ['request_id', 'conversation_id', 'message', 'usage'])
  assert.deepEqual(Object.keys(json.message), ['id', 'role', 'content', 'created_at'])
  assert.deepEqual([json.message.role, json.message.content], ['assistant', 'You said: hello'])
  assert.match(json.message.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'time.format')
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total, charged_usd: charged } = json.usage
  assert.equal(total, prompt + completion)
  assert.equal(charged, ((prompt * 15 + completion * 60) / 1e8).toFixed(8))
  const owner = await app.owner()
  assert.equal(owner.balance_usd, (10 - Number(charged)).toFixed(8))
  assert.equal(owner.held_usd, '0.00000000')
  await app.verify()
})

void test('chat: the model receives the system prompt and the conversation history exactly as stored', async () => {
  await using app = await startTestApp({ agent: { system_prompt: 'Be brief.' } })
  await app.chat('one')
  await app.stream('two')
  await app.chat('three')
  assert.deepEqual(app.model.calls[2]!.messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'You said: one' },
    { role: 'user', content: 'two' },
    { role: 'assistant', content: 'You said: two' },
    { role: 'user', content: 'three' },
  ])
  const stored = await app.messages()
  assert.deepEqual(
    stored.map(({ role, content }) => [role, content]),
    [
      ['user', 'one'],
      ['assistant', 'You said: one'],
      ['user', 'two'],
      ['assistant', 'You said: two'],
      ['user', 'three'],
      ['assistant', 'You said: three'],
    ],
  )
})

void test('conversation.identity: the same user through another API key has another conversation', async () => {
  await using app = await startTestApp()
  const other = await app.makeCaller()
  const first = await app.chat('mine')
  const second = await app.chat('yours', { caller: other })
  assert.notEqual(first.json.conversation_id, second.json.conversation_id)
  assert.equal(app.model.calls[1]!.messages.length, 2, 'no history of the other key')
})

void test('order.validation: a message may have as many code points as the agent currently allows; a stored reply is still replayed', async () => {
  await using app = await startTestApp({ agent: { max_message_length: 5 } })
  const idempotencyKey = randomUUID()
  const answered = await app.chat('😀😀😀😀a', { idempotencyKey })
  assert.equal(answered.status, 200)
  await app.made('PATCH', `/agents/${app.caller.agentId}`, { max_message_length: 3 })
  const calls = app.model.calls.length
  const before = await app.owner()
  assert.deepEqual((await app.chat('😀😀😀😀a', { idempotencyKey })).json, answered.json)
  for (const [message, key] of [
    ['😀😀😀a', randomUUID()],
    ['another', idempotencyKey],
  ] as const) {
    const { status, json } = await app.chat(message, { idempotencyKey: key })
    assert.deepEqual([status, json.error.code], [422, 'validation_error'])
    assert.equal(json.error.message, 'message must have at most 3 characters.')
    const streamed = await app.stream(message, { idempotencyKey: key })
    assert.deepEqual([streamed.status, streamed.json.error.message], [422, json.error.message])
  }
  assert.deepEqual(await app.owner(), before, 'nothing is held or charged')
  assert.equal(app.model.calls.length, calls)
  assert.equal((await app.chat('😀😀😀')).status, 200)
  await app.verify()
})
