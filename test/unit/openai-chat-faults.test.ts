/** The OpenAI Chat Completions dialect over real HTTP: what is no answer, and why. Faults, rows 34, 35, 38, 39 and 40, as far as one call goes. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { largestAnswer } from '../../src/agent/models/chat-answer.ts'
import { defaultDeadlines } from '../../src/agent/models/exchange.ts'
import { apiKey, startAsker, withModels, withTcpServer } from '../support/ask-model.ts'
import { completion, cut, gate } from '../support/model-server.ts'
import type { Part } from '../support/model-server.ts'

const asker = startAsker()
const { ask, answer, failure, failureOf } = asker

// Complete or cut

test('faults 39: a stream cut by FIN, by RST or in good order before its finish is never an answer', async () => {
  for (const how of ['end', 'fin', 'rst'] as const) {
    const held = gate()
    asker.server.script(['Hel', held, cut(how)])
    const error = await failure({ onText: () => held.open() })
    assert.equal(error.kind, 'unavailable', how)
    assert.equal(error.text, 'Hel')
    assert.equal((await failureOf([cut(how)])).kind, 'unavailable', `${how} at once`)
  }
  assert.equal((await failureOf([{ raw: 'data: [DONE]\n\n' }, cut('end')])).kind, 'unavailable')
})

test('faults 39: a whole JSON that is cut is no answer either', async () => {
  const json = JSON.stringify(completion({ content: 'Hello' }))
  const error = await failureOf({ parts: [{ raw: json.slice(0, -1) }, cut('end')], headers: { 'content-type': 'application/json' } })
  assert.equal(error.kind, 'unavailable')
})

test('a finish completes the answer, whether [DONE], usage or a cut follows; so does [DONE] after text', async () => {
  for (const how of ['end', 'fin', 'rst'] as const) {
    const held = gate()
    const finish: Part = { event: { choices: [{ delta: { content: 'x' }, finish_reason: 'stop' }] } }
    asker.server.script([finish, held, cut(how)])
    const step = await ask({ onText: () => setImmediate(() => held.open()) })
    assert.deepEqual([step.text, step.finishReason, step.usage], ['x', 'stop', undefined], how)
  }
  const done = await answer(['x', { finish: null }, { usage: null }])
  assert.deepEqual([done.text, done.finishReason], ['x', 'other'])
})

test('[DONE] answers at once, though the server never ends the body; its connection is closed after a while', async () => {
  await withModels({ deadlines: { ...defaultDeadlines, tailMs: 30 } }, async (models) => {
    const never = gate()
    asker.server.script([{ raw: 'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n' }, never])
    const call = asker.server.nextCall()
    assert.equal((await ask({ models })).text, 'x')
    assert.equal(await (await call).ended, 'aborted')
  })
})

test('faults 40: an error in the stream is unavailable, before and after text, and the key it repeats is not shown', async () => {
  for (const event of [
    { error: { message: `bad key ${apiKey}`, code: 401 } },
    { error: 'overloaded' },
    { object: 'error', message: 'overloaded', code: 500 },
    { choices: [{ delta: {}, finish_reason: 'error' }] },
  ]) {
    assert.equal((await failureOf([{ event }])).kind, 'unavailable')
    const later = await failureOf(['Hel', { event }, 'lo'])
    assert.deepEqual([later.kind, later.text], ['unavailable', 'Hel'])
  }
})

test('faults 38: broken JSON and JSON of another shape are unavailable, and the text in it is not repeated', async () => {
  for (const raw of [
    '{"choices":[{"delta":{"content":"canary',
    '{canary}',
    'null',
    '7',
    '"canary"',
    '[]',
    '{"choices":7}',
    '{"choices":[7]}',
  ]) {
    const error = await failureOf([{ raw: `data: ${raw}\n\n` }])
    assert.equal(error.kind, 'unavailable', raw)
  }
  assert.equal((await failureOf([{ event: { choices: [{ delta: { tool_calls: ['x'] } }] } }])).kind, 'unavailable')
})

test('faults 38: a line over 1 MiB and an answer over 8 MiB are unavailable', async () => {
  const mebibyte = 'x'.repeat(1024 * 1024)
  assert.equal((await failureOf([mebibyte])).kind, 'unavailable')
  const half = mebibyte.slice(0, 512 * 1024)
  const error = await failureOf(Array.from({ length: 17 }, () => half))
  assert.equal(error.text.length, largestAnswer)
  assert.match(error.message, /larger than/)
  assert.match((await failureOf({ json: completion({ content: mebibyte.repeat(9) }) })).message, /larger than/)
})

// Statuses

test('faults 34: 408, 429 and 5xx are unavailable, with Retry-After in seconds or as a date', async () => {
  const retryAfter = async (headers: Record<string, string>): Promise<number | undefined> =>
    (await failureOf({ status: 429, headers })).retryAfterMs
  for (const status of [408, 429, 500, 502, 503, 529]) assert.equal((await failureOf({ status })).kind, 'unavailable')
  assert.equal(await retryAfter({}), undefined)
  assert.equal(await retryAfter({ 'retry-after': '7' }), 7000)
  assert.equal(await retryAfter({ 'retry-after': '0' }), 0)
  assert.equal(await retryAfter({ 'retry-after': '9'.repeat(400) }), 86_400_000)
  assert.equal(await retryAfter({ 'retry-after': 'soon' }), undefined)
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT'
  assert.equal(await retryAfter({ date, 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT' }), 30_000)
  assert.equal(await retryAfter({ date, 'retry-after': 'Wed, 21 Oct 2026 07:27:00 GMT' }), 0)
})

test('faults 35: every other 4xx and a redirect are refused; a 200 of another type and another 2xx are unavailable', async () => {
  for (const status of [400, 401, 403, 404, 409, 413, 422]) assert.equal((await failureOf({ status })).kind, 'refused')
  assert.equal((await failureOf({ status: 307, headers: { location: `${asker.server.baseUrl}/elsewhere` } })).kind, 'refused')
  const page = await failureOf({ status: 200, body: '<html>', headers: { 'content-type': 'text/html' } })
  assert.equal(page.kind, 'unavailable')
  assert.match(page.message, /content type text\/html/)
  assert.equal((await failureOf({ status: 204, body: '' })).kind, 'unavailable')
})

test("an error's body is quoted in short for the operator, on one line and without the key", async () => {
  const error = await failureOf({
    status: 401,
    body: `{"error":\n{"message":"Incorrect API key: ${apiKey}\u001b[31m"}}${'x'.repeat(100_000)}`,
  })
  assert.match(error.message, /^the model's server answered 401: \{"error": \{"message":"Incorrect API key: \[api key\] \[31m"\}\}x+$/)
  assert(error.message.length < 600)
})

test('an error body that never ends is not waited for once enough of it was read', async () => {
  const flood = (socket: Socket): void => void socket.write(`HTTP/1.1 500 No\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(5000)}`)
  await withTcpServer(flood, async (port) => {
    assert.match((await failure({ provider: { baseUrl: `http://127.0.0.1:${port}` } })).message, /answered 500: x+$/)
  })
})

test('a status stands though its body is cut', async () => {
  const cutting = (socket: Socket): void => void socket.end('HTTP/1.1 401 No\r\ncontent-length: 100\r\n\r\nhalf')
  await withTcpServer(cutting, async (port) => {
    const error = await failure({ provider: { baseUrl: `http://127.0.0.1:${port}` } })
    assert.deepEqual([error.kind, error.message], ['refused', "the model's server answered 401: half"])
  })
})
