/**
 * `rate.window` in a shared store, used without Redis. Requests that arrive during a call are sent with the next one, with the units of
 * each key added up, so a burst costs few calls and a single caller does not wait. Never spends for a caller that has given up before its
 * call was sent. docs/decisions/0014-rate-windows.md says what a crash of the database loses.
 */
import type { SharedStore, WindowSpent } from '../store/store.ts'
import { within } from '../deadline.ts'
import type { RateOutcome } from './outcome.ts'
import { outcomeOf } from './rate-window.ts'
import type { RateWindow } from './rate-window.ts'

export type StoreWindowOptions = {
  store: Pick<SharedStore, 'spendWindows' | 'ping'>
  /** How long a caller waits for its own call or the calls before it. */
  deadlineMs?: number
}

type Caller = PromiseWithResolvers<RateOutcome>
/** All waiting requests of one key, in order, with the limit and length of the last one, because a change applies immediately. */
type Group = { limit: number; windowSeconds: number; callers: Set<Caller> }

export function createStoreWindow({ store, deadlineMs = 250 }: StoreWindowOptions): RateWindow {
  let waiting = new Map<string, Group>()
  let calling = false

  async function callForAll(): Promise<void> {
    while (waiting.size > 0) {
      const groups = [...waiting]
      waiting = new Map()
      const items = groups.map(([apiKeyId, { limit, windowSeconds, callers }]) => ({ apiKeyId, limit, windowSeconds, units: callers.size }))
      try {
        const answers = await store.spendWindows(items)
        for (const [index, [, group]] of groups.entries()) handOut(answers[index]!, group)
      } catch (error) {
        for (const [, { callers }] of groups) for (const caller of callers) caller.reject(error)
      }
    }
    calling = false
  }

  function join(apiKeyId: string, caller: Caller, limit: number, windowSeconds: number): void {
    const callers = waiting.get(apiKeyId)?.callers ?? new Set()
    waiting.set(apiKeyId, { limit, windowSeconds, callers: callers.add(caller) })
    if (calling) return
    calling = true
    // Requests that arrive in the same tick of the event loop are sent with the first call, too.
    queueMicrotask(() => void callForAll())
  }

  function leave(apiKeyId: string, caller: Caller): void {
    const callers = waiting.get(apiKeyId)?.callers
    callers?.delete(caller)
    if (callers?.size === 0) waiting.delete(apiKeyId)
  }

  return {
    async spend({ apiKeyId, limit, windowSeconds }) {
      const caller = Promise.withResolvers<RateOutcome>()
      join(apiKeyId, caller, limit, windowSeconds)
      try {
        return await within(deadlineMs, caller.promise)
      } finally {
        leave(apiKeyId, caller)
      }
    },
    ping: () => store.ping(),
    async close() {},
  }
}

/** The first requests are accepted, up to the number of accepted units. Each gets the count after its own unit. */
function handOut({ accepted, spent, endsAtMs, endsInMs }: WindowSpent, { limit, callers }: Group): void {
  let unit = spent - accepted
  for (const caller of callers) {
    const fits = unit < spent
    if (fits) unit += 1
    caller.resolve(outcomeOf(fits, { limit, spent: unit, endsAtMs, endsInMs }))
  }
}
