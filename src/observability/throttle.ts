/** Limits how often a lasting problem is logged, so that thousands of waiting requests do not flood the log. */

const logEveryMs = 10_000

/** Returns whether the last call that returned true was at least ten seconds ago. */
export function createThrottle(monotonicMs: () => number): () => boolean {
  let passedAt = -Infinity
  return () => {
    const now = monotonicMs()
    if (now - passedAt < logEveryMs) return false
    passedAt = now
    return true
  }
}
