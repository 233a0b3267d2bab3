/**
 * A deadline for an asynchronous response: rejects with `Late` after it. Time in which this process could not run does not count. After the
 * event loop was blocked, timers run before sockets are read, and possibly before the request was sent, so the deadline starts again.
 */

/** No response arrived in time. The operation may still take effect. */
export class Late extends Error {}

export async function within<Value>(deadlineMs: number, answer: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const tooLate = (): void => late.reject(new Late(`no answer within ${deadlineMs} ms`))
  let timer: NodeJS.Timeout
  const begin = (): void => {
    const due = performance.now() + deadlineMs
    timer = setTimeout(() => {
      // A timer may itself be a little late, so the sockets are read once more.
      if (performance.now() - due > deadlineMs / 10) begin()
      else setImmediate(tooLate)
    }, deadlineMs)
  }
  begin()
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer!)
  }
}
