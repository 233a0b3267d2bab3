/** The client with the service itself: what they guarantee together. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestApp } from '../../../test/support/test-app.ts'
import { gate } from '../../../test/support/model-server.ts'
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
  // The window is much longer than any wait of the client.
  const caller = await app.makeCaller({ key: { rate_limit: { limit: 1, window_seconds: 3600 } } })
  const limited = clientOf(app, caller, { maxWait: 60_000 })
  await limited.chat(message)
  await assert.rejects(limited.chat(message), (error) => error instanceof RateLimitError && (error.retryAfter ?? 0) > 1)
  assert.equal(limited.rateLimit?.remaining, 0)
})

test('service: a turn in the background is read, followed, continued after an event, and rated', async () => {
  await using app = await startTestApp()
  const client = clientOf(app)
  const held = gate()
  app.model.script(['One ', held, 'two.'])
  const started = await client.chat({ externalUserId: 'ann', message: 'Count' }, { background: true, idempotencyKey: 'k' })
  assert.equal(started.status, 'running')
  await held.reached
  const { requestId } = started
  assert.equal((await client.turns.get(requestId)).status, 'running')
  assert.equal((await client.turns.find('k')).requestId, requestId)
  const texts: string[] = []
  let id: string | undefined
  for await (const event of client.turns.stream(requestId)) {
    if (event.type !== 'response.output_text.delta') continue
    texts.push(event.delta)
    id ??= event.id
    held.open()
  }
  assert.deepEqual(texts, ['One ', 'two.'])
  assert.equal(await client.turns.stream(requestId).text(), 'One two.')
  const rest = await Array.fromAsync(client.turns.stream(requestId, { after: id }))
  assert.deepEqual(
    rest.map((event) => ('delta' in event ? event.delta : event.type)),
    ['two.', 'response.completed'],
  )
  assert.deepEqual(await Array.fromAsync(client.turns.stream(requestId, { after: rest.at(-1)?.id })), [])
  const turn = await client.turns.get(requestId)
  assert.deepEqual([turn.status, turn.message?.content, turn.externalUserId], ['completed', 'One two.', 'ann'])
  const replay = await client.chat({ externalUserId: 'ann', message: 'Count' }, { background: true, idempotencyKey: 'k' })
  assert.deepEqual([replay.status, replay.requestId], ['completed', requestId])
  const feedback = await client.turns.feedback(requestId, { rating: 'down', comment: 'Too short.', tags: ['short'] })
  assert.deepEqual([feedback.rating, feedback.comment, feedback.tags], ['down', 'Too short.', ['short']])
  assert.equal((await client.turns.feedback(requestId, { rating: 'up' })).comment, null)
  await assert.rejects(client.turns.get('01a1fe73-16c6-7702-915f-b08d4a8d9af0'), NotFoundError)
  await assert.rejects(client.turns.find('unknown'), NotFoundError)
  assert.equal(app.model.calls.length, 1)
})

test('service: a canceled turn has the text so far, and without text it is a ConflictError for all of its callers', async () => {
  await using app = await startTestApp()
  const client = clientOf(app)
  app.model.script(['One ', gate(), 'two.'], [gate(), 'Never.'])
  const stream = client.stream({ externalUserId: 'ann', message: 'Count' })
  let cancelled
  for await (const event of stream) {
    if (event.type === 'response.created') cancelled = event.requestId
    if (event.type === 'response.output_text.delta') await client.turns.cancel(cancelled ?? '')
  }
  const { message } = await stream.completed
  assert.deepEqual([message.content, message.incomplete], ['One ', true])
  const call = app.model.nextCall()
  const chat = client.chat({ externalUserId: 'ann', message: 'Again' }, { idempotencyKey: 'k' })
  const refusal = assert.rejects(chat, { name: 'ConflictError', code: 'turn_cancelled', status: 409 })
  await call
  const { requestId } = await running(app)
  let turn = await client.turns.cancel(requestId)
  // On a busy machine, the response may not have waited long enough for the end.
  while (turn.status === 'running') turn = await client.turns.get(requestId)
  assert.equal(turn.status, 'cancelled')
  await refusal
  await assert.rejects(client.turns.stream(requestId).text(), { name: 'ConflictError', code: 'turn_cancelled' })
  await assert.rejects(client.chat({ externalUserId: 'ann', message: 'Again' }, { idempotencyKey: 'k' }), { code: 'turn_cancelled' })
})

async function running(app: TestApp): Promise<{ requestId: string }> {
  const { data } = await app.made('GET', '/turns?status=running')
  return { requestId: data[0].request_id }
}
