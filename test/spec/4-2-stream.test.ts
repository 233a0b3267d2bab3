/** Specification 4.2 and 6: the same turn as server-sent events. Over real HTTP, on the real store. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { cut, gate } from '../support/model-server.ts'
import { splitEvents, startTestApp } from '../support/test-app.ts'
import type { StreamEvent } from '../support/test-app.ts'

const names = (events: StreamEvent[]): string[] => events.map(({ event }) => event)
const deltas = (events: StreamEvent[]): string =>
  events
    .filter(({ event }) => event === 'response.output_text.delta')
    .map(({ data }) => data.delta)
    .join('')

void test('stream.established created, deltas, completed, with the headers of a stream and no rate headers', async () => {
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

void test('stream.established headers and response.created leave before the model speaks', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.script([held, 'late'])
  const response = await app.chatRequest({ external_user_id: 'u', message: 'hi' }, { path: 'chat/stream' })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  const { value } = await reader.read()
  assert.match(value!, /^event: response\.created\ndata: /)
  held.open()
  let rest = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) rest += part.value
  assert.equal(splitEvents(rest).at(-1)!.event, 'response.completed')
})

void test('idempotency.replay on a stream: created, then completed with the stored result, no deltas; and on the other transport', async () => {
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

void test('fault.caller-gone-mid-reply 4.2.3 a caller who leaves mid-stream: the reply is produced, stored and charged, and replayed', async () => {
  await using app = await startTestApp()
  const held = gate()
  const idempotencyKey = randomUUID()
  app.model.script(['half', held, ' whole'])
  const leave = new AbortController()
  const response = await app.chatRequest(
    { external_user_id: 'user-1', message: 'hi' },
    { path: 'chat/stream', idempotencyKey, signal: leave.signal },
  )
  const reader = response.body!.getReader()
  await reader.read()
  await held.reached
  leave.abort()
  const running = await app.chat('hi', { idempotencyKey })
  assert.deepEqual([running.status, running.json.error.code, running.headers.get('retry-after')], [409, 'idempotency_in_progress', '2'])
  held.open()
  await app.model.calls[0]!.ended
  const replay = await untilAnswered(() => app.chat('hi', { idempotencyKey }))
  assert.equal(replay.json.message.content, 'half whole')
  assert.equal(app.model.calls.length, 1)
  await app.verify()
})

void test('fault.caller-gone-mid-reply 4.2.3 a caller who leaves a waiting /chat: the same', async () => {
  await using app = await startTestApp()
  const held = gate()
  const idempotencyKey = randomUUID()
  app.model.script([held, 'whole'])
  const leave = new AbortController()
  const waiting = app.chat('hi', { idempotencyKey, signal: leave.signal })
  await held.reached
  leave.abort()
  await assert.rejects(waiting)
  held.open()
  const replay = await untilAnswered(() => app.chat('hi', { idempotencyKey }))
  assert.equal(replay.json.message.content, 'whole')
  assert.equal(app.model.calls.length, 1)
  await app.verify()
})

void test('4.2.1 failures before the stream is established are JSON with their status', async () => {
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

void test('fault.model-stream-truncated stream.after-delta a break after a delta ends the stream with error, and the same key runs again', async () => {
  await using app = await startTestApp()
  const idempotencyKey = randomUUID()
  app.model.script(['half', cut('rst')])
  const broken = await app.stream('hi', { idempotencyKey })
  assert.deepEqual(names(broken.events), ['response.created', 'response.output_text.delta', 'error'])
  const { request_id: requestId } = broken.events[0]!.data
  assert.deepEqual(Object.keys(broken.events[2]!.data), ['code', 'message', 'request_id'])
  assert.deepEqual([broken.events[2]!.data.code, broken.events[2]!.data.request_id], ['service_unavailable', requestId])
  assert.equal(app.model.calls.length, 1, 'not generated again on this stream')
  assert.deepEqual(await app.messages(), [])
  assert.equal((await app.owner()).held_usd, '0.00000000')
  const retry = await app.stream('hi', { idempotencyKey })
  assert.equal(retry.events.at(-1)!.event, 'response.completed')
  assert.equal(retry.events.at(-1)!.data.request_id, requestId, 'under the same request_id')
  await app.verify()
})

void test('fault.model-unavailable stream.after-delta before the first delta the model call is retried, at most twice', async () => {
  await using app = await startTestApp()
  app.model.script({ status: 503, headers: { 'retry-after': '0' } }, { status: 429, headers: { 'retry-after': '0' } }, 'third time')
  const { events } = await app.stream('hi')
  assert.equal(events.at(-1)!.data.message.content, 'third time')
  app.model.script({ status: 503 }, { status: 503 }, { status: 503 })
  const failed = await app.chat('again')
  assert.deepEqual([failed.status, failed.json.error.code, failed.headers.get('retry-after')], [503, 'service_unavailable', '5'])
  assert.equal(app.model.calls.length, 6)
  await app.verify()
})

void test('4.2.5 reasoning and tool activity are never part of the stream', async () => {
  await using app = await startTestApp()
  app.model.script(
    [{ reasoning: 'CANARY-REASONING' }, { toolCall: { id: 'c1', name: 'CANARY-TOOL', arguments: '{"a":"CANARY-ARGUMENTS"}' } }],
    [{ reasoning: 'CANARY-REASONING' }, 'Plain answer.'],
  )
  const { text, events } = await app.stream('hi')
  assert.equal(events.at(-1)!.data.message.content, 'Plain answer.')
  assert.doesNotMatch(text, /CANARY/)
  assert.equal(app.model.calls[1]!.messages.at(-1)!.role, 'tool', 'the model was told that there is no such tool')
  await app.verify()
})

void test('fault.model-text-hostile text.well-formed deltas are clean and add up to the content whatever the model sends', async () => {
  await using app = await startTestApp()
  app.model.script(['a\u0000b', '\ud83d', '\ude00 ', '\ud800 x', '\u2028\n\ndata: {"x":1}\n\nevent: error\n\n', 'end\udc00'])
  const { events } = await app.stream('hi')
  const { content } = events.at(-1)!.data.message
  assert.equal(deltas(events), content)
  assert.ok(content.isWellFormed() && !content.includes('\u0000'))
  assert.ok(content.includes('😀') && content.includes('data: {"x":1}'))
  assert.equal((await app.messages())[1]!.content, content)
})

/** Asks again while the first request still runs; the server says when. */
async function untilAnswered<A extends { status: number }>(ask: () => Promise<A>): Promise<A> {
  for (;;) {
    const answer = await ask()
    if (answer.status !== 409) return answer
  }
}
