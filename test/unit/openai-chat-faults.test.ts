/** The OpenAI Chat Completions API over real HTTP: what is not a completion, and why. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { answerLimit, maxAnswer } from '../../src/agent/models/answer-limit.ts'
import { defaultDeadlines } from '../../src/agent/models/transport/exchange.ts'
import { apiKey, startAsker, usualRequest, withModels, withTcpServer } from '../support/ask-model.ts'
import { completion, cut, gate } from '../support/model-server.ts'
import type { Part } from '../support/model-server.ts'

const asker = startAsker()
const { ask, answer, failure, failureOf } = asker

// Complete or truncated

test('fault.model-stream-truncated: a stream that ends before its finish, by FIN, RST or a regular end, is never a completion', async () => {
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

test('fault.model-stream-truncated: a truncated JSON response is not a completion either', async () => {
  const json = JSON.stringify(completion({ content: 'Hello' }))
  const error = await failureOf({ parts: [{ raw: json.slice(0, -1) }, cut('end')], headers: { 'content-type': 'application/json' } })
  assert.equal(error.kind, 'unavailable')
})

test('openai-compatible: a finish completes the call, whether [DONE], usage or a cut follows; so does [DONE] after text', async () => {
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

test('openai-compatible: [DONE] completes the call although the server never ends the body; its connection is closed after a while', async () => {
  await withModels({ deadlines: { ...defaultDeadlines, tailMs: 30 } }, async (models) => {
    const never = gate()
    asker.server.script([{ raw: 'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n' }, never])
    const call = asker.server.nextCall()
    assert.equal((await ask({ models })).text, 'x')
    assert.equal(await (await call).ended, 'aborted')
  })
})

test('fault.model-error-in-200: an error in the stream is unavailable, before and after text, and a key in it is not shown', async () => {
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

test('fault.model-stream-malformed: broken JSON and JSON of another shape are unavailable, and the text in it is not repeated', async () => {
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

test('fault.model-stream-malformed: a line over 1 MiB is unavailable', async () => {
  assert.match((await failureOf(['x'.repeat(1024 * 1024)])).message, /too large/)
})

test('fault.model-stream-malformed: a response that is too long for its token limit is cut off as unavailable, streamed or whole', async () => {
  // no token is longer than 128 characters, so this many of them are a valid reply
  assert.equal((await answer(Array.from({ length: 100 }, () => ' '.repeat(128)))).text.length, 12_800)
  const endless = Array.from({ length: 60 }, () => 'x'.repeat(2000))
  const error = await failureOf(endless)
  assert.deepEqual([error.kind, error.text.length], ['unavailable', 78_000])
  assert.equal(answerLimit(usualRequest.maxOutputTokens), 78_336)
  assert.match(error.message, /exceeds 78336 characters/)
  const args = await failureOf([
    { toolCall: { id: 'a', name: 'x', arguments: '' } },
    ...endless.map((text) => ({ toolCall: { arguments: text } })),
  ])
  assert.match(args.message, /exceeds 78336/)
  const whole = await failureOf({ json: completion({ content: 'x'.repeat(78_337) }) })
  assert.match(whole.message, /exceeds 78336 characters/)
  // beside the text, a body holds the reasoning and the framing
  const thought = (characters: number) => ({ json: completion({ content: 'Hi', reasoning_content: 'x'.repeat(characters) }) })
  assert.equal((await answer(thought(469_000))).text, 'Hi')
  assert.match((await failureOf(thought(471_000))).message, /exceeds 470016/)
})

test('fault.model-stream-malformed: a response over 8 MiB is unavailable, whatever the token limit', async () => {
  const half = 'x'.repeat(512 * 1024)
  asker.server.script(Array.from({ length: 17 }, () => half))
  const error = await asker.failure({ request: { maxOutputTokens: 1_000_000 } })
  assert.deepEqual([error.kind, error.text.length], ['unavailable', maxAnswer])
})

// Statuses

test('fault.model-unavailable: 408, 429 and 5xx are unavailable, with Retry-After in seconds or as a date', async () => {
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

test('fault.model-refuses: every other 4xx and a redirect are refused; a 200 of another type and another 2xx are unavailable', async () => {
  for (const status of [400, 401, 403, 404, 409, 422]) assert.equal((await failureOf({ status })).kind, 'refused')
  assert.equal((await failureOf({ status: 307, headers: { location: `${asker.server.baseUrl}/elsewhere` } })).kind, 'refused')
  const page = await failureOf({ status: 200, body: '<html>', headers: { 'content-type': 'text/html' } })
  assert.equal(page.kind, 'unavailable')
  assert.match(page.message, /content type text\/html/)
  assert.equal((await failureOf({ status: 204, body: '' })).kind, 'unavailable')
})

test("openai-compatible: an error's body is quoted for the operator, truncated, on one line and without the key", async () => {
  const error = await failureOf({
    status: 401,
    body: `{"error":\n{"message":"Incorrect API key: ${apiKey}\u001b[31m"}}${'x'.repeat(100_000)}`,
  })
  assert.match(error.message, /^the model server returned status 401: \{"error": \{"message":"Incorrect API key: \[api key\] \[31m"\}\}x+$/)
  assert(error.message.length < 600)
})

test('openai-compatible: an error body that never ends is not awaited once enough of it was read', async () => {
  const flood = (socket: Socket): void => void socket.write(`HTTP/1.1 500 No\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(5000)}`)
  await withTcpServer(flood, async (port) => {
    assert.match((await failure({ provider: { baseUrl: `http://127.0.0.1:${port}` } })).message, /status 500: x+$/)
  })
})

test('openai-compatible: an error status counts even if its body is cut off', async () => {
  const cutting = (socket: Socket): void => void socket.end('HTTP/1.1 401 No\r\ncontent-length: 100\r\n\r\nhalf')
  await withTcpServer(cutting, async (port) => {
    const error = await failure({ provider: { baseUrl: `http://127.0.0.1:${port}` } })
    assert.deepEqual([error.kind, error.message], ['refused', 'the model server returned status 401: half'])
  })
})
