/** Calls of a model over real HTTP: their deadlines, their connections and their abort by the signal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider } from '../../src/agent/models/models.ts'
import { createModels } from '../../src/agent/models/models.ts'
import { defaultDeadlines } from '../../src/agent/models/transport/exchange.ts'
import { apiKey, startAsker, withModels, withTcpServer } from '../support/ask-model.ts'
import { fakeTimers } from '../support/fake-timers.ts'
import { gate } from '../support/model-server.ts'
import type { Part } from '../support/model-server.ts'

const asker = startAsker()
const { ask, failure } = asker

test('openai-compatible: a provider that cannot be called is refused before any call', () => {
  const open = (provider: Provider) => () => asker.models.open(provider)
  const refused = { kind: 'refused' }
  assert.throws(open({ kind: 'openai-compatible', baseUrl: null, apiKey }), refused)
  assert.throws(open({ kind: 'openai-compatible', baseUrl: 'localhost:11434', apiKey }), refused)
  assert.throws(open({ kind: 'openai', baseUrl: 'file:///etc/passwd', apiKey }), refused)
})

test('turn.states: a key that is invalid in a header is refused and not shown', async () => {
  assert.equal((await failure({ provider: { apiKey: 'sk-canary\n' } })).kind, 'refused')
})

test('fault.model-silent fault.model-host-unresolved: a refused connection and a name that does not resolve are unavailable', async () => {
  const closed = await withTcpServer(ignore, async (port) => port)
  for (const baseUrl of [`http://127.0.0.1:${closed}/v1`, 'http://name.invalid/v1'])
    assert.equal((await failure({ provider: { baseUrl } })).kind, 'unavailable')
})

test('fault.model-silent: the connect deadline includes TLS', async () => {
  await withTcpServer(ignore, (port) =>
    withModels({ connectMs: 50 }, async (models) => {
      const error = await failure({ models, provider: { baseUrl: `https://127.0.0.1:${port}` } })
      assert.equal(error.kind, 'unavailable')
      assert.match(error.message, /connect timeout/i)
    }),
  )
})

test('fault.model-silent: headers that never arrive, comments and empty deltas do not extend the first-token deadline', async () => {
  const deadlines = { firstTokenMs: 50, idleMs: 30_000, tailMs: 30_000 }
  await withModels({ deadlines }, async (models) => {
    await withTcpServer(ignore, async (port) =>
      assert.match((await failure({ models, provider: { baseUrl: `http://127.0.0.1:${port}` } })).message, /no data for 50 ms/),
    )
    const call = asker.server.nextCall()
    asker.server.script([{ raw: ': ping\n\n' }, { event: { choices: [{ delta: { role: 'assistant', content: '' } }] } }, gate()])
    assert.match((await failure({ models })).message, /no data for 50 ms/)
    assert.equal(await (await call).ended, 'aborted')
  })
})

test('fault.model-stalls-mid-stream: silence after the first piece, be it reasoning or a tool call, ends the call at the idle deadline', async () => {
  await withModels({ deadlines: { firstTokenMs: 30_000, idleMs: 50, tailMs: 30_000 } }, async (models) => {
    for (const part of ['Hel', { reasoning: 'hm' }, { toolCall: { id: 'a', name: 'x' } }] satisfies Part[]) {
      const call = asker.server.nextCall()
      asker.server.script([part, gate()])
      const error = await failure({ models })
      assert.equal(error.kind, 'unavailable')
      assert.match(error.message, /no data for 50 ms/)
      assert.equal(await (await call).ended, 'aborted')
    }
  })
})

test('fault.model-silent fault.model-stalls-mid-stream: by default the first piece may take 60 s, and every piece after it 45 s more', async (t) => {
  const { pass } = fakeTimers(t, (ms) => ms >= 30_000)
  await withModels({}, async (models) => {
    const gates = [gate(), gate(), gate(), gate()]
    asker.server.script([gates[0]!, 'x', gates[1]!, 'y', gates[2]!, 'z', gates[3]!])
    const left = gates.map(() => Promise.withResolvers<void>())
    left[0]!.resolve()
    let pieces = 0
    const error = failure({ models, onText: () => left[++pieces]!.resolve() })
    for (const [n, held] of gates.entries()) {
      await Promise.all([held.reached, Promise.race([left[n]!.promise, error])])
      pass(n === 0 ? 59_999 : 44_999)
      if (n < 3) held.open()
    }
    pass(1)
    assert.equal((await error).text, 'xyz')
    assert.match((await error).message, /no data for 45000 ms/)
  })
})

test('openai-compatible: silence after the finish completes the call without usage', async () => {
  await withModels({ deadlines: { ...defaultDeadlines, tailMs: 50 } }, async (models) => {
    asker.server.script([{ event: { choices: [{ delta: { content: 'x' }, finish_reason: 'stop' }] } }, gate()])
    assert.equal((await ask({ models })).usage, undefined)
  })
})

test('openai-compatible: the signal ends a call immediately with its reason and destroys its socket', async () => {
  const reason = new Error('the turn is over')
  for (const parts of [[gate()], ['Hel', gate()]]) {
    const stop = new AbortController()
    asker.server.script(parts)
    const next = asker.server.nextCall()
    const step = ask({ signal: stop.signal })
    const call = await next
    stop.abort(reason)
    await assert.rejects(step, (error) => error === reason)
    assert.equal(await call.ended, 'aborted')
  }
  const calls = asker.server.calls.length
  await assert.rejects(ask({ signal: AbortSignal.abort(reason) }), (error) => error === reason)
  assert.equal(asker.server.calls.length, calls)
})

test('openai-compatible: the signal ends a call that is still connecting, and nothing is sent once it is connected', async () => {
  await withModels({}, async (models) => {
    const stop = new AbortController()
    const reason = new Error('the turn is over')
    const step = ask({ models, signal: stop.signal, request: { messages: [{ role: 'user', content: 'never sent' }] } })
    stop.abort(reason)
    await assert.rejects(step, (error) => error === reason)
    await ask({ models })
    assert.equal(asker.server.calls.at(-1)?.lastUserMessage, 'Hello')
    assert(asker.server.calls.every(({ lastUserMessage }) => lastUserMessage !== 'never sent'))
  })
})

test('openai-compatible: an error thrown by the text listener ends the call with that error', async () => {
  const fault = new TypeError('ours')
  const onText = (): never => {
    throw fault
  }
  await assert.rejects(ask({ onText }), (error) => error === fault)
})

test('openai-compatible: close ends running calls as unavailable', async () => {
  const own = createModels()
  asker.server.script(['Hel', gate()])
  const error = await failure({ models: own, onText: () => void own.close() })
  assert.equal(error.kind, 'unavailable')
})

test('openai-compatible: consecutive calls reuse connections, and a hundred concurrent calls do not wait for each other', async () => {
  await withModels({}, async (models) => {
    // the completion does not wait for the end of the body, so the next call may find the first connection still busy
    for (let n = 0; n < 6; n++) await ask({ models })
    assert(new Set(asker.server.calls.slice(-6).map(({ callerPort }) => callerPort)).size <= 2)

    const gates = Array.from({ length: 100 }, () => gate())
    asker.server.script(...gates.map((held) => [held, 'x']))
    const calls = asker.server.calls.length
    const steps = gates.map(() => ask({ models }))
    await asker.server.waitForCalls(calls + 100)
    for (const held of gates) held.open()
    assert((await Promise.all(steps)).every(({ text }) => text === 'x'))
  })
})

function ignore(): void {}
