/**
 * The in-process rate window (docs/spec.md, "Rate limit"), with clocks that the tests move. The table of all windows is
 * rate-window-cases.ts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { createMemoryWindow } from '../../src/access/rate-window.ts'
import { figuresOf, testWindow } from './rate-window-cases.ts'

/** A window with two clocks; they start at the given times and move together. */
function windowAt({ monotonic = 5_000.25, wall = 1_700_000_000_400 } = {}) {
  const clock = { monotonic, wall }
  const window = createMemoryWindow({ monotonicMs: () => clock.monotonic, wallMs: () => Math.floor(clock.wall) })
  const spend = (limit = 3, windowSeconds = 60, apiKeyId = 'key_a') => window.spend({ apiKeyId, limit, windowSeconds })
  const move = (milliseconds: number): void => {
    clock.monotonic += milliseconds
    clock.wall += milliseconds
  }
  return { window, clock, spend, move }
}

testWindow('memory', async () => {
  const { window, clock, move } = windowAt()
  return { window, now: async () => Math.floor(clock.wall), pass: async (ms) => move(ms) }
})

void test('rate.window: counts down, then refuses with the seconds to the end rounded up', async () => {
  const { spend, move } = windowAt()
  const resetAt = 1_700_000_061
  assert.deepEqual(await spend(), { kind: 'allowed', figures: { limit: 3, remaining: 2, resetAt } })
  move(1)
  assert.deepEqual(await spend(), { kind: 'allowed', figures: { limit: 3, remaining: 1, resetAt } })
  assert.deepEqual(await spend(), { kind: 'allowed', figures: { limit: 3, remaining: 0, resetAt } })
  assert.deepEqual(await spend(), { kind: 'exceeded', figures: { limit: 3, remaining: 0, resetAt }, retryAfterSeconds: 60 })
  move(59_998.5)
  assert.deepEqual(await spend(), { kind: 'exceeded', figures: { limit: 3, remaining: 0, resetAt }, retryAfterSeconds: 1 })
  move(0.5)
  assert.deepEqual(await spend(), { kind: 'allowed', figures: { limit: 3, remaining: 2, resetAt: resetAt + 60 } })
})

void test('rate.window: is opened by the first request, not by the clock', async () => {
  const { spend, move } = windowAt()
  for (let window = 0; window < 3; window++) {
    for (let n = 0; n < 3; n++) assert.equal((await spend()).kind, 'allowed')
    move(59_000)
    assert.equal((await spend()).kind, 'exceeded')
    move(500_000)
  }
})

void test('rate.window: a changed limit or length applies immediately, and Remaining is never below 0', async () => {
  const { spend, move } = windowAt()
  for (let n = 0; n < 3; n++) await spend(3)
  assert.equal((await spend(3)).kind, 'exceeded')
  assert.deepEqual(figuresOf(await spend(5)).remaining, 1)
  assert.deepEqual(figuresOf(await spend(2)), { limit: 2, remaining: 0, resetAt: 1_700_000_061 })
  move(10_000)
  assert.equal((await spend(2, 60)).kind, 'exceeded')
  assert.equal((await spend(2, 10)).kind, 'allowed')
})

void test('rate.window: setting the wall clock does not change the decision', async () => {
  const { clock, spend } = windowAt()
  const { resetAt } = figuresOf(await spend(1))
  clock.wall -= 3_600_000
  assert.deepEqual(figuresOf(await spend(1)).resetAt, resetAt)
  clock.wall += 7_200_000
  assert.equal((await spend(1)).kind, 'exceeded')
})

void test('rate.window: ended windows are removed, so keys that were used once do not stay in memory', async () => {
  const clock = { now: 0 }
  const window = createMemoryWindow({ monotonicMs: () => clock.now, wallMs: () => clock.now })
  await window.spend({ apiKeyId: 'key_lasting', limit: 1, windowSeconds: 1_000_000 })
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  collect()
  const before = process.memoryUsage().heapUsed
  for (let key = 0; key < 100_000; key++) {
    clock.now += 1
    await window.spend({ apiKeyId: `key_${key}`, limit: 1, windowSeconds: 1 })
  }
  collect()
  assert.ok(process.memoryUsage().heapUsed - before < 5_000_000)
  assert.equal((await window.spend({ apiKeyId: 'key_lasting', limit: 1, windowSeconds: 1_000_000 })).kind, 'exceeded')
})

void test('rate.window: for any sequence of requests: never over the limit, never early, one end per window, consistent figures', async () => {
  const steps = fc.array(fc.record({ afterMs: fc.double({ min: 0, max: 4_000, noNaN: true }), key: fc.constantFrom('key_a', 'key_b') }), {
    minLength: 1,
    maxLength: 80,
  })
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 1, max: 9 }),
      fc.nat(999),
      async (requests, limit, seconds, phase) => {
        const { clock, spend, move } = windowAt({ wall: 1_700_000_000_000 + phase + 0.75 })
        const open = new Map<string, { from: number; fromWall: number; accepted: number; resetAt: number }>()
        for (const { afterMs, key } of requests) {
          move(afterMs)
          const outcome = await spend(limit, seconds, key)
          const figures = figuresOf(outcome)
          let own = open.get(key)
          // The window counts whole milliseconds.
          if (!own || clock.monotonic >= own.from + seconds * 1000) {
            own = { from: Math.floor(clock.monotonic), fromWall: clock.wall, accepted: 0, resetAt: figures.resetAt }
            open.set(key, own)
          }
          assert.equal(outcome.kind, own.accepted < limit ? 'allowed' : 'exceeded')
          if (outcome.kind === 'allowed') own.accepted += 1
          assert.deepEqual(figures, { limit, remaining: limit - own.accepted, resetAt: own.resetAt })
          const end = own.from + seconds * 1000
          const endWall = own.fromWall + seconds * 1000
          assert.ok(figures.resetAt * 1000 >= endWall && figures.resetAt * 1000 < endWall + 1_001, 'rounded up, by a second at most')
          if (outcome.kind !== 'exceeded') continue
          assert.ok(outcome.retryAfterSeconds >= 1 && clock.monotonic + outcome.retryAfterSeconds * 1000 >= end, 'never early')
          assert.ok(
            outcome.retryAfterSeconds === 1 || Math.floor(clock.monotonic) + (outcome.retryAfterSeconds - 1) * 1000 < end,
            'not a second too late',
          )
        }
      },
    ),
    { numRuns: 300 },
  )
})
