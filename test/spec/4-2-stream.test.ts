/** POST /chat/stream (docs/spec.md, "Streaming"): the same turn as server-sent events. Over real HTTP, on the real store. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { gate } from '../support/model-server.ts'
import { splitEvents, startTestApp } from '../support/test-app.ts'
import type { StreamEvent } from '../support/test-app.ts'

const names = (events: StreamEvent[]): string[] => events.map(({ event }) => event)
const deltas = (events: StreamEvent[]): string =>
  events
    .filter(({ event }) => event === 'response.output_text.delta')
    .map(({ data }) => data.delta)
    .join('')

void test('stream.established: sends created, deltas and completed with stream headers and no rate limit headers', async () => {
  await using app = await startTestApp()
  app.model.script(['Hel', 'lo ', 'there.'])
  const { status, headers, events } = await app.stream('hi')
  assert.equal(status, 200)
  assert.equal(headers.get('content-type'), 'text/event-stream')
  assert.equal(headers.get('cache-control'), 'no-cache, no-transform')
  assert.equal(headers.get('x-accel-buffering'), 'no')
  assert.equal(headers.get('x-ratelimit-limit'), null)
  assert.deepEqual(names(events), ['response.created', ...Array(3).fill('response.output_text.delta'), 'response.completed'])
  const [created, completed] = [events[0]!.data, events.at(-1)!.data]
  assert.deepEqual(created, { request_id: headers.get('x-request-id'), conversation_id: completed.conversation_id })
  assert.equal(deltas(events), completed.message.content)
  assert.equal(completed.message.content, 'Hello there.')
  await app.verify()
})

void test('stream.established: sends the headers and response.created before the model generates anything', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.script([held, 'late'])
  const response = await app.chatRequest({ external_user_id: 'u', message: 'hi' }, { path: 'chat/stream' })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  const { value } = await reader.read()
  assert.match(value!, /^event: response\.created\nid: .+\ndata: /)
  held.open()
  let rest = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) rest += part.value
  assert.equal(splitEvents(rest).at(-1)!.event, 'response.completed')
})

void test('idempotency.replay: a stream sends created, then completed with the stored result and no deltas; /chat replays the same result', async () => {
  await using app = await startTestApp()
  const idempotencyKey = randomUUID()
  const first = await app.stream('hi', { idempotencyKey })
  const again = await app.stream('hi', { idempotencyKey })
  assert.deepEqual(names(again.events), ['response.created', 'response.completed'])
  assert.deepEqual(again.events[1]!.data, first.events.at(-1)!.data)
  assert.equal(again.headers.get('cache-control'), 'no-cache, no-transform')
  const sync = await app.chat('hi', { idempotencyKey })
  assert.deepEqual(sync.json, first.events.at(-1)!.data)
  assert.equal(sync.headers.get('x-request-id'), sync.json.request_id)
  assert.equal(app.model.calls.length, 1)
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 1)
})

void test('stream.established: failures before the stream starts are JSON with their own status', async () => {
  await using app = await startTestApp()
  const invalid = await app.stream('hi', { apiKey: 'svc_live_nobody.x' })
  assert.deepEqual([invalid.status, invalid.json.error.code], [401, 'invalid_api_key'])
  const empty = await app.stream('')
  assert.deepEqual([empty.status, empty.json.error.code], [422, 'validation_error'])
  const poor = await app.makeCaller({ balanceUsd: '0.00000001' })
  const refused = await app.stream('hi', { caller: poor })
  assert.deepEqual([refused.status, refused.json.error.code], [402, 'insufficient_balance'])
  assert.equal(app.model.calls.length, 0)
})

void test('tools.private: reasoning and tool activity never appear in the stream', async () => {
  await using app = await startTestApp()
  app.model.script(
    [{ reasoning: 'CANARY-REASONING' }, { toolCall: { id: 'c1', name: 'CANARY-TOOL', arguments: '{"a":"CANARY-ARGUMENTS"}' } }],
    [{ reasoning: 'CANARY-REASONING' }, 'Plain answer.'],
  )
  const { text, events } = await app.stream('hi')
  assert.equal(events.at(-1)!.data.message.content, 'Plain answer.')
  assert.doesNotMatch(text, /CANARY/)
  assert.equal(app.model.calls[1]!.messages.at(-1)!.role, 'tool', 'the model was informed that there is no such tool')
  await app.verify()
})
