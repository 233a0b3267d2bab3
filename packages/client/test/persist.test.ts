/** Between two attempts: what ends a wait, and when there is no further attempt. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { APIUserAbortError, ServiceUnavailableError } from '../src/client.ts'
import { makeApiError } from '../src/errors.ts'
import { persist } from '../src/persist.ts'

const limits = { timeout: 1_000, maxRetries: 10, maxWait: 1_000_000 }
const down = (retryAfter: number) => makeApiError('Down.', { code: 'service_unavailable', status: 503, retryAfter })

test('if a wait ends late and maxWait is over, the last error is thrown and there is no further attempt', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const attempt = t.mock.fn(async () => {
    throw down(0.01)
  })
  const ended = assert.rejects(persist({ ...limits, maxWait: 50 }, attempt), ServiceUnavailableError)
  // It is waiting by the next iteration of the event loop.
  await new Promise((resolve) => setImmediate(resolve))
  now = 50
  t.mock.timers.tick(50)
  await ended
  assert.equal(attempt.mock.callCount(), 1)
})

test('a signal that is aborted while an attempt fails ends the call immediately, and not after the wait', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const caller = new AbortController()
  const attempt = t.mock.fn(async () => {
    caller.abort('enough')
    throw down(200)
  })
  const ended = persist({ ...limits, signal: caller.signal }, attempt).catch((error: unknown) => error)
  const first = await Promise.race([ended, new Promise((resolve) => setImmediate(resolve))])
  assert.ok(first instanceof APIUserAbortError && first.cause === 'enough', String(first))
  assert.equal(attempt.mock.callCount(), 1)
})
