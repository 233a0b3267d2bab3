/**
 * Renews leases and recovers turns on one timer, renewal first: after the event loop was blocked, a separate recovery timer would fire
 * before the renewal and claim turns that are still running. A process never claims a turn that it runs itself. When a process ends or
 * starts, all renew their leases at once; what has not been renewed two rounds later has no process, and is claimed (`turn.orphans`).
 * `turn.states`: at most three attempts; turns that may crash the process run last and alone.
 */
import type { Logger } from 'pino'
import type { Failpoints } from '../failpoints.ts'
import type { Metrics } from '../observability/metrics.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { AdmittedTurn } from '../store/turn-records.ts'
import type { Store } from '../store/store.ts'
import type { StoreWarnings } from './store-warnings.ts'
import type { LiveTurn } from './live-turn.ts'

// The size of one claim, so that a start with many orphans leaves slots for callers. The next claim follows when these turns have ended.
const maxClaimed = 100

// The rounds in which a process renews its leases after another one has ended or started, and after which the leases that were not renewed are ended.
// The processes notice it within one round of each other.
const roundsToRenew = 2

/** `turn.orphans`: how long after the death of a process its turns are claimed, if the store notices the death and answers. */
export const orphanMs = ({ sweepMs }: { sweepMs: number }): number => (1 + roundsToRenew) * sweepMs

export type LeasesOptions = {
  store: Store
  /** Every turn that runs in this process. */
  live: ReadonlyMap<string, LiveTurn>
  failpoints: Failpoints
  log: Logger
  warnings: StoreWarnings
  metrics: Metrics
  settings: { leaseMs: number; renewMs: number; sweepMs: number }
  /** How many more turns may start here. 0 while draining. */
  capacity(): number
  /** Called when a claim starts. Returns a function to call when it is over, because a drain waits for it. */
  begin(): () => void
  /** False while draining. */
  mayClaim(): boolean
  launch(turn: AdmittedTurn): LiveTurn
}

export interface Leases {
  start(): void
  /** Stops the timer, and resolves when no round is running. */
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
  let runAgain = false
  let renewedAt = performance.now()
  let stopped = false
  let suspectRuns = false
  let freshRuns = 0
  let renewsUntil = 0
  /** The ends of other processes: when by the store's clock, and when their leases are ended by the clock of this process. */
  let endsOfOthers: { endedAt: number; dueAt: number }[] = []

  /** `turn.orphans` */
  async function lookForEnds(): Promise<void> {
    if (!store.processes) return
    const { changed, endedAt } = await store.processes.look()
    const dueAt = performance.now() + roundsToRenew * sweepMs
    // A round more than the others wait.
    if (changed) {
      renewsUntil = dueAt + sweepMs
      await renew()
    }
    if (endedAt !== undefined) endsOfOthers.push({ endedAt, dueAt })
  }

  async function endLeasesOfEnded(): Promise<void> {
    const now = performance.now() + sweepMs / 2
    const due = endsOfOthers.filter(({ dueAt }) => dueAt <= now)
    if (due.length === 0) return
    endsOfOthers = endsOfOthers.filter(({ dueAt }) => dueAt > now)
    // A process that runs has set its leases to end this long after a later moment.
    await store.processes?.endLeases(Math.max(...due.map(({ endedAt }) => endedAt)) + leaseMs)
  }

  async function renew(): Promise<void> {
    // Renews half a sweep early rather than half a sweep late.
    const startedAt = performance.now()
    if (startedAt > renewsUntil && startedAt - renewedAt < renewMs - sweepMs / 2) return
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
    // A turn that has ended meanwhile needs no notification.
    for (const { requestId, fence } of lost) {
      const turn = live.get(requestId)
      if (turn?.admitted.fence === fence && !turn.ended) turn.stop('lease_lost')
    }
  }

  async function sweep(): Promise<void> {
    await claim('fresh')
    // A turn that was tried more than once may be what kills its process. It runs last and alone, so that no other turn dies with it.
    if (freshRuns === 0 && !suspectRuns) await claim('suspect')
  }

  /** `turn.cancel`: requests that another process has stored, and those whose message was lost. */
  async function cancelRequested(): Promise<void> {
    if (live.size === 0) return
    for (const { requestId, run } of await store.read.listCancelRequests()) live.get(requestId)?.cancel(run)
  }

  async function claim(which: 'fresh' | 'suspect'): Promise<void> {
    if (!mayClaim()) return
    // Claims at least one. Otherwise a process that is always full would never recover a turn.
    const limit = Math.max(1, Math.min(maxClaimed, capacity()))
    // A claim reserves no slots: if it did, each check for orphans would make the process refuse callers. So claimed turns may exceed the
    // limit slightly.
    const end = begin()
    const { turns, exhausted } = await store.claimOrphans({ which, limit, leaseMs, running: [...live.keys()] }).finally(end)
    for (const requestId of exhausted) {
      const causeKind = 'process_died'
      log.error({ request_id: requestId, cause_kind: causeKind }, 'turn failed: the process died in each of its attempts')
      metrics.turnEnded({ outcome: 'failed', code: 'internal_error', causeKind, unpaid: 0n, charged: 0n })
    }
    for (const turn of turns) {
      const own = live.get(turn.requestId)
      // The commit of the admission took longer than the lease, so this process claimed a turn that it had just admitted. It is the same
      // run with a new fence.
      if (own && turn.fence === own.admitted.fence + 1) own.admitted.fence = turn.fence
      else {
        // If this process still runs the turn, the fence rose by more than one: another process ran the turn in between and may have called
        // tools. The run here is outdated; the claimed turn has the current journal.
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
      // The lease expires, and the turn is claimed again.
      log.error({ err: error, request_id: turn.requestId }, 'could not recover turn')
    } finally {
      if (which === 'suspect') suspectRuns = false
      else freshRuns--
      if (!stopped && freshRuns === 0) next()
    }
  }

  /**
   * Runs at most one round at a time. Requests during a round cause one more round after it, so a long outage of the store does not build
   * up a queue.
   */
  function next(): void {
    runAgain = true
    if (underWay || stopped) return
    underWay = true
    round = runRound().finally(() => (underWay = false))
  }

  async function runRound(): Promise<void> {
    for (; runAgain; runAgain &&= !stopped) {
      runAgain = false
      try {
        await renew()
        await lookForEnds()
        await endLeasesOfEnded()
        // mutant: turn.cancel
        await cancelRequested()
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
