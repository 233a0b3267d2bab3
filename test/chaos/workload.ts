/**
 * The load of a run: an operator who creates tenants and makes changes, a few more who have sessions and tokens, callers of all kinds, and
 * one owner that uses everything up to its limits, all drawn from the seed. It knows no faults: a server is an address that responds or does
 * not. Everything it sends and receives is recorded in the history, and it judges none of it. Faults of docs/fault-matrix.md that the load
 * makes itself: `fault.key-on-both-transports`, `fault.rate-limit-storm`, `fault.top-up-mid-turn`, `fault.model-unavailable`, `fault.stream-resumed`, `fault.cancel-race`.
 */
import { useAccess } from './callers/access.ts'
import { createAsking } from './callers/ask.ts'
import type { Target } from './callers/about-turn.ts'
import type { Asking } from './callers/ask.ts'
import { runCaller } from './callers/caller.ts'
import type { Book } from './callers/caller.ts'
import { lookLast } from './callers/last-look.ts'
import { createAdmin, makeWorld, operate } from './callers/operator.ts'
import { beUnfair } from './callers/unfair.ts'
import type { History } from './history.ts'
import type { Random } from './random.ts'
import type { Upstream } from './upstream.ts'

export type Workload = {
  /** Creates provider, owners, agents and keys. Then the callers run until `stop`. */
  begin(): Promise<void>
  /** Call it when there are no faults any more: no new message, every open key until it is final, and then everything is read once more. */
  stop(): Promise<void>
  /** Until now. `turns` had a reply, `failed`, `cancelled` and `refused` are final without one, `open` are in progress. */
  counts(): Record<'turns' | 'failed' | 'cancelled' | 'refused' | 'open' | 'erased' | 'access' | 'unfair' | keyof Asking['counts'], number>
}

// H9 gives every key thirty seconds. A key that is still open after this time has violated it.
const graceMs = 40_000

type WorkloadOptions = { target: Target; random: Random; history: History; callers: number; upstream: Upstream }

export async function startWorkload({ target, random, history, callers, upstream }: WorkloadOptions): Promise<Workload> {
  const stopped = new AbortController()
  const over = new AbortController()
  const book: Book = { turns: [] }
  const asking = createAsking({ target, history, over: over.signal })
  const admin = createAdmin({ target, over: over.signal })
  const accessed = { access: 0, unfair: 0 }
  let running: Promise<unknown> = Promise.resolve()
  let testbed: Awaited<ReturnType<typeof makeWorld>> | undefined

  async function begin(): Promise<void> {
    const made = await makeWorld({ admin, upstream, history })
    testbed = made
    const erase: Parameters<typeof runCaller>[0]['erase'] = async (change, key) => {
      const startedAt = history.now()
      const path = `/agents/${key.agentId}/end-users?external_user_id=${encodeURIComponent(change.user)}`
      if (await admin.call('DELETE', path)) history.write({ kind: 'admin', at: history.now(), startedAt, ...change })
    }
    const common = { testbed: made, asking, book, erase, stopped: stopped.signal }
    running = Promise.all([
      operate({ admin, testbed: made, random: random.fork('operator'), history, stopped: stopped.signal }),
      useAccess({ target, history, random: random.fork('access'), stopped: stopped.signal }, accessed),
      beUnfair({ target, history, testbed: made, asking, random: random.fork('unfair'), book, stopped: stopped.signal }, accessed),
      ...Array.from({ length: callers }, (_, number) => runCaller({ ...common, number, random: random.fork(`caller ${number}`) })),
    ])
    // Reported to the caller of `stop`.
    running.catch(() => stopped.abort())
  }

  async function stop(): Promise<void> {
    stopped.abort()
    upstream.hurry()
    const grace = setTimeout(() => over.abort(), graceMs)
    try {
      await running
    } finally {
      clearTimeout(grace)
    }
    if (!testbed) return
    await lookLast({ admin: createAdmin({ target }), testbed, asking, book, history, random: random.fork('last look') })
  }

  return {
    begin,
    stop,
    counts() {
      const of = (wanted: string): number => book.turns.filter(({ outcome }) => outcome === wanted).length
      return {
        turns: of('replied'),
        failed: of('failed'),
        cancelled: of('cancelled'),
        refused: of('refused'),
        open: of('open'),
        erased: of('erased'),
        ...asking.counts,
        ...accessed,
      }
    },
  }
}
