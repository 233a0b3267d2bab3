/**
 * Faults of the model's side, over real HTTP and on both transports: what the caller gets, what is stored, charged and held, and what the
 * same key gets afterwards. A model that fails leaves nothing stored; text is never truncated.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { pino } from 'pino'
import { defaultDeadlines } from '../../src/agent/models/transport/exchange.ts'
import { turnDefaults } from '../../src/turn/turn-settings.ts'
import { fakeTimers } from '../support/fake-timers.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import type { How } from '../support/fault-proxy.ts'
import { withTcpServer } from '../support/ask-model.ts'
import { cut, gate } from '../support/model-server.ts'
import type { Part, Script } from '../support/model-server.ts'
import { answeredOnce, callsOf, makeSent, names, nothingKept, send, transports } from '../support/outcome.ts'
import type { Sent, Outcome } from '../support/outcome.ts'
import { startTestApp } from '../support/test-app.ts'
import type { TestApp, TestAppOptions } from '../support/test-app.ts'
import { until } from '../support/until.ts'

const delta = 'response.output_text.delta'

/** A request that ends without a reply: the expected error is returned, and nothing of it is left. */
async function failsAs(app: TestApp, sent: Sent, expected: { code: string; calls: number; deltas?: number }): Promise<Outcome> {
  const { code, calls, deltas = 0 } = expected
  const reported = await send(app, sent)
  assert.equal(reported.code, code, reported.answer.text)
  const status = code === 'service_unavailable' ? 503 : 500
  const { error = reported.events.at(-1)?.data } = reported.answer.json
  if (sent.transport === 'chat')
    assert.deepEqual([reported.status, reported.answer.headers.get('retry-after')], [status, status === 503 ? '5' : null])
  else {
    assert.equal(names(reported.events), ['response.created', ...Array(deltas).fill(delta), 'error'].join(' '))
    assert.equal(reported.events[0]!.data['request_id'], error!['request_id'])
  }
  assert.deepEqual(Object.keys(error!), ['code', 'message', 'request_id'])
  await nothingKept(app, sent, { requestId: error!['request_id'], calls, code })
  return reported
}

/** The same key runs again under the same request id, and is answered once. */
async function runsAgain(app: TestApp, sent: Sent, failed: Outcome, calls: number): Promise<void> {
  const { request_id: requestId } = failed.answer.json['error'] ?? failed.events.at(-1)!.data
  app.model.when(sent.message, 'well again')
  const { reply } = await send(app, sent)
  assert.equal(reply?.['request_id'], requestId)
  await answeredOnce(app, sent, { content: 'well again', calls: calls + 1 })
}

/** A caller for each case on each transport, of the shared app or of one with its own settings. */
async function eachTransport(what: string, run: (app: TestApp, sent: Sent) => Promise<void>, options?: TestAppOptions): Promise<void> {
  const app = options ? await startTestApp(options) : usual
  try {
    for (const transport of transports) await run(app, await makeSent(app, `${what} on ${transport}`, { transport }))
  } finally {
    if (options) await app.close()
  }
}

let usual: TestApp
before(async () => void (usual = await startTestApp()))
after(() => usual.close())

for (const status of [429, 500, 503]) {
  void test(`fault.model-unavailable stream.after-delta: a model that answers ${status}: called three times, then 503, and the same key runs again`, () =>
    eachTransport(`status ${status}`, async (app, sent) => {
      app.model.script({ status }, { status }, { status })
      const reported = await failsAs(app, sent, { code: 'service_unavailable', calls: 3 })
      await runsAgain(app, sent, reported, 3)
    }))
}

void test('fault.model-unavailable stream.after-delta: a model that recovers at the third call: one reply, one charge, and its Retry-After was honored', () =>
  eachTransport('third time', async (app, sent) => {
    const at: number[] = []
    const arrived = (reply: Script) => (): never => (at.push(performance.now()), reply) as never
    app.model.script(
      arrived({ status: 503, headers: { 'retry-after': '1' } }),
      arrived({ status: 429, headers: { 'retry-after': '0' } }),
      arrived('third'),
    )
    await send(app, sent)
    await answeredOnce(app, sent, { content: 'third', calls: 3 })
    assert.ok(at[1]! - at[0]! >= 1000, `asked again after ${at[1]! - at[0]!} ms`)
  }))

