/**
 * Carries out a plan: its two lanes side by side, each fault told to the history before it is made, when it is in force, before it is taken back and
 * when that is done. A failpoint that was armed and did not act is armed again until it did. Ends when the time is over and everything planned to
 * come once has come, or after the time that it may take beyond that.
 */
import type { FailpointName } from '../../src/failpoints.ts'
import { make } from './faults.ts'
import { rest } from './faults/making.ts'
import type { Random } from './random.ts'
import { isOfDrain, kinds, maxTogether, planVisits } from './schedule.ts'
import type { FaultName, Lane, PlannedFault } from './schedule.ts'
import type { LogWatch } from './log-watch.ts'
import type { Testbed } from './testbed.ts'

// What is stopped beyond its lease is no reason to wait with everything else.
const quietWithinMs = 3000
// A start takes a second or two; a machine that does much else, ten.
const servesWithinMs = 15_000

export type Nemesis = {
  /** Resolves when both lanes are at their end and everything is healed. Rejects where the harness could not make or heal a fault. */
  done: Promise<void>
  /** What came, by kind. */
  readonly counts: ReadonlyMap<FaultName, number>
  /** Points that were to act and have not yet. */
  readonly pending: ReadonlySet<FailpointName>
  /** Kinds that were to come and have not yet. */
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

/** A slow machine comes late to the last points. What never acts is waited for no longer than a few minutes, less in a run of seconds. */
export const extraMs = (minutes: number): number => Math.min(420_000, minutes * 280_000)

// fault.kill-in-recovery and fault.poison-turn are about three deaths under one turn; one place at least lives on meanwhile where there are several.
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
  /** Nothing is begun beside the lives. */
  const calm = { wanted: false }
  /** Events that were looked at for points that acted. */
  let looked = 0
  let lastId = plan.length

  const done = Promise.all([runLane('lives', lives()), runLane('beside', beside())]).then(() => undefined)

  async function runLane(lane: Lane, faults: Iterator<PlannedFault, undefined>): Promise<void> {
    for (let fault = faults.next().value, next; fault; fault = next) {
      await calmBefore(lane, fault)
      if (over.aborted) return
      // Known now, so that a life can be begun for it; whether it is still wanted is seen when its time has come.
      next = faults.next().value
      if (isUp() && !isWanted(fault)) continue
      busy[lane] = true
      await carryOut(fault, next).finally(() => (busy[lane] = false))
      // Only what came in whole is counted as seen.
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
    // From when it serves: most lives would otherwise end with their start. A start that is refused for long is another fault's doing.
    if (restMs > 0) await Promise.race([supervisedServers[supervised]!.processRun.listening, rest(servesWithinMs, over)])
    await rest(restMs, over)
    calm.wanted = false
    if (supervisedServers.length > 1) await another()
  }

  /** With several places one at least is left that answers. */
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

  /** What has to come although the time is up. */
  function isWanted({ name, points: armed }: PlannedFault): boolean {
    noteActed()
    return missing.has(name) || armed.some((point) => pending.has(point.name))
  }

  /** The plan; between its items, what was armed in vain; and when the time is up, nothing but what has not come yet. */
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

  /** One life between two planned faults while there is time; afterwards again and again. */
  function* inVain(): Generator<PlannedFault> {
    do {
      noteActed()
      const tries = (name: FailpointName): number => triesOf.get(name) ?? 0
      const left = [...pending].toSorted((a, b) => tries(a) - tries(b))
      // The plan comes to what was never armed.
      if (left.length === 0 || (!isUp() && tries(left[0]!) === 0)) return
      // Whichever was tried least: what a drain comes to, or what the load does.
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
