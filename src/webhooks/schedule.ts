/** When a delivery is sent again (`webhook.delivered`). */

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** Milliseconds before each attempt after the first one, which is immediate. After the last attempt the delivery has failed. */
const delaysMs = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]

// So that deliveries that failed together do not come back together.
const jitter = 0.1

/** Returns the milliseconds until the next attempt, or undefined if `attempt` (from 1) was the last one. `random` is from 0 to 1. */
export function delayAfter(attempt: number, random: number): number | undefined {
  const delay = delaysMs[attempt - 1]
  return delay === undefined ? undefined : Math.round(delay * (1 + jitter * (2 * random - 1)))
}
