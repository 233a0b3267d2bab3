/**
 * A deadline for an answer: what comes later is a rejection with `Late`. Time in which this process could not look does not count: after a
 * blocked event loop the timers run before the sockets are read, and before what was asked for has even left, so the deadline begins anew.
 */

/** Nothing came in time; what was asked may still happen. */
export class Late extends Error {}

export async function within<Value>(deadlineMs: number, answer: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const tooLate = (): void => late.reject(new Late(`no answer within ${deadlineMs} ms`))
  let timer: NodeJS.Timeout
  const begin = (): void => {
    const due = performance.now() + deadlineMs
    timer = setTimeout(() => {
      // A timer that is a little late itself leaves the sockets one more look.
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
