/**
 * Limits one attempt: its duration, the time without a byte, and the caller's signal. Ends the request when a limit is reached, and leaves
 * no timer or listener behind.
 */
import { APIConnectionTimeoutError, APIUserAbortError } from './errors.ts'

// The longest time for setTimeout. A longer one would fire immediately.
const maxTimerMs = 2 ** 31 - 1

export const makeTimer = (run: () => void, ms: number): ReturnType<typeof setTimeout> => setTimeout(run, Math.min(ms, maxTimerMs))

export const aborted = (signal: AbortSignal): APIUserAbortError =>
  new APIUserAbortError('The call was aborted. Its turn may go on: the same idempotency key brings the reply.', { cause: signal.reason })

export class Watch {
  readonly #controller = new AbortController()
  readonly #over: Promise<never>
  readonly #timer: ReturnType<typeof setTimeout>
  readonly #caller: AbortSignal | undefined
  readonly #onAbort: () => void
  #end: (error: Error) => void = () => undefined

  constructor(timeoutMs: number, caller: AbortSignal | undefined) {
    this.#over = new Promise((_, reject) => {
      this.#end = (error) => {
        // Rejects first, so that the caller gets this reason instead of fetch's own.
        reject(error)
        this.#controller.abort(error)
      }
    })
    // If nothing waits for it when it ends, the rejection needs no handler.
    this.#over.catch(() => undefined)
    this.#timer = makeTimer(() => this.#end(new APIConnectionTimeoutError(`No answer within ${seconds(timeoutMs)}.`)), timeoutMs)
    this.#caller = caller
    this.#onAbort = () => caller && this.#end(aborted(caller))
    if (caller?.aborted) this.#onAbort()
    else caller?.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** For fetch. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Resolves with the result of the work. If the attempt ends first, its reason is thrown and the result is ignored. */
  async hold<Result>(work: Promise<Result>, quietMs?: number): Promise<Result> {
    const timer =
      quietMs === undefined
        ? undefined
        : makeTimer(() => this.#end(new APIConnectionTimeoutError(`No byte of the stream came within ${seconds(quietMs)}.`)), quietMs)
    try {
      return await Promise.race([work, this.#over])
    } finally {
      clearTimeout(timer)
    }
  }

  /** The attempt is over, so nothing can end it any more. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#caller?.removeEventListener('abort', this.#onAbort)
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`
