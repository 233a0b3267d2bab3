/** The hosted providers over real HTTP: what is not a completion, and why; deadlines, aborts and connections of one call. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { answerLimit, maxAnswer } from '../../src/agent/models/answer-limit.ts'
import { defaultDeadlines } from '../../src/agent/models/transport/exchange.ts'
import { apiKey, withModels, withTcpServer } from '../support/ask-model.ts'
import { startProviderAsker } from '../support/ask-provider.ts'
import { cut, gate } from '../support/model-server.ts'
import { hostedKinds } from '../support/provider-dialects.ts'

const asker = startProviderAsker()
const { failureOf } = asker

for (const kind of hostedKinds) {
  // Complete or truncated

  test(`fault.model-stream-truncated: ${kind}: a stream that ends before its finish, by FIN, RST or a regular end, is never a completion`, async () => {
    for (const how of ['end', 'fin', 'rst'] as const) {
      const late = await failureOf(kind, ['Hel', cut(how)])
      assert.equal(late.kind, 'unavailable', how)
      assert.equal((await failureOf(kind, [cut(how)])).kind, 'unavailable', `${how} at once`)
      assert.equal((await failureOf(kind, [{ reasoning: 'hm' }, cut(how)])).kind, 'unavailable', `${how} while it thinks`)
    }
    const call = { id: 'c', name: 'weather', arguments: '{}' }
    assert.equal((await failureOf(kind, [{ toolCall: call }, cut('end')])).kind, 'unavailable')
    assert.equal((await failureOf(kind, ['Hel', { finish: null }])).kind, 'unavailable')
  })

  test(`fault.model-error-in-200: ${kind}: an error in the stream is unavailable, before and after text, and a key in it is not shown`, async () => {
    const error = { error: `bad key ${apiKey}` }
    const first = await failureOf(kind, [error])
    assert.deepEqual([first.kind, first.text], ['unavailable', ''])
    assert.match(first.message, /bad key \[api key\]/)
    const call = asker.server.nextCall()
    const later = await failureOf(kind, ['Hel', error, gate()])
    assert.deepEqual([later.kind, later.text], ['unavailable', 'Hel'])
    assert.equal(await (await call).ended, 'aborted', 'nothing more is waited for')
  })

  test(`fault.model-stream-malformed: ${kind}: one broken event makes the call unavailable although it ends well, and its text is not repeated`, async () => {
    for (const raw of ['{"type":"canary', '{canary}', 'null', '"canary"', '[]', '{"candidates":7,"type":7}']) {
      const error = await failureOf(kind, ['Hel', { raw: `data: ${raw}\n\n` }, 'lo'])
      assert.equal(error.kind, 'unavailable', raw)
    }
    assert.equal((await failureOf(kind, [{ raw: 'data: {canary\n\n' }, 'Hello'])).kind, 'unavailable')
  })

  test(`fault.model-stream-malformed: ${kind}: a line over 1 MiB is unavailable, and so is a response over 8 MiB whatever its token limit`, async () => {
    const mebibyte = 'x'.repeat(1024 * 1024)
    assert.match((await failureOf(kind, [mebibyte])).message, /too large/)
    const halves = Array.from({ length: 17 }, () => mebibyte.slice(0, 512 * 1024))
    const error = await failureOf(kind, halves, { request: { maxOutputTokens: 1_000_000 } })
    assert.deepEqual([error.kind, error.text.length], ['unavailable', maxAnswer])
  })

  test(`fault.model-stream-malformed: ${kind}: a response that is too long for its token limit is cut off as unavailable`, async () => {
    assert.equal((await asker.answer(kind, [' '.repeat(12_800)])).text.length, 12_800)
    const error = await failureOf(
      kind,
      Array.from({ length: 60 }, () => 'x'.repeat(2000)),
    )
    assert.deepEqual([error.kind, error.text.length], ['unavailable', 78_000])
    assert.match(error.message, new RegExp(`exceeds ${answerLimit(100)}`))
  })

  // Statuses

  test(`fault.model-unavailable: ${kind}: 408, 429 and 5xx are unavailable, with Retry-After`, async () => {
    for (const status of [408, 429, 500, 503, 529]) assert.equal((await failureOf(kind, { status })).kind, 'unavailable')
    assert.equal((await failureOf(kind, { status: 429, headers: { 'retry-after': '7' } })).retryAfterMs, 7000)
  })

  test(`fault.model-refuses: ${kind}: every other 4xx and a redirect are refused; a 200 of another type is unavailable`, async () => {
    for (const status of [400, 401, 403, 404, 409, 422]) assert.equal((await failureOf(kind, { status })).kind, 'refused')
    assert.equal((await failureOf(kind, { status: 307, headers: { location: '/elsewhere' } })).kind, 'refused')
    const json = await failureOf(kind, { status: 200, body: { error: { message: 'no' } } })
    assert.equal(json.kind, 'unavailable')
    assert.match(json.message, /reported an error: .*no/)
    const page = await failureOf(kind, { status: 200, body: '<html>', headers: { 'content-type': 'text/html' } })
    assert.match(page.message, /content type text\/html/)
  })

  test(`${kind}: no request is sent twice, whatever the failure`, async () => {
    const before = asker.server.calls.length
    await failureOf(kind, { status: 503 })
    await failureOf(kind, [cut('rst')])
    await failureOf(kind, [{ error: 'overloaded' }])
    assert.equal(asker.server.calls.length, before + 3)
  })

  // Time

  test(`fault.model-silent: ${kind}: a first token that never arrives, and reasoning that stops, end at their deadlines`, async () => {
    const never = gate()
    await withModels({ deadlines: { ...defaultDeadlines, firstTokenMs: 80 } }, async (models) => {
      const call = asker.server.nextCall()
      assert.match((await failureOf(kind, [never, 'Hello'], { models })).message, /no data for 80 ms \(waiting\)/)
      assert.equal(await (await call).ended, 'aborted')
    })
    await withModels({ deadlines: { ...defaultDeadlines, idleMs: 80 } }, async (models) => {
      assert.match((await failureOf(kind, [{ reasoning: 'hm' }, never], { models })).message, /no data for 80 ms \(speaking\)/)
    })
  })

  test(`fault.model-stalls-mid-stream: ${kind}: silence after text ends at the idle deadline, and the socket is closed`, async () => {
    await withModels({ deadlines: { ...defaultDeadlines, idleMs: 80 } }, async (models) => {
      const call = asker.server.nextCall()
      const error = await failureOf(kind, ['Hel', gate(), 'lo'], { models })
      assert.deepEqual([error.kind, error.text], ['unavailable', 'Hel'])
      assert.match(error.message, /no data for 80 ms \(speaking\)/)
      assert.equal(await (await call).ended, 'aborted')
    })
  })

  test(`${kind}: an abort rejects with the signal's reason immediately, before and during the response, and closes the socket`, async () => {
    const reason = new Error('enough')
    for (const begin of [[], ['Hel']]) {
      const held = gate()
      const stop = new AbortController()
      asker.server.script([...begin, held, 'lo'])
      const call = asker.server.nextCall()
      const asking = asker.ask(kind, { signal: stop.signal, ...(begin.length > 0 ? { onText: () => stop.abort(reason) } : {}) })
      const rejected = assert.rejects(asking, (error) => error === reason)
      await held.reached
      stop.abort(reason)
      await rejected
      assert.equal(await (await call).ended, 'aborted')
    }
    const before = asker.server.calls.length
    await assert.rejects(asker.ask(kind, { signal: AbortSignal.abort(reason) }), (error) => error === reason)
    assert.equal(asker.server.calls.length, before)
  })

  test(`${kind}: an error thrown by onText is rethrown unchanged`, async () => {
    const fault = new TypeError('ours')
    const throwing = asker.ask(kind, {
      onText() {
        throw fault
      },
    })
    await assert.rejects(throwing, (error) => error === fault)
  })

  test(`${kind}: an unreachable server is unavailable, an invalid address is refused`, async () => {
    const closed = await withTcpServer(
      (socket: Socket) => void socket.destroy(),
      async (port) => port,
    )
    const gone = asker.ask(kind, { provider: { baseUrl: `http://127.0.0.1:${closed}` } })
    await assert.rejects(gone, { kind: 'unavailable', message: /ECONNREFUSED/ })
    await withModels({}, async (models) => {
      assert.throws(() => models.open({ kind, baseUrl: 'file:///etc/passwd', apiKey }), { kind: 'refused' })
    })
  })
}

test('fault.model-stream-truncated: anthropic: an end without a stop reason is a truncated stream', async () => {
  const error = await failureOf('anthropic', ['Hel', { raw: 'data: {"type":"message_stop"}\n\n' }, { finish: null }])
  assert.deepEqual([error.kind, error.text], ['unavailable', 'Hel'])
})

for (const kind of ['openai', 'anthropic'] as const) {
  test(`${kind}: the last event completes the call although the server never ends the body; its connection is closed after a while`, async () => {
    await withModels({ deadlines: { ...defaultDeadlines, tailMs: 30 } }, async (models) => {
      asker.server.script(['Hello', { linger: true }])
      const call = asker.server.nextCall()
      assert.equal((await asker.ask(kind, { models })).text, 'Hello')
      assert.equal(await (await call).ended, 'aborted')
    })
  })
}

test('fault.tool-calls-invalid: google: a malformed function call is not a completion, and may be retried', async () => {
  const raw = `data: ${JSON.stringify({ candidates: [{ content: { parts: [] }, finishReason: 'MALFORMED_FUNCTION_CALL' }] })}\n\n`
  const error = await failureOf('google', [{ raw }, { finish: null }])
  assert.equal(error.kind, 'unavailable')
  assert.match(error.message, /MALFORMED_FUNCTION_CALL/)
})
