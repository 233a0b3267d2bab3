/**
 * What every rate window does, whatever its backend: one table for process memory, Redis and PostgreSQL. Real servers have their own clocks
 * and take real time, so no case is within ten seconds of the end of a window.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { RateOutcome } from '../../src/access/outcome.ts'
import type { RateWindow } from '../../src/access/rate-window.ts'

export type WindowUnderTest = {
  window: RateWindow
  /** Epoch milliseconds by the clock of the windows. */
  now(): Promise<number>
  /** Ages all windows by this much. */
  pass(ms: number): Promise<void>
}

export const figuresOf = (outcome: RateOutcome) => {
  assert.ok(outcome.kind !== 'unavailable')
  return outcome.figures
}

/** One unit of a key that no other test uses. */
const spender =
  ({ window }: WindowUnderTest, apiKeyId = `key_${randomUUID()}`) =>
  (limit = 3, windowSeconds = 60) =>
    window.spend({ apiKeyId, limit, windowSeconds })

const cases: Record<string, (subject: WindowUnderTest) => Promise<void>> = {
  'rate.window: counts down, then refuses until the end, which is returned and does not move': async (subject) => {
    const spend = spender(subject)
    const before = await subject.now()
    const outcomes = [await spend(), await spend(), await spend(), await spend(), await spend()]
    const after = await subject.now()
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['allowed', 'allowed', 'allowed', 'exceeded', 'exceeded'],
    )
    const figures = outcomes.map(figuresOf)
    assert.deepEqual(
      figures.map(({ limit, remaining }) => [limit, remaining]),
      [2, 1, 0, 0, 0].map((remaining) => [3, remaining]),
    )
    const [end] = figures.map(({ resetAt }) => resetAt * 1000)
    assert.ok(figures.every(({ resetAt }) => resetAt * 1000 === end))
    assert.ok(end! >= before + 60_000 && end! < after + 61_001, 'rounded up to whole seconds')
    for (const outcome of outcomes.slice(3)) {
      assert.ok(outcome.kind === 'exceeded')
      assert.ok(Number.isInteger(outcome.retryAfterSeconds) && outcome.retryAfterSeconds <= 60)
      assert.ok(after + outcome.retryAfterSeconds * 1000 >= before + 60_000, 'never early')
    }
  },

  'rate.window: is opened by the first request and lasts its whole length': async (subject) => {
    const spend = spender(subject)
    for (let n = 0; n < 3; n++) {
      assert.equal((await spend(1)).kind, 'allowed')
      await subject.pass(45_000)
      const outcome = await spend(1)
      assert.ok(outcome.kind === 'exceeded' && outcome.retryAfterSeconds <= 15)
      await subject.pass(16_000)
    }
  },

  'rate.spend: gives every key a separate window': async (subject) => {
    const [a, b] = [spender(subject), spender(subject)]
    assert.deepEqual([(await a(1)).kind, (await a(1)).kind, (await b(1)).kind], ['allowed', 'exceeded', 'allowed'])
  },

  'rate.spend: a refused request spends nothing and does not extend the window': async (subject) => {
    const spend = spender(subject)
    const { resetAt } = figuresOf(await spend(1))
    for (let n = 0; n < 3; n++) assert.equal((await spend(1)).kind, 'exceeded')
    assert.deepEqual(figuresOf(await spend(3)), { limit: 3, remaining: 1, resetAt })
  },

  'rate.window: a changed limit applies immediately, and Remaining is never below 0': async (subject) => {
    const spend = spender(subject)
    for (let n = 0; n < 3; n++) await spend(3)
    assert.equal((await spend(3)).kind, 'exceeded')
    assert.equal(figuresOf(await spend(5)).remaining, 1)
    const lowered = await spend(2)
    assert.deepEqual([lowered.kind, figuresOf(lowered).remaining], ['exceeded', 0])
  },

  'rate.window: a changed length applies to the current window': async (subject) => {
    const spend = spender(subject)
    const { resetAt } = figuresOf(await spend(1, 60))
    const longer = await spend(1, 120)
    assert.equal(longer.kind, 'exceeded')
    assert.equal(figuresOf(longer).resetAt, resetAt + 60)
    await subject.pass(80_000)
    assert.equal((await spend(1, 120)).kind, 'exceeded')
    assert.equal((await spend(1, 70)).kind, 'allowed')
  },

  'rate.window: a longer length does not reopen an ended window': async (subject) => {
    const spend = spender(subject)
    assert.equal((await spend(1, 60)).kind, 'allowed')
    await subject.pass(80_000)
    assert.equal((await spend(1, 3_600)).kind, 'allowed')
  },

  'rate.spend: of many concurrent requests exactly the limit is accepted, each with a different Remaining': async (subject) => {
    const spend = spender(subject)
    const outcomes = await Promise.all(Array.from({ length: 200 }, () => spend(50)))
    const accepted = outcomes.filter(({ kind }) => kind === 'allowed').map((outcome) => figuresOf(outcome).remaining)
    assert.deepEqual(
      accepted.toSorted((a, b) => b - a),
      Array.from({ length: 50 }, (_, spent) => 49 - spent),
    )
    assert.equal(outcomes.filter(({ kind }) => kind === 'exceeded').length, 150)
  },
}

export function testWindow(where: string, setUp: (t: TestContext) => Promise<WindowUnderTest>, skip: string | false = false): void {
  for (const [title, run] of Object.entries(cases)) void test(`${where}: ${title}`, { skip }, async (t) => run(await setUp(t)))
}
