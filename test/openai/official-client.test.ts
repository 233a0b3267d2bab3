/** The official `openai` client, unmodified, with its own retries: chat completions, responses, background, cancel, continued streams. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import OpenAI from 'openai'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'
import { openAiClient } from '../support/openai-caller.ts'

const chargesOf = async (app: TestApp): Promise<number> => (await app.ledger()).filter(({ kind }) => kind === 'charge').length

void test('openai.clients: the official client lists the model, completes and streams', async () => {
  await using app = await startTestApp()
  app.model.when('weather', ['It ', 'rains.'])
  const client = openAiClient(app)
  const [byId, bySlug] = (await client.models.list()).data
  assert.deepEqual([byId!.id, bySlug!.id], [app.caller.agentId, 'test-agent'])
  assert.equal((await client.models.retrieve('test-agent')).object, 'model')
  const messages = [{ role: 'user', content: 'weather' }] as const
  const { data: completion, request_id: requestId } = await client.chat.completions
    .create({ model: 'test-agent', user: 'u', messages: [...messages] })
    .withResponse()
  assert.deepEqual([completion.choices[0]!.message.content, completion.choices[0]!.finish_reason], ['It rains.', 'stop'])
  assert.equal(requestId!.replaceAll('-', ''), completion.id.slice('chatcmpl-'.length))
  const stream = client.chat.completions.stream({
    model: 'test-agent',
    user: 'u',
    messages: [...messages],
    stream_options: { include_usage: true },
  })
  const deltas: string[] = []
  stream.on('content', (delta) => deltas.push(delta))
  const whole = await stream.finalChatCompletion()
  assert.deepEqual([deltas, whole.choices[0]!.message.content, whole.usage!.total_tokens > 0], [['It ', 'rains.'], 'It rains.', true])
  await app.verify()
})

void test('openai.clients: the official client creates, streams, follows and retrieves responses', async () => {
  await using app = await startTestApp()
  app.model.when('weather', ['It ', 'rains ', 'in Oslo.'])
  const client = openAiClient(app)
  const request = { model: 'test-agent', user: 'u', input: 'weather' }
  const response = await client.responses.create(request)
  assert.deepEqual([response.output_text, response.status], ['It rains in Oslo.', 'completed'])
  const next = await client.responses.create({ ...request, previous_response_id: response.id, conversation: null })
  assert.equal(next.conversation!.id, response.conversation!.id)
  const stream = client.responses.stream(request)
  let text = ''
  stream.on('response.output_text.delta', ({ delta, snapshot }) => {
    text += delta
    assert.equal(snapshot, text)
  })
  const streamed = await stream.finalResponse()
  assert.deepEqual([text, streamed.output_text], ['It rains in Oslo.', 'It rains in Oslo.'])
  // This replays the whole stream and leaves out the first events itself, so they must have the same numbers again.
  const resumed = client.responses.stream({ response_id: streamed.id, starting_after: 5 })
  const rest: string[] = []
  resumed.on('response.output_text.delta', ({ delta }) => rest.push(delta))
  assert.equal((await resumed.finalResponse()).output_text, 'It rains in Oslo.')
  assert.deepEqual(rest, [' in', ' Oslo', '.'])
  const events = []
  for await (const event of await client.responses.retrieve(streamed.id, { stream: true, starting_after: 5 })) events.push(event)
  assert.equal(events[0]!.sequence_number, 6)
  assert.equal((await client.responses.retrieve(streamed.id)).output_text, 'It rains in Oslo.')
  const [item] = (await client.responses.inputItems.list(streamed.id)).data
  assert.deepEqual(item?.type === 'message' && item.content[0], { type: 'input_text', text: 'weather' })
})

void test('openai.clients: the official client polls and cancels a response in the background', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.when('slow', ['It ', held, 'rains.'])
  const client = openAiClient(app)
  const request = { model: 'test-agent', user: 'u', input: 'slow', background: true }
  const started = await client.responses.create(request)
  assert.equal(started.status, 'in_progress')
  await held.reached
  const cancelled = await client.responses.cancel(started.id)
  assert.deepEqual([cancelled.status, (await client.responses.retrieve(started.id)).output_text], ['incomplete', 'It '])
  held.open()
  const second = await client.responses.create(request)
  let polled = second
  while (polled.status === 'in_progress') polled = await client.responses.retrieve(second.id)
  assert.deepEqual([polled.status, polled.output_text], ['completed', 'It rains.'])
})

void test('openai.clients: errors of the official client have their class, code and parameter', async () => {
  await using app = await startTestApp()
  const client = openAiClient(app, { maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'hello' }]
  const thrown = (promise: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> =>
    promise.then(
      () => assert.fail('no error'),
      (error: unknown) => (error instanceof OpenAI.APIError ? error : assert.fail(String(error))),
    )
  const noModel = await thrown(client.chat.completions.create({ model: 'gpt-4o', user: 'u', messages }))
  assert.deepEqual([noModel instanceof OpenAI.NotFoundError, noModel.code, noModel.param], [true, 'model_not_found', 'model'])
  const tools = await thrown(client.responses.create({ model: 'test-agent', user: 'u', input: 'hello', instructions: 'Be brief.' }))
  assert.deepEqual([tools instanceof OpenAI.BadRequestError, tools.code, tools.param], [true, 'unsupported_parameter', 'instructions'])
  const noKey = await thrown(openAiClient(app, { apiKey: 'svc_live_no' }).models.list())
  assert.ok(noKey instanceof OpenAI.AuthenticationError)
  app.model.script({ status: 400, body: { error: { message: 'no' } } })
  const stream = await client.chat.completions.create({ model: 'test-agent', user: 'u', messages, stream: true })
  const failed = await thrown(
    (async () => {
      for await (const _ of stream);
    })(),
  )
  assert.equal(failed.code, 'internal_error')
})

void test('openai.should-retry: the official client waits for a busy conversation, and does not repeat a conflict', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.when('slow', [held, 'done'])
  const client = openAiClient(app)
  const ask = (content: string, idempotencyKey: string): Promise<OpenAI.ChatCompletion> =>
    client.chat.completions.create(
      { model: 'test-agent', user: 'u', messages: [{ role: 'user', content }] },
      { headers: { 'Idempotency-Key': idempotencyKey } },
    )
  const key = randomUUID()
  const first = ask('slow', key)
  await held.reached
  const waiting = ask('next', randomUUID())
  const sameKey = ask('slow', key)
  const { calls } = app.model
  await assert.rejects(ask('other', key), { code: 'idempotency_conflict' })
  held.open()
  assert.deepEqual([(await first).id, (await waiting).choices[0]!.finish_reason], [(await sameKey).id, 'stop'])
  assert.deepEqual([calls.length, await chargesOf(app)], [2, 2])
})
