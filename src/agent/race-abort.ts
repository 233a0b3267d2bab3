/** Stops waiting on an abort for work that takes no signal, or that other callers wait for too. The work itself goes on. */

/** Settles like `work`, or rejects with the signal's reason as soon as the signal is aborted, even if it was aborted before the call. */
export async function raceAbort<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const aborted = Promise.withResolvers<never>()
  const onAbort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([aborted.promise, work])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
