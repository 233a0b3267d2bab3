/** Repeats attempts at one call until one succeeds or must not be repeated. retries.ts decides. */
import { APIError, TurnkeepError } from './errors.ts'
import type { Limits } from './options.ts'
import { sentAgain, waitMs } from './retries.ts'
import { aborted, makeTimer, Watch } from './watch.ts'

export type Call = Limits & { signal?: AbortSignal | undefined; idempotencyKey?: string | undefined }

/** Every error that it throws has the call's idempotency key. */
export async function persist<Result>(call: Call, attempt: (watch: Watch) => Promise<Result>): Promise<Result> {
  const { signal, timeout, maxRetries, maxWait } = call
  const began = performance.now()
  const leftMs = (): number => maxWait - (performance.now() - began)
  let failures = 0
  try {
    for (let sent = 0; ; sent++) {
      if (signal?.aborted) throw aborted(signal)
      const watch = new Watch(Math.min(timeout, leftMs()), signal)
      try {
        return await attempt(watch)
      } catch (error) {
        const again = sentAgain(error)
        if (!again) throw error
        if (again === 'fails') failures++
        const wait = waitMs(error instanceof APIError ? error.retryAfter : undefined, sent, Math.random())
        if (failures > maxRetries || wait >= leftMs()) throw error
        // The attempt is over, so its timer must not run during the wait.
        watch.stop()
        await pause(wait, signal)
        // In a busy or suspended process, a wait may end late.
        if (leftMs() <= 0) throw error
      } finally {
        watch.stop()
      }
    }
  } catch (error) {
    if (error instanceof TurnkeepError) Object.assign(error, { idempotencyKey: call.idempotencyKey })
    throw error
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer)
      if (signal) reject(aborted(signal))
    }
    const timer = makeTimer(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    // The signal may have been triggered while the attempt failed. It fires only once.
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
  })
}
