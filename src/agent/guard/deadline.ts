/** Limits the time of one guarded request: ends it when the caller aborts, the time is up, or the guard is closed. */
import { raceAbort } from '../race-abort.ts'
import { failure, GuardFailed } from './refusal.ts'

export class Deadline {
  readonly #controller = new AbortController()
  readonly #request: { signal: AbortSignal }
  readonly #running: Set<Deadline>
  readonly #onAbort = (): void => this.stop(this.#request.signal.reason)
  readonly #timer: NodeJS.Timeout

  /**
   * Stays in `running` until it ends. Holds a reference to the request itself, because the signal of a web Request stops firing once the
   * Request is garbage-collected.
   */
  constructor(request: { signal: AbortSignal }, ms: number, running: Set<Deadline>) {
    this.#request = request
    this.#running = running
    running.add(this)
    this.#timer = setTimeout(() => this.stop(new GuardFailed(`there was no whole answer within ${ms / 1000} s`)), ms)
    request.signal.addEventListener('abort', this.#onAbort, { once: true })
    if (request.signal.aborted) this.#onAbort()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Restarts the timer. */
  refresh(): void {
    this.#timer.refresh()
  }

  /** Settles like `promise`, or rejects with the signal's reason as soon as the signal is aborted. */
  bound<T>(promise: Promise<T>): Promise<T> {
    return raceAbort(promise, this.signal)
  }

  /** Returns the error to report: the reason why the request was ended, if it was, or else what failed. */
  reasonOf(error: unknown): unknown {
    return this.signal.aborted ? this.signal.reason : failure(error)
  }

  stop(reason: unknown): void {
    this.end()
    this.#controller.abort(reason)
  }

  /** Stops the timer and the listener when the request is over. */
  end(): void {
    clearTimeout(this.#timer)
    this.#request.signal.removeEventListener('abort', this.#onAbort)
    this.#running.delete(this)
  }
}
