/** The wait at the end of a process: what runs may finish, up to a limit. Admits and gives up nothing itself. */
import { setTimeout as wait } from 'node:timers/promises'
import type { LiveTurn } from './live-turn.ts'

// An admission or a claim that was under way becomes a turn a moment later; a drain that looks again so soon is felt by nobody.
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
