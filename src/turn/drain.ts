/** Waits at the end of a process for running turns to finish, up to a limit. Does not admit or release turns itself. */
import { setTimeout as wait } from 'node:timers/promises'
import type { LiveTurn } from './live-turn.ts'

// An admission or a claim in progress becomes a turn a moment later, so the drain checks again after this short time.
const lookAgainMs = 20

/** Resolves when no turn runs and none is being admitted or claimed, or when the limit has passed. */
export async function finishRunning(live: ReadonlyMap<string, LiveTurn>, underWay: () => number, limitMs: number): Promise<void> {
  const passed = new AbortController()
  const limit = wait(limitMs, undefined, { signal: passed.signal }).catch(() => undefined)
  const until = performance.now() + limitMs
  while (live.size + underWay() > 0 && performance.now() < until) {
    await Promise.race([Promise.all([...live.values()].map((turn) => turn.end)), limit])
    await Promise.race([wait(lookAgainMs), limit])
  }
  passed.abort()
}
