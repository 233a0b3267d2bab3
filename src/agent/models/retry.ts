/**
 * Retries calls to providers: at most twice, and only if the error is `unavailable`. A model call is only retried before the first text of
 * the turn was sent (`stream.after-delta`). This module waits between the attempts; the caller makes the call and sets its deadlines.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { ModelError } from './model.ts'
import type { Model, ModelCall, ModelRequest, ModelStep } from './model.ts'

/** Three attempts in total; see "Streaming" in docs/spec.md. */
// mutant: stream.after-delta
const maxRetries = 2
// The second wait is four times as long: a dropped connection can be retried almost immediately, an overloaded provider needs about a
// second.
const firstBackoffMs = 250
/**
 * If the provider asks for a longer wait, the call is not retried: callers give up after 120 s, so an early 503 is better than a late one.
 */
export const maxWaitMs = 20_000

export type RetriedCall = ModelCall & {
  /** Called after a failure. Returns false once text of the turn was sent. */
  mayRetry: () => boolean
  /** Called before each wait, so that the caller can discard what the failed attempt produced. */
  onRetry?: (error: ModelError, waitMs: number) => void
}

/** Replaces randomness and timers in tests. `random` returns a number in [0, 1); `sleep` rejects when the signal aborts. */
export type RetryOptions = { random?: () => number; sleep?: (ms: number, signal: AbortSignal) => Promise<void> }

/**
 * Like `Model.generate`, but rejects with the error of the last attempt. An abort rejects with `signal.reason` immediately, even during a
 * wait.
 */
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
  /** If the provider asks for a longer wait, the call is not retried. */
  maxWaitMs: number
}

/** Makes a call to a provider, and retries it up to twice if it fails with `unavailable`. */
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
      // An aborted timer rejects with an error of its own, but callers expect the signal's reason.
      await sleep(waitMs, signal).finally(() => signal.throwIfAborted())
    }
  }
}

// Half fixed and half random, so that turns that failed together are not retried together. Added to a Retry-After, never subtracted from
// it.
const backoffMs = (attempt: number, random: number): number => Math.round(firstBackoffMs * 4 ** attempt * (0.5 + random / 2))

async function sleepFor(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal })
}
