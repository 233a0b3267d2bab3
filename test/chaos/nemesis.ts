/**
 * Carries out a plan: its two lanes side by side. Each fault is recorded in the history before it is injected, when it is in force, before
 * it is reverted and after that. A failpoint that was armed and did not act is armed again until it does. Ends when the time is up and
 * every required fault has occurred, or after the additional time that it may take.
 */
import type { FailpointName } from '../../src/failpoints.ts'
import { make } from './faults.ts'
import { rest } from './faults/making.ts'
import type { Random } from './random.ts'
import { isOfDrain, kinds, maxTogether, planVisits } from './schedule.ts'
import type { FaultName, Lane, PlannedFault } from './schedule.ts'
import type { LogWatch } from './log-watch.ts'
import type { Testbed } from './testbed.ts'

// A process that is stopped for longer than its lease is no reason to delay everything else.
const quietWithinMs = 3000
// A start takes one or two seconds, on a busy machine ten.
const servesWithinMs = 15_000

export type Nemesis = {
  /** Resolves when both lanes have ended and everything is reverted. Rejects if the harness could not inject or revert a fault. */
  done: Promise<void>
  /** The faults that occurred, by kind. */
  readonly counts: ReadonlyMap<FaultName, number>
  /** Failpoints that have not acted yet. */
  readonly pending: ReadonlySet<FailpointName>
  /** Kinds that have not occurred yet. */
  readonly missing: ReadonlySet<FaultName>
}

export type NemesisOptions = {
  testbed: Testbed
  plan: PlannedFault[]
  points: FailpointName[]
  random: Random
  logWatch: LogWatch
  minutes: number
  /** Ends both lanes at once. */
  signal: AbortSignal
}

/**
 * On a slow machine the last points are reached late. A point that never acts is waited for a few minutes at most, less in a run of
 * seconds.
 */
export const extraMs = (minutes: number): number => Math.min(420_000, minutes * 280_000)

// fault.kill-in-recovery and fault.poison-turn are about three deaths under one turn. With several servers, at least one keeps running
// meanwhile.
const anotherWithinMs = 30_000