void test('fault.model-unavailable turn.states: a model whose Retry-After is longer than the turn may take: 503 immediately', () =>
  eachTransport('much later', async (app, sent) => {
    app.model.script({ status: 503, headers: { 'retry-after': '3600' } })
    await failsAs(app, sent, { code: 'service_unavailable', calls: 1 })
  }))

for (const status of [400, 401, 404]) {
  void test(`fault.model-refuses turn.states: a model that answers ${status}: internal_error immediately, logged for the operator, and the same key runs again`, async () => {
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) })
    await eachTransport(
      `status ${status}`,
      async (app, sent) => {
        app.model.script({ status, body: { error: { message: 'CANARY of a provider' } } })
        const reported = await failsAs(app, sent, { code: 'internal_error', calls: 1 })
        assert.doesNotMatch(reported.answer.text, /CANARY/)
        const { request_id: requestId } = reported.answer.json['error'] ?? reported.events.at(-1)!.data
        assert.ok(lines.some((line) => line.includes(requestId) && line.includes('model call failed')))
        await runsAgain(app, sent, reported, 1)
      },
      { log },
    )
  })
}

void test('fault.model-silent: a model that accepts no connection, and one that accepts it and sends nothing: 503 within the deadlines, nothing stored', async () => {
  const silent = (): void => undefined
  await using app = await startTestApp({ modelSettings: { connectMs: 500, deadlines: { firstTokenMs: 1500, idleMs: 1500, tailMs: 1500 } } })
  await withTcpServer(silent, async (port) => {
    // The first is a handshake that never ends, the second headers that never arrive.
    for (const [name, baseUrl] of Object.entries({
      unconnected: `https://127.0.0.1:${port}/v1`,
      speechless: `http://127.0.0.1:${port}/v1`,
    })) {
      await app.made('POST', '/providers', { name, kind: 'openai-compatible', base_url: baseUrl, api_key: 'model-key' })
      await Promise.all(
        transports.map(async (transport) => {
          const sent = await makeSent(app, `${name} on ${transport}`, { transport, agent: { model: `${name}/test-model` } })
          await failsAs(app, sent, { code: 'service_unavailable', calls: 0 })
        }),
      )
    }
  })
})

void test('fault.model-silent turn.states: a model that is silent for longer than the whole turn may take: 503 at the deadline of the turn, and the call is aborted', async (t) => {
  const { turnMs } = turnDefaults
  const timers = fakeTimers(t, (ms) => ms === turnMs)
  await eachTransport('silent', async (app, sent) => {
    const held = gate()
    app.model.when(sent.message, [held, 'never'])
    const asked = failsAs(app, sent, { code: 'service_unavailable', calls: 1 })
    await held.reached
    timers.pass(turnMs)
    const reported = await asked
    assert.equal(await app.model.calls.find(({ lastUserMessage }) => lastUserMessage === sent.message)!.ended, 'aborted')
    await runsAgain(app, sent, reported, 1)
  })
})

void test('fault.model-stalls-mid-stream stream.after-delta: a model that stalls within its reply: error after the idle deadline, nothing stored, not called again', async (t) => {
  const { idleMs } = defaultDeadlines
  const timers = fakeTimers(t, (ms) => ms === idleMs)
  await eachTransport('silence', async (app, sent) => {
    app.model.when(sent.message, ['half', gate(), 'never'])
    const asked = failsAs(app, sent, { code: 'service_unavailable', calls: 1, deltas: 1 })
    await until('the first words have arrived', () => timers.pending > 0)
    timers.pass(idleMs)
    await runsAgain(app, sent, await asked, 1)
  })
})

const words = 'Grüße 退款 😀 naïve — «two words»'
const noise: Part[] = [
  { raw: ': a comment\r\n\r\n:\n\nretry: 10\n\n' },
  { raw: 'event: message\r\nid: 7\r\ndata: {"choices":[{"index":0,\r\ndata: "delta":{"role":"assistant","content":""}}]}\r\n\r\n' },
]
for (const bytesEach of [1, 2, 3, 7]) {
  void test(`fault.model-stream-malformed: an event stream in pieces of ${bytesEach} bytes, with comments and every kind of line ending, is parsed correctly`, () =>
    eachTransport(`pieces of ${bytesEach}`, async (app, sent) => {
      app.model.script({ parts: [...noise, words, ...noise, { raw: 'data: {"choices":[{"delta":{"content":" end"}}]}\r\r' }], bytesEach })
      const reported = await send(app, sent)
      await answeredOnce(app, sent, { content: `${words} end` })
      if (sent.transport === 'stream') assert.equal(reported.events.map(({ data }) => data['delta'] ?? '').join(''), `${words} end`)
    }))
}

