/**
 * Deadlines that pass when the test says so, and not by the clock: what has to happen before one may take as long as the machine needs, and a
 * deadline costs no time. The timers of node:test are all fake or all real, have no `refresh`, and leave out `AbortSignal.timeout`.
 */
import type { TestContext } from 'node:test'

type Timer = { at: number; end(): void; refresh(): void; unref(): Timer }

export type FakeTimers = {
  /** The number of timers that were set and have neither ended nor been cleared. */
  readonly pending: number
  /** Moves the clock of these timers. */
  pass(ms: number): void
}

/** From now on, `setTimeout` and `AbortSignal.timeout` with these lengths follow the test. All others are real. */
export function fakeTimers(t: TestContext, isFake: (ms: number) => boolean): FakeTimers {
  const { setTimeout: realSet, clearTimeout: realClear } = globalThis
  const realSignal = AbortSignal.timeout.bind(AbortSignal)
  const timers = new Set<unknown>()
  let now = 0
  const add = (ms: number, end: () => void): Timer => {
    const timer: Timer = { at: now + ms, end, refresh: () => void (timer.at = now + ms), unref: () => timer }
    timers.add(timer)
    return timer
  }
  t.mock.method(globalThis, 'setTimeout', (end: (...args: unknown[]) => void, ms: number, ...args: unknown[]) =>
    isFake(ms) ? add(ms, () => end(...args)) : realSet(end, ms, ...args),
  )
  t.mock.method(globalThis, 'clearTimeout', (timer: NodeJS.Timeout) => void (timers.delete(timer) || realClear(timer)))
  t.mock.method(AbortSignal, 'timeout', (ms: number) => {
    if (!isFake(ms)) return realSignal(ms)
    const controller = new AbortController()
    add(ms, () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')))
    return controller.signal
  })
  return {
    get pending() {
      return timers.size
    },
    pass(ms) {
      now += ms
      for (const timer of timers as Set<Timer>) if (timer.at <= now && timers.delete(timer)) timer.end()
    },
  }
}