export function startNemesis({ testbed, plan, points, random, logWatch, minutes, signal }: NemesisOptions): Nemesis {
  const { history, supervisedServers } = testbed
  const timeIsUp = performance.now() + minutes * 60_000
  const isUp = (): boolean => performance.now() >= timeIsUp
  const over = AbortSignal.any([signal, AbortSignal.timeout(minutes * 60_000 + extraMs(minutes))])
  const counts = new Map<FaultName, number>()
  const missing = new Set(plan.map(({ name }) => name))
  const visited = plan.some(({ name }) => name === 'failpoint')
  const pending = new Set(visited ? points : [])
  const triesOf = new Map<FailpointName, number>()
  const busy: Record<Lane, boolean> = { lives: false, beside: false }
  /** No fault starts in the `beside` lane. */
  const calm = { wanted: false }
  /** The number of events that were searched for points that acted. */
  let looked = 0
  let lastId = plan.length

  const done = Promise.all([runLane('lives', lives()), runLane('beside', beside())]).then(() => undefined)

  async function runLane(lane: Lane, faults: Iterator<PlannedFault, undefined>): Promise<void> {
    for (let fault = faults.next().value, next; fault; fault = next) {
      await calmBefore(lane, fault)
      if (over.aborted) return
      // Known now, so that its process run can be started. Whether it is still wanted is checked when its time has come.
      next = faults.next().value
      if (isUp() && !isWanted(fault)) continue
      busy[lane] = true
      await carryOut(fault, next).finally(() => (busy[lane] = false))
      // Only faults that were carried out completely count.
      counts.set(fault.name, (counts.get(fault.name) ?? 0) + 1)
      missing.delete(fault.name)
    }
  }

  async function calmBefore(lane: Lane, { restMs, quiet: wanted, supervised }: PlannedFault): Promise<void> {
    if (lane === 'beside') {
      await rest(restMs, over)
      while (calm.wanted && !over.aborted) await rest(50, over)
      return
    }
    calm.wanted = wanted
    const until = performance.now() + quietWithinMs
    while (busy.beside && calm.wanted && performance.now() < until && !over.aborted) await rest(50, over)
    // From the time at which it is ready, because most process runs would end during their start otherwise. A start that fails for long has
    // another cause.
    if (restMs > 0) await Promise.race([supervisedServers[supervised]!.processRun.listening, rest(servesWithinMs, over)])
    await rest(restMs, over)
    calm.wanted = false
    if (supervisedServers.length > 1) await another()
  }

  /** With several servers, at least one that responds is left. */
  async function another(): Promise<void> {
    const until = performance.now() + anotherWithinMs
    const listening = (): number =>
      supervisedServers.filter(({ processRun, reserved }) => processRun.listens && !processRun.end && !reserved).length
    while (listening() < 2 && performance.now() < until && !over.aborted) await rest(20, over)
  }

  async function carryOut(fault: PlannedFault, next: PlannedFault | undefined): Promise<void> {
    const { id, name, way, supervised, points: armed } = fault
    const tell = (phase: 'begin' | 'applied' | 'healing' | 'end'): void =>
      history.write({
        kind: 'fault',
        at: history.now(),
        phase,
        id,
        name,
        faults: kinds[name].faults,
        detail: { way, supervised, points: armed },
      })
    tell('begin')
    logWatch.fault('begin', fault)
    for (const point of armed) triesOf.set(point.name, (triesOf.get(point.name) ?? 0) + 1)
    try {
      const heal = await make[name]({ testbed, fault, next, random: random.fork(`fault ${id}`), logWatch, signal: over })
      tell('applied')
      if (heal) {
        await rest(fault.lastsMs, over)
        tell('healing')
        await heal()
      } else tell('healing')
    } finally {
      logWatch.fault('end', fault)
      tell('end')
    }
  }

  function noteActed(): void {
    for (const event of history.events.slice(looked)) if (event.kind === 'failpoint') pending.delete(event.name as FailpointName)
    looked = history.events.length
  }

  /** What still has to occur although the time is up. */
  function isWanted({ name, points: armed }: PlannedFault): boolean {
    noteActed()
    return missing.has(name) || armed.some((point) => pending.has(point.name))
  }

  /** The plan, with points that did not act armed again between its entries. After the time is up, only what has not occurred yet. */
  function* lives(): Generator<PlannedFault, undefined> {
    const planned = plan.filter(({ lane }) => lane === 'lives').values()
    for (;;) {
      yield* inVain()
      const { value } = planned.next()
      if (!value || over.aborted) return
      if (!isUp() || isWanted(value)) yield value
    }
  }

  function* beside(): Generator<PlannedFault, undefined> {
    for (const fault of plan.filter(({ lane }) => lane === 'beside')) {
      if (over.aborted) return
      if (!isUp() || isWanted(fault)) yield fault
    }
  }

  /** One process run between two planned faults while there is time, and repeatedly afterwards. */
  function* inVain(): Generator<PlannedFault> {
    do {
      noteActed()
      const tries = (name: FailpointName): number => triesOf.get(name) ?? 0
      const left = [...pending].toSorted((a, b) => tries(a) - tries(b))
      // Points that were never armed are still in the plan.
      if (left.length === 0 || (!isUp() && tries(left[0]!) === 0)) return
      // Those with the fewest tries: either points of the drain or points of the load.
      const together = left.filter((name) => isOfDrain(name) === isOfDrain(left[0]!)).slice(0, maxTogether)
      const [visit] = planVisits(together, random.fork(`again ${lastId}`), testbed.options, { again: tries(left[0]!) >= 2 })
      yield { ...visit!, id: lastId++ }
    } while (isUp() && !over.aborted)
  }

  return {
    done,
    counts,
    missing,
    get pending() {
      noteActed()
      return pending
    },
  }
}