const garbage: Record<string, Part> = {
  'a line of 10 MB': { raw: `data: ${'x'.repeat(10_000_000)}` },
  'truncated JSON': { raw: 'data: {"choices":[{"delta":{"content":"half\n\n' },
  'JSON of another shape': { raw: 'data: [1,2]\n\n' },
}
for (const [what, part] of Object.entries(garbage)) {
  void test(`fault.model-stream-malformed: ${what} in the stream: before the first text the model is called again, after it the turn ends with error, nothing stored`, () =>
    eachTransport(what, async (app, sent) => {
      app.model.script([part], 'fine')
      await send(app, sent)
      await answeredOnce(app, sent, { content: 'fine', calls: 2 })
      const later = await makeSent(app, `${sent.message}, later`, { transport: sent.transport })
      app.model.script(['half', part])
      await failsAs(app, later, { code: 'service_unavailable', calls: 1, deltas: 1 })
    }))
}

for (const how of ['end', 'fin', 'rst'] as const) {
  void test(`fault.model-stream-truncated stream.after-delta: a reply cut off by ${how}: no completion, error, no charge, no reply stored`, () =>
    eachTransport(how, async (app, sent) => {
      const held = gate()
      app.model.script(['half', held, cut(how)])
      const asked = failsAs(app, sent, { code: 'service_unavailable', calls: 1, deltas: 1 })
      await held.reached
      // A reset discards what has not been read yet. The service is in this process and reads before a timer of the test fires.
      await pass(50)
      held.open()
      const reported = await asked
      await runsAgain(app, sent, reported, 1)
    }))
}

void test('fault.model-stream-truncated: a reply cut at any byte of the wire is whole and charged once, or an error with nothing stored; never a part of it', async (t) => {
  await using app = await startTestApp()
  const proxy = await startFaultProxy(Number(new URL(app.model.baseUrl).port))
  t.after(() => proxy.close())
  await app.made('POST', '/providers', { name: 'cut', kind: 'openai-compatible', base_url: proxy.through(app.model.baseUrl), api_key: 'k' })
  const content = 'one two three'
  const outcomes = { whole: 0, broken: 0 }
  // The response has some 1,200 bytes; a step that shares no factor with a line's length reaches every kind of position.
  for (let bytes = 1, n = 0; bytes < 1300; bytes += 53, n++) {
    const how: How = n % 2 ? 'rst' : 'fin'
    const sent = await makeSent(app, `cut at ${bytes}`, { transport: transports[n % 2]!, agent: { model: 'cut/test-model' } })
    app.model.when(sent.message, ['one ', 'two ', 'three'])
    proxy.reset()
    void proxy.cutAfter(bytes, how)
    const reported = await send(app, sent)
    if (reported.reply) {
      outcomes.whole += 1
      await answeredOnce(app, sent, { content, calls: callsOf(app, sent) })
    } else {
      outcomes.broken += 1
      assert.equal(reported.code, 'service_unavailable')
      const { request_id: requestId } = reported.answer.json['error'] ?? reported.events.at(-1)!.data
      await nothingKept(app, sent, { requestId, calls: 1, code: 'service_unavailable' })
    }
  }
  t.diagnostic(`${outcomes.whole} whole, ${outcomes.broken} broken`)
  assert.ok(outcomes.whole > 2 && outcomes.broken > 2)
})

const inStream: Part = { event: { error: { message: 'CANARY overloaded', code: 503 } } }
void test('fault.model-error-in-200: an error within a 200: before the first text the model is called again, at most twice; after it the turn ends with error', () =>
  eachTransport('error within', async (app, sent) => {
    app.model.script([inStream], [inStream], [inStream])
    const reported = await failsAs(app, sent, { code: 'service_unavailable', calls: 3 })
    assert.doesNotMatch(reported.answer.text, /CANARY/)
    await runsAgain(app, sent, reported, 3)
    const later = await makeSent(app, `after a word on ${sent.transport}`, { transport: sent.transport })
    app.model.script(['half', inStream])
    const broken = await failsAs(app, later, { code: 'service_unavailable', calls: 1, deltas: 1 })
    assert.doesNotMatch(broken.answer.text, /CANARY/)
    await runsAgain(app, later, broken, 1)
  }))
