import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError } from '../../src/agent/models/model.ts'
import type { Model, ModelCall, ModelRequest, ModelStep } from '../../src/agent/models/model.ts'
import { generateWithRetries, maxWaitMs } from '../../src/agent/models/retry.ts'
import type { RetriedCall } from '../../src/agent/models/retry.ts'

const request: ModelRequest = { modelId: 'm', messages: [], tools: [], maxOutputTokens: 10, temperature: null, passages: [] }
const step: ModelStep = { text: 'ok', toolCalls: [], finishReason: 'stop', usage: undefined }
const unavailable = (retryAfterMs?: number): ModelError =>
  new ModelError('unavailable', 'provider_503', 'down', retryAfterMs === undefined ? {} : { retryAfterMs })

/** A model that plays its attempts in order and counts them. */
function playing(...attempts: ((call: ModelCall) => ModelStep | Promise<ModelStep>)[]): Model & { calls: number } {
  return {
    calls: 0,
    async generate(_, call) {
      return attempts[this.calls++]!(call)
    },
  }
}
const failing = (error: unknown) => (): never => {
  throw error
}
const call = (changes: Partial<RetriedCall> = {}): RetriedCall => ({
  signal: new AbortController().signal,
  onText: () => undefined,
  mayRetry: () => true,
  ...changes,
})
/** Runs with a timer that never waits and the mean of all randomness; returns the waits too. */
function run(model: Model, changes: Partial<RetriedCall> = {}): { waits: number[]; result: Promise<ModelStep> } {
  const waits: number[] = []
  const result = generateWithRetries(model, request, call(changes), { random: () => 0.5, sleep: async (ms) => void waits.push(ms) })
  return { waits, result }
}

test('stream.after-delta: an unavailable model is called again at most twice, with growing waits, then its last error is returned', async () => {
  const last = unavailable()
  const model = playing(failing(unavailable()), failing(unavailable()), failing(last))
  const reported: number[] = []
  const { waits, result } = run(model, { onRetry: (_, waitMs) => reported.push(waitMs) })
  await assert.rejects(result, (error) => error === last)
  assert.equal(model.calls, 3)
  assert.deepEqual(waits, [188, 750])
  assert.deepEqual(reported, waits)
})

test('stream.after-delta: a retry that succeeds gives the reply', async () => {
  const model = playing(failing(unavailable()), () => step)
  assert.equal(await run(model).result, step)
})

test('stream.after-delta: once text of the turn has been sent, nothing is generated again', async () => {
  let left = ''
  const model = playing(({ onText }) => {
    onText('Hel')
    throw unavailable()
  })
  await assert.rejects(run(model, { onText: (text) => void (left += text), mayRetry: () => left === '' }).result, ModelError)
  assert.equal(model.calls, 1)
})

test('turn.states: a refused request, a prompt that is too long and an internal error are not retried', async () => {
  for (const error of [
    new ModelError('refused', 'provider_400', 'no'),
    new ModelError('too_long', 'prompt_too_long', 'no'),
    new TypeError('ours'),
  ]) {
    const model = playing(failing(error))
    await assert.rejects(run(model).result, (thrown) => thrown === error)
    assert.equal(model.calls, 1)
  }
})

test("retry: a provider's Retry-After is always honored, and one that exceeds the deadline ends the retries", async () => {
  const patient = run(playing(failing(unavailable(3000)), () => step))
  await patient.result
  assert.deepEqual(patient.waits, [3188])

  const model = playing(failing(unavailable(maxWaitMs + 1)))
  await assert.rejects(run(model).result, ModelError)
  assert.equal(model.calls, 1)
})

test('retry: the signal ends it immediately with its reason: before a call, during a call and during a wait', async () => {
  const reason = new Error('too late')
  const unused = playing()
  await assert.rejects(run(unused, { signal: AbortSignal.abort(reason) }).result, (error) => error === reason)
  assert.equal(unused.calls, 0)

  const within = new AbortController()
  const aborted = playing(() => {
    within.abort(reason)
    throw unavailable()
  })
  await assert.rejects(run(aborted, { signal: within.signal, mayRetry: () => false }).result, (error) => error === reason)
  assert.equal(aborted.calls, 1)

  // the real timer, which would hold the test for 20 seconds
  const waiting = new AbortController()
  const model = playing(failing(unavailable(maxWaitMs)))
  const result = generateWithRetries(
    model,
    request,
    call({ signal: waiting.signal, onRetry: () => setImmediate(() => waiting.abort(reason)) }),
  )
  await assert.rejects(result, (error) => error === reason)
  assert.equal(model.calls, 1)
})
