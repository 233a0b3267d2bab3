/**
 * Bounds one attempt: its time, the time without a byte, and the caller's signal. Ends the request when one of them is reached, and leaves no timer
 * and no listener behind.
 */
import { APIConnectionTimeoutError, APIUserAbortError } from './errors.ts'

// The longest that setTimeout can wait; beyond it, it would fire at once.
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
        // First, so that whoever waits is told this reason and not fetch's own.
        reject(error)
        this.#controller.abort(error)
      }
    })
    // Where nobody waits when it ends, nobody needs to know.
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

  /** What the work brings; where the attempt ends first, its reason is thrown and the work's own end is ignored. */
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

  /** The attempt is over; nothing is ended by it any more. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#caller?.removeEventListener('abort', this.#onAbort)
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`
