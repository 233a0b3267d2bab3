/**
 * A deadline for an asynchronous answer. Time in which this process could not run does not count: after the event loop was blocked, timers
 * run before sockets are read, and possibly before the request was sent, so the deadline starts again.
 */

// A timer is always a little late.
const blockedMs = 10

/** No answer arrived in time. The operation may still take effect. */
export class Late extends Error {}

/** Resolves or rejects as `answer` does, or after the deadline as `late` returns or throws; by default rejects with Late. */
export async function within<Value>(deadlineMs: number, answer: Promise<Value>, late: () => Value = tooLate(deadlineMs)): Promise<Value> {
  const deadline = Promise.withResolvers<Value>()
  const end = (): void => {
    try {
      deadline.resolve(late())
    } catch (error) {
      deadline.reject(error)
    }
  }
  let timer: NodeJS.Timeout
  const begin = (): void => {
    const due = performance.now() + deadlineMs
    timer = setTimeout(() => {
      if (performance.now() - due > Math.max(blockedMs, deadlineMs / 10)) begin()
      // The sockets are read once more before the answer is late.
      else setImmediate(end)
    }, deadlineMs)
  }
  begin()
  try {
    return await Promise.race([answer, deadline.promise])
  } finally {
    clearTimeout(timer!)
  }
}

const tooLate = (deadlineMs: number) => (): never => {
  throw new Late(`no answer within ${deadlineMs} ms`)
}
