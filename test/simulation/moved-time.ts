/**
 * Simulated time: timers, both clocks and random numbers are replaced while a simulation runs, and time moves only when the simulation
 * moves it. Installed once per process, because the sources import their timers by name; without a simulation, each function is Node's own.
 */
import { syncBuiltinESMExports } from 'node:module'
import promised from 'node:timers/promises'

/** What a simulation provides instead of Node's functions. A timer belongs to the process that is running when it is set. */
export interface MovedTime {
  monotonicMs(): number
  wallMs(): number
  random(): number
  setTimer(act: () => void, ms: number, repeats: boolean): object
  clearTimer(timer: object): void
}

let present: MovedTime | undefined

const real = {
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  clearTimeout: globalThis.clearTimeout,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  performanceNow: performance.now.bind(performance),
  dateNow: Date.now.bind(Date),
  random: Math.random.bind(Math),
  wait: promised.setTimeout,
}

/** The machine's clock, in milliseconds, for limiting how long a run takes. */
export const realMs = real.performanceNow

/** Resolves when all microtasks have run, including those that they queued. */
export const drained = (): Promise<void> => new Promise((resolve) => real.setImmediate(resolve))

/** Installs the timers and clocks of a simulation. `undefined` restores Node's own. */
export function moveTime(time: MovedTime | undefined): void {
  present = time
}

const setTimer =
  (own: typeof setTimeout, repeats: boolean) =>
  (act: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): unknown =>
    present ? present.setTimer(() => act(...args), ms, repeats) : own(act, ms, ...args)

const clearTimer =
  (own: typeof clearTimeout) =>
  (timer?: NodeJS.Timeout): void =>
    present ? timer && present.clearTimer(timer) : own(timer)

/** Like `setTimeout` of node:timers/promises: rejects when the signal aborts. */
function wait<Value>(ms?: number, value?: Value, options?: { signal?: AbortSignal }): Promise<Value> {
  if (!present) return real.wait(ms, value, options)
  const time = present
  return new Promise((resolve, reject) => {
    const signal = options?.signal
    const abort = (): void => {
      time.clearTimer(timer)
      reject(new DOMException('The operation was aborted', { name: 'AbortError', cause: signal?.reason }))
    }
    const timer = time.setTimer(
      () => {
        signal?.removeEventListener('abort', abort)
        resolve(value as Value)
      },
      ms ?? 1,
      false,
    )
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

Object.assign(globalThis, {
  setTimeout: setTimer(real.setTimeout, false),
  setInterval: setTimer(real.setInterval as typeof setTimeout, true),
  clearTimeout: clearTimer(real.clearTimeout),
  clearInterval: clearTimer(real.clearInterval),
})
Object.assign(promised, { setTimeout: wait })
syncBuiltinESMExports()
Object.defineProperty(performance, 'now', { value: () => (present ? present.monotonicMs() : real.performanceNow()), configurable: true })
Date.now = () => (present ? present.wallMs() : real.dateNow())
Math.random = () => (present ? present.random() : real.random())
