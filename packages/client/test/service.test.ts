/** The client with the service itself: what they guarantee together. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestApp } from '../../../test/support/test-app.ts'
import type { TestApp } from '../../../test/support/test-app.ts'
import { AuthenticationError, InsufficientBalanceError, NotFoundError, RateLimitError, Turnkeep, ValidationError } from '../src/client.ts'

const clientOf = (app: TestApp, caller = app.caller, options = {}): Turnkeep =>
  new Turnkeep({ baseURL: app.url, agentId: caller.agentId, apiKey: caller.apiKey, ...options })

test('service: a message sent twice with one key is answered and charged once, as a stream too', async () => {
  await using app = await startTestApp()
  const client = clientOf(app)
  const message = { externalUserId: 'ann', message: 'Hello' }
  const first = await client.chat(message, { idempotencyKey: 'ключ 1' })
  assert.equal(first.message.content, 'You said: Hello')
  assert.deepEqual(await client.chat(message, { idempotencyKey: 'ключ 1' }), first)
  const again = client.stream(message, { idempotencyKey: 'ключ 1' })
  assert.deepEqual(await again.completed, first)
  app.model.script(['You ', 'said ', 'more'])
  const stream = client.stream({ ...message, message: 'More' })
  let text = ''
  for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta
  assert.deepEqual([text, await stream.text()], ['You said more', 'You said more'])
  assert.equal(app.model.calls.length, 2)
  assert.equal(client.rateLimit?.limit, 100_000)
})

test('service: conversations and messages are listed newest first, page by page', async () => {
  await using app = await startTestApp()
  const client = clientOf(app)
  for (const externalUserId of ['ann', 'bob', 'eve']) await client.chat({ externalUserId, message: `I am ${externalUserId}` })
  const last = await client.chat({ externalUserId: 'ann', message: 'Again' })
  const users: string[] = []
  for await (const conversation of client.conversations.list({ limit: 1 })) users.push(conversation.externalUserId)
  assert.deepEqual(users.toSorted(), ['ann', 'bob', 'eve'])
  const [ann] = await Array.fromAsync(client.conversations.list({ externalUserId: 'ann' }))
  assert.deepEqual([ann?.conversationId, ann?.messageCount], [last.conversationId, 4])
  const messages = await Array.fromAsync(client.conversations.messages(last.conversationId, { limit: 3 }))
  assert.deepEqual(
    messages.map(({ role, content }) => `${role}: ${content}`),
    ['assistant: You said: Again', 'user: Again', 'assistant: You said: I am ann', 'user: I am ann'],
  )
  assert.equal(messages[0]?.requestId, last.requestId)
  await assert.rejects(Array.fromAsync(client.conversations.messages('conv_none')), NotFoundError)
  await assert.rejects(Array.fromAsync(client.conversations.list({ limit: 0 })), ValidationError)
})

test('service: refusals are thrown as the class of their status', async () => {
  await using app = await startTestApp()
  const message = { externalUserId: 'ann', message: 'Hello' }
  await assert.rejects(clientOf(app, { ...app.caller, apiKey: 'svc_live_wrong' }).chat(message), AuthenticationError)
  await assert.rejects(clientOf(app).chat({ ...message, message: '' }), (error) => {
    assert.ok(error instanceof ValidationError)
    assert.deepEqual([error.code, error.status], ['validation_error', 422])
    assert.match(error.message, /message must not be empty/)
    assert.ok(error.requestId && error.idempotencyKey)
    return true
  })
  const poor = await app.makeCaller({ balanceUsd: '0.00000001' })
  await assert.rejects(clientOf(app, poor).stream(message).text(), InsufficientBalanceError)
  const limited = clientOf(app, await app.makeCaller({ key: { rate_limit: { limit: 1, window_seconds: 60 } } }), { maxWait: 100 })
  await limited.chat(message)
  await assert.rejects(limited.chat(message), (error) => error instanceof RateLimitError && (error.retryAfter ?? 0) > 1)
  assert.equal(limited.rateLimit?.remaining, 0)
})
