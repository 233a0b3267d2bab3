/** The time of one guarded request: ends it when its caller, its clock or the guard says so. Knows nothing of what it bounds. */
import { raceAbort } from '../race-abort.ts'
import { failure, GuardFailed } from './refusal.ts'

export class Deadline {
  readonly #controller = new AbortController()
  readonly #request: { signal: AbortSignal }
  readonly #running: Set<Deadline>
  readonly #onAbort = (): void => this.stop(this.#request.signal.reason)
  readonly #timer: NodeJS.Timeout

  /** Stands in `running` until its end. Keeps the request itself: the signal of a web Request is heard only while that lives. */
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

  /** The clock begins anew. */
  refresh(): void {
    this.#timer.refresh()
  }

  /** Whatever the promise waits for: rejects with the signal's reason as soon as there is one. */
  bound<T>(promise: Promise<T>): Promise<T> {
    return raceAbort(promise, this.signal)
  }

  /** What the caller is told of an error: why the request was ended, where it was, and else what failed. */
  reasonOf(error: unknown): unknown {
    return this.signal.aborted ? this.signal.reason : failure(error)
  }

  stop(reason: unknown): void {
    this.end()
    this.#controller.abort(reason)
  }

  /** There is nothing left to end. */
  end(): void {
    clearTimeout(this.#timer)
    this.#request.signal.removeEventListener('abort', this.#onAbort)
    this.#running.delete(this)
  }
}
