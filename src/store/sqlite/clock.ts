/** The store's clock on SQLite: the writer's (`clock`). Tests move it through an offset shared by the store's threads. */
import type { Clock } from './hot.ts'

/** `offset` holds one Float64 of milliseconds. */
export function createClock(offset: SharedArrayBuffer): Clock {
  const moved = new Float64Array(offset)
  return {
    now: () => Math.floor(Date.now() + moved[0]!),
    leaseNow: () => performance.timeOrigin + performance.now() + moved[0]!,
  }
}
