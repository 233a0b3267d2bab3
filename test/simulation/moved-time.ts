/**
 * Time that moves only when it is told to: timers, both clocks and chance are taken over for whoever is at work in a world, and given back
 * to everyone else. Taken over once for the process, since the sources import their timers by name; without a world each is Node's own.
 */
import { syncBuiltinESMExports } from 'node:module'
import promised from 'node:timers/promises'

/** What a world has in place of Node's own; a timer belongs to whoever is at work when it is set. */
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

/** The machine's own clock, for how long a run may last. */
export const realMs = real.performanceNow

/** Whatever was set off has come to rest: every microtask, and those that they set off. */
export const drained = (): Promise<void> => new Promise((resolve) => real.setImmediate(resolve))

/** From now on timers and clocks are this world's; undefined: Node's own again. */
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

/** As of node:timers/promises: rejects when the signal aborts. */
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
