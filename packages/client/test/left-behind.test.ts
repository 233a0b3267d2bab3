/** What a call leaves behind: no timer, no listener, no unhandled rejection. And when a silent stream is given up. One after the other. */
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { APIUserAbortError, InternalServerError } from '../src/client.ts'
import { refused, replied, soon, startScriptedServer, streamed } from './scripted-server.ts'

const message = { externalUserId: 'ann', message: 'Hello' }
const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

test('calls that succeed, fail or are abandoned leave no timer and no listener', async () => {
  await using server = await startScriptedServer(
    refused(503, 'service_unavailable', soon),
    replied(),
    streamed(['Hel'], 'silence'),
    streamed([{ completed: 'Hi' }]),
    refused(422, 'validation_error'),
  )
  const client = server.client()
  const { signal } = new AbortController()
  const before = timers()
  await client.chat(message, { signal })
  const left = client.stream(message, { signal })
  for await (const event of left) if (event.type === 'response.output_text.delta') break
  await assert.rejects(left.completed, APIUserAbortError)
  await client.stream(message, { signal }).text()
  await assert.rejects(client.chat(message, { signal }))
  assert.equal(timers(), before)
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('a failing stream causes no unhandled rejection if completed is not used, or awaited later', async (t) => {
  const unhandled = t.mock.fn()
  process.on('unhandledRejection', unhandled)
  t.after(() => process.off('unhandledRejection', unhandled))
  await using server = await startScriptedServer(refused(500, 'internal_error'))
  const client = server.client()
  const alone = client.stream(message)
  await assert.rejects(async () => {
    for await (const event of alone) void event
  }, InternalServerError)
  const asked = client.stream(message)
  const { completed } = asked
  await assert.rejects(async () => {
    for await (const event of asked) void event
  }, InternalServerError)
  // Node reports them after the microtasks.
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(unhandled.mock.callCount(), 0)
  await assert.rejects(completed, InternalServerError)
})

test('a stream is given up after 45 s without a byte, and finished with the same key', async (t) => {
  await using server = await startScriptedServer(streamed(['Hel'], 'silence'), streamed(['Hello', { completed: 'Hello' }]))
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const signals: (AbortSignal | null | undefined)[] = []
  const watched: typeof fetch = (url, init) => {
    signals.push(init?.signal)
    return fetch(url, init)
  }
  const stream = server.client({ fetch: watched }).stream(message)
  const seen: string[] = []
  for await (const event of stream) {
    if (event.type !== 'response.output_text.delta') continue
    seen.push(event.delta)
    if (event.delta !== 'Hel') continue
    // The next read, with its timer, is waiting by the next iteration of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    t.mock.timers.tick(44_999)
    assert.equal(signals[0]?.aborted, false)
    t.mock.timers.tick(1)
    assert.equal(signals[0]?.aborted, true)
    await server.requests[0]?.closed
    t.mock.timers.tick(500)
  }
  assert.deepEqual(seen, ['Hel', 'lo'])
  assert.deepEqual(server.keys, [stream.idempotencyKey, stream.idempotencyKey])
})

test('a stream without response headers is given up after 45 s, too; a chat is not', async (t) => {
  const arrivals = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const mute = arrivals.map((arrival) => () => arrival.resolve())
  await using server = await startScriptedServer(...mute, streamed([{ completed: 'Hello' }]))
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const signals: (AbortSignal | null | undefined)[] = []
  const watched: typeof fetch = (url, init) => {
    signals.push(init?.signal)
    return fetch(url, init)
  }
  const client = server.client({ fetch: watched })
  const caller = new AbortController()
  const chat = client.chat(message, { signal: caller.signal }).catch((error: unknown) => error)
  await arrivals[0]?.promise
  t.mock.timers.tick(1)
  const stream = client.stream(message)
  const text = stream.text()
  await arrivals[1]?.promise
  t.mock.timers.tick(44_999)
  assert.deepEqual(
    signals.map((signal) => signal?.aborted),
    [false, false],
  )
  t.mock.timers.tick(1)
  assert.deepEqual(
    signals.map((signal) => signal?.aborted),
    [false, true],
  )
  await server.requests[1]?.closed
  t.mock.timers.tick(500)
  assert.equal(await text, 'Hello')
  assert.deepEqual(server.keys.slice(1), [stream.idempotencyKey, stream.idempotencyKey])
  caller.abort()
  assert.ok((await chat) instanceof APIUserAbortError)
})
