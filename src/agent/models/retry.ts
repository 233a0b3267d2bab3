/**
 * Calls a model again where the rulings allow it: `stream.after-delta`, at most two retries, only for `unavailable`, only before the turn's first
 * text; and any other call of a provider by the same measure. Owns the waits between attempts and nothing else: what a call is, and its
 * deadlines, belong to who makes it.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { ModelError } from './model.ts'
import type { Model, ModelCall, ModelRequest, ModelStep } from './model.ts'

/** `stream.after-delta`: "the model call is retried, at most twice". */
const maxRetries = 2
// The first wait; the second is four times as long. A dropped connection is worth an instant retry, an overload a second of peace.
const firstBackoffMs = 250
/** A provider that asks for more is not asked again: the caller gets its 503 instead of a hanging request (callers give up after 120 s). */
export const maxWaitMs = 20_000

export type RetriedCall = ModelCall & {
  /** Asked after a failure; false once text of the turn has left. */
  mayRetry: () => boolean
  /** Told before each wait, so that the caller can forget what the failed attempt began. */
  onRetry?: (error: ModelError, waitMs: number) => void
}

/** Randomness and the timer, for tests. `random` is in [0, 1); `sleep` rejects when the signal aborts. */
export type RetryOptions = { random?: () => number; sleep?: (ms: number, signal: AbortSignal) => Promise<void> }

/** As `Model.generate`, with the last attempt's error; rejects with `signal.reason` as soon as the signal aborts, also while it waits. */
export function generateWithRetries(
  model: Model,
  request: ModelRequest,
  call: RetriedCall,
  options: RetryOptions = {},
): Promise<ModelStep> {
  return withRetries(() => model.generate(request, call), { ...call, maxWaitMs }, options)
}

export type Retried = Pick<RetriedCall, 'signal' | 'onRetry'> & {
  mayRetry?: () => boolean
  /** A provider that asks for more is not asked again. */
  maxWaitMs: number
}

/** Makes a call of a provider, and makes it again, at most twice, where it is `unavailable`. */
export async function withRetries<Result>(make: () => Promise<Result>, retried: Retried, options: RetryOptions = {}): Promise<Result> {
  const { signal, mayRetry = () => true, onRetry } = retried
  const { random = Math.random, sleep = sleepFor } = options
  for (let attempt = 0; ; attempt++) {
    try {
      signal.throwIfAborted()
      return await make()
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof ModelError) || error.kind !== 'unavailable' || attempt === maxRetries || !mayRetry()) throw error
      const askedMs = error.retryAfterMs ?? 0
      if (askedMs > retried.maxWaitMs) throw error
      const waitMs = askedMs + backoffMs(attempt, random())
      onRetry?.(error, waitMs)
      // the timer rejects with an error of its own; the caller is promised the signal's reason
      await sleep(waitMs, signal).finally(() => signal.throwIfAborted())
    }
  }
}

// Half of it fixed, half of it random: turns that failed together do not come back together. Added to a Retry-After, never taken from it.
const backoffMs = (attempt: number, random: number): number => Math.round(firstBackoffMs * 4 ** attempt * (0.5 + random / 2))

async function sleepFor(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal })
}
