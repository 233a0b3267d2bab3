/**
 * A deadline for an answer: what comes later is a rejection with `Late`. An answer that had already arrived is never called late: after a
 * blocked event loop the timers run before the sockets are read, so the sockets get one more look.
 */

/** Nothing came in time; what was asked may still happen. */
export class Late extends Error {}

export async function within<Value>(deadlineMs: number, answer: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const tooLate = (): void => late.reject(new Late(`no answer within ${deadlineMs} ms`))
  const timer = setTimeout(() => setImmediate(tooLate), deadlineMs)
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
