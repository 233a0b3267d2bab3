/** The store's clock on SQLite: that of the writer (`clock`). Tests move it through an offset that the store's threads share. */

export type Clock = {
  /** Wall clock in epoch milliseconds, for times that are shown and for the 24 hours of a record. */
  now(): number
  /** Monotonic milliseconds for leases, so that setting the clock neither ends nor extends a lease. */
  leaseNow(): number
}

/** `offset` contains one Float64 of milliseconds. */
export function createClock(offset: SharedArrayBuffer): Clock {
  const moved = new Float64Array(offset)
  return {
    now: () => Math.floor(Date.now() + moved[0]!),
    leaseNow: () => performance.timeOrigin + performance.now() + moved[0]!,
  }
}
