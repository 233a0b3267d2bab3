/** The store's clock on SQLite: the writer's (`clock`). Tests move it through an offset shared by the store's threads. */

export type Clock = {
  /** Wall clock, epoch ms: what is shown and what the 24 hours are counted on. */
  now(): number
  /** Monotonic, epoch-like ms: what leases run on, so that a set clock neither kills nor keeps a turn. */
  leaseNow(): number
}

/** `offset` holds one Float64 of milliseconds. */
export function createClock(offset: SharedArrayBuffer): Clock {
  const moved = new Float64Array(offset)
  return {
    now: () => Math.floor(Date.now() + moved[0]!),
    leaseNow: () => performance.timeOrigin + performance.now() + moved[0]!,
  }
}
