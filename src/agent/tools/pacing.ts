/** Lets the event loop have a turn between long checks of arguments. The calls of many turns may arrive together. */
import { setImmediate as nextTurn } from 'node:timers/promises'

// About a millisecond of work.
const maxAtOnce = 50_000

export class Pacing {
  /** Since the event loop last had a turn. */
  #operations = 0

  /** Returns what to wait for before the next check, or undefined if it may start. Ask again after the wait: others may have been faster. */
  pause(): Promise<void> | undefined {
    return this.#operations > maxAtOnce ? nextTurn() : undefined
  }

  count(operations: number): void {
    if (this.#operations === 0) setImmediate(() => void (this.#operations = 0))
    this.#operations += operations
  }
}
