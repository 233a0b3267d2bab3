/**
 * Leases and recovery on one timer, renewal first: after a blocked loop a sweep by itself would fire before the renewal and claim what is
 * still alive. A process never claims a turn it runs itself. Ruling `turn.states`: at most three attempts a run, poison last and alone.
 */
import type { Logger } from 'pino'
import type { Failpoints } from '../failpoints.ts'
import type { Metrics } from '../observability/metrics.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { AdmittedTurn } from '../store/turn-records.ts'
import type { Store } from '../store/store.ts'
import type { StoreWarnings } from './store-warnings.ts'
import type { LiveTurn } from './live-turn.ts'

// So many at once: a start with many orphans leaves places for callers, and the next claim follows when these are done.
const maxClaimed = 100

export type LeasesOptions = {
  store: Store
  /** Every turn that runs in this process. */
  live: ReadonlyMap<string, LiveTurn>
  failpoints: Failpoints
  log: Logger
  warnings: StoreWarnings
  metrics: Metrics
  settings: { leaseMs: number; renewMs: number; sweepMs: number }
  /** Turns that may still begin here; 0 while draining. */
  capacity(): number
  /** Told of a claim that is under way; answers how to say that it is over. A drain waits for it. */
  begin(): () => void
  /** False while draining. */
  mayClaim(): boolean
  launch(turn: AdmittedTurn): LiveTurn
}

export interface Leases {
  start(): void
  /** Ends the timer; resolves when no round is under way. */
  stop(): Promise<void>
}

export function keepLeases({
  store,
  live,
  failpoints,
  log,
  warnings,
  metrics,
  settings,
  capacity,
  begin,
  mayClaim,
  launch,
}: LeasesOptions): Leases {
  const { leaseMs, renewMs, sweepMs } = settings
  let timer: NodeJS.Timeout | undefined
  let round: Promise<void> = Promise.resolve()
  let underWay = false
  let another = false
  let renewedAt = performance.now()
  let stopped = false
  let suspectRuns = false
  let freshRuns = 0

  async function renew(): Promise<void> {
    // Half a sweep early rather than half a sweep late.
    if (performance.now() - renewedAt < renewMs - sweepMs / 2) return
    const startedAt = performance.now()
    const turns = [...live.values()]
    if (turns.length > 0) await renewAll(turns)
    renewedAt = startedAt
  }

  async function renewAll(turns: LiveTurn[]): Promise<void> {
    await failpoints.reach('renew.before')
    const lost = await store.renewLeases(
      turns.map((turn) => turn.lease),
      leaseMs,
    )
    await failpoints.reach('renew.after')
    // A turn that ended meanwhile is no longer live and needs no word.
    for (const { requestId, fence } of lost) {
      const turn = live.get(requestId)
      if (turn?.admitted.fence === fence && !turn.ended) turn.stop('lease_lost')
    }
  }

  async function sweep(): Promise<void> {
    await claim('fresh')
    // What was tried more often may be what kills its process: it runs last and alone, so that nothing else dies with it.
    if (freshRuns === 0 && !suspectRuns) await claim('suspect')
  }

  async function claim(which: 'fresh' | 'suspect'): Promise<void> {
    if (!mayClaim()) return
    // At least one, or a process that is always full would never come to what a dead one left.
    const limit = Math.max(1, Math.min(maxClaimed, capacity()))
    // No place is kept for what may be found, or callers would be turned away at each look. So a claim may go a little over the limit.
    const end = begin()
    const { turns, exhausted } = await store.claimOrphans({ which, limit, leaseMs, running: [...live.keys()] }).finally(end)
    for (const requestId of exhausted) {
      log.error({ request_id: requestId }, 'turn failed: the process died in each of its attempts')
      metrics.turnEnded({ outcome: 'failed', code: 'internal_error' })
    }
    for (const turn of turns) {
      const own = live.get(turn.requestId)
      // Admitted here while the claim was already asked for, by a commit that took longer than a lease: it is the same run, under a new fence.
      if (own && turn.fence === own.admitted.fence + 1) own.admitted.fence = turn.fence
      else {
        // A fence between the two was somebody else's, who may have called tools: what this run knows of the turn is old, the claim has its journal.
        own?.stop('lease_lost')
        void recover(turn, which)
      }
    }
  }

  async function recover(turn: AdmittedTurn, which: 'fresh' | 'suspect'): Promise<void> {
    log.info({ request_id: turn.requestId, attempt: turn.attempt }, 'recovering a turn whose process ended')
    metrics.turnRecovered()
    if (which === 'suspect') suspectRuns = true
    else freshRuns++
    try {
      await failpoints.reach('recovery.before-run', turn.message)
      await launch(turn).end
      await failpoints.reach('recovery.after-run', turn.message)
    } catch (error) {
      // Its lease runs out, and it is claimed once more.
      log.error({ err: error, request_id: turn.requestId }, 'could not recover turn')
    } finally {
      if (which === 'suspect') suspectRuns = false
      else freshRuns--
      if (!stopped && freshRuns === 0) next()
    }
  }

  /** At most one round at a time; what asks meanwhile gets one more after it, so that a store that is away for long leaves no queue behind. */
  function next(): void {
    another = true
    if (underWay || stopped) return
    underWay = true
    round = goRound().finally(() => (underWay = false))
  }

  async function goRound(): Promise<void> {
    for (; another; another &&= !stopped) {
      another = false
      try {
        await renew()
        await sweep()
        warnings.over()
      } catch (error) {
        if (error instanceof StoreUnavailable) warnings.warn('lease renewal failed, retrying in the next round', error.message)
        else log.error({ err: error }, 'lease renewal failed, retrying in the next round')
      }
    }
  }

  return {
    start() {
      next()
      timer = setInterval(next, Math.min(sweepMs, renewMs))
    },
    async stop() {
      stopped = true
      clearInterval(timer)
      await round
    },
  }
}
