/**
 * Simulates several engines on one store. The scheduler chooses the next event, and the commands choose how much time passes. An engine can
 * be killed between any two events, frozen and thawed, drained and restarted; nothing of a dead engine runs any more. Everything runs in
 * this thread and is derived from the seed, so a failed schedule fails again.
 */
import type { Scheduler } from 'fast-check'
import type { Store } from '../../src/store/store.ts'
import type { Turns } from '../../src/turn/turn.ts'
import { createRandom } from '../chaos/random.ts'
import { createStoreModel } from './store-model.ts'
import type { Accuse, Moment } from './store-model.ts'
import { createCallers } from './callers.ts'
import { openEngine } from './engine.ts'
import { drained, moveTime } from './moved-time.ts'
import type { MovedTime } from './moved-time.ts'
import { createUpstream } from './scripted-model.ts'
import { createSimulatedStore } from './simulated-store.ts'
import type { Asking } from './simulated-store.ts'
import { agentId, beginsAt } from './simulated-database.ts'
import type { SimulatedDatabase } from './simulated-database.ts'

export type SimulationOptions = {
  database: SimulatedDatabase
  scheduler: Scheduler
  seed: number
  mode: 'embedded' | 'shared'
  /** Events whose label contains this text are usually postponed while others are pending. */
  slow: string
  commandEnded(simulation: Simulation): void
}

/** A failed check: its name and a sentence that describes the failure. */
export class Broken extends Error {
  readonly check: string

  constructor(check: string, what: string) {
    super(`${check}: ${what}`)
    this.check = check
  }
}

type Timer = { at: number; order: number; repeatMs: number | undefined; due: boolean; act(): void }
/** One process, from its start to its end. */
export type ProcessRun = Asking & {
  frozen: boolean
  draining: boolean
  /** Events that arrived while it was frozen. */
  held: { label: string; act: () => void | Promise<void> }[]
  timers: Set<Timer>
  /** The offset of its wall clock, in milliseconds. */
  skewMs: number
  store: Store
  turns: Turns
}

// A schedule of thirty commands has about three hundred events; one that reaches this number never ends.
const maxSteps = 20_000
// Below the renewal interval, so that no healthy process loses its lease.
const healthyMs = 3000
// Together longer than a lease, and longer than a claim waits.
const maxHealthyRounds = 6
// A turn's deadline, its lease and a retry for each attempt.
const maxQuietMs = 400_000

export type Simulation = ReturnType<typeof createSimulation>

export function createSimulation({ database, scheduler, seed, mode, slow, commandEnded }: SimulationOptions) {
  const random = createRandom(seed)
  const places: (ProcessRun | undefined)[] = mode === 'embedded' ? [undefined] : [undefined, undefined, undefined]
  const trouble: Broken[] = []
  let now = 0
  let steps = 0
  let lastId = 0
  let lastOrder = 0
  /** The process that is running now: timers that are set and calls that are made belong to it. */
  let working: ProcessRun | undefined
  /** On an embedded store, the store uses the clock of its process. */
  let storeSkewMs = 0
  let healed = false
  const counts = { steps: 0, kills: 0, starts: 0 }

  const accuse: Accuse = (check, what) => void trouble.push(new Broken(check, what))
  const moment = (): Moment => ({ now: beginsAt + now + storeSkewMs, leaseNow: beginsAt + now })
  const storeModel = createStoreModel(accuse)
  const upstream = createUpstream({ storeModel, accuse })
  const store = createSimulatedStore({ database, storeModel, accuse, random: random.fork('store'), mode, moment, later })
  const callers = createCallers({ storeModel, accuse })
  const chance = random.fork('chance')
  const time: MovedTime = {
    monotonicMs: () => now,
    wallMs: () => beginsAt + now + (working?.skewMs ?? 0),
    random: () => chance.int(0, 1_000_000) / 1_000_001,
    setTimer(act, ms, repeats) {
      const every = Math.max(1, Math.floor(ms))
      const timer = { at: now + every, order: ++lastOrder, repeatMs: repeats ? every : undefined, due: false, act }
      if (!working) accuse('fault-of-the-simulation', 'a timer without an owner')
      working?.timers.add(timer)
      return timer
    },
    clearTimer(timer) {
      for (const processRun of places) processRun?.timers.delete(timer as Timer)
    },
  }
  moveTime(time)

  function later(processRun: Asking | undefined, label: string, act: () => void | Promise<void>): void {
    void scheduler.schedule(Promise.resolve(), label).then(() => happen(processRun as ProcessRun | undefined, label, act))
  }

  async function happen(processRun: ProcessRun | undefined, label: string, act: () => void | Promise<void>): Promise<void> {
    if (processRun?.alive === false) return
    if (processRun?.frozen) return void processRun.held.push({ label, act })
    if (!healed && slow !== '' && label.includes(slow) && scheduler.count() > 0 && chance.chance(0.9)) return later(processRun, label, act)
    working = processRun
    try {
      await act()
    } catch (error) {
      accuse('fault-of-the-simulation', error instanceof Error ? (error.stack ?? error.message) : String(error))
    }
  }

  /** Runs one event and everything that follows from it immediately. Returns false if no event is pending. */
  async function step(): Promise<boolean> {
    if (scheduler.count() === 0) return false
    counts.steps++
    if (++steps > maxSteps) throw new Broken('liveness', `${maxSteps} events and no end`)
    await scheduler.waitOne()
    await settleDown()
    return true
  }

  async function settleDown(): Promise<void> {
    await drained()
    working = undefined
    for (const processRun of places) if (processRun?.closed && processRun.alive && !store.hasWaiting(processRun)) end(processRun)
    if (trouble[0]) throw trouble[0]
  }

  /** Runs `act` as this process: its timers and calls belong to the process. */
  async function as(processRun: ProcessRun | undefined, act: () => void): Promise<void> {
    working = processRun
    act()
    await settleDown()
  }

  function start(place: number): void {
    const processRun: ProcessRun = {
      place,
      alive: true,
      closed: false,
      frozen: false,
      draining: false,
      storeFaults: [],
      answers: [],
      held: [],
      timers: new Set(),
      skewMs: 0,
      store: undefined as never,
      turns: undefined as never,
    }
    counts.starts++
    working = processRun
    const pause = (label: string): Promise<void> => new Promise((resolve) => later(processRun, `${place} ${label} answers`, resolve))
    const opened = store.open(processRun)
    processRun.store = opened
    processRun.turns = openEngine({ store: opened, upstream, pause, accuse, nextId: () => String(++lastId).padStart(12, '0') })
    places[place] = processRun
    processRun.turns.start()
  }

  function end(processRun: ProcessRun): void {
    processRun.alive = false
    processRun.timers.clear()
    places[processRun.place] = undefined
  }

  function thaw(processRun: ProcessRun): void {
    processRun.frozen = false
    for (const { label, act } of processRun.held.splice(0)) later(processRun, label, act)
  }

  function move(ms: number): void {
    now += ms
    for (const processRun of places)
      for (const timer of processRun?.timers ?? []) {
        if (timer.due || timer.at > now) continue
        timer.due = true
        later(processRun, `${processRun!.place} timer`, () => fireEarliest(processRun!))
      }
  }

  /** As in Node, the timer that is due first fires first. */
  function fireEarliest({ timers }: ProcessRun): void {
    const [timer] = [...timers].filter(({ due }) => due).toSorted((a, b) => a.at - b.at || a.order - b.order)
    if (!timer) return
    if (timer.repeatMs === undefined) timers.delete(timer)
    else Object.assign(timer, { at: now + timer.repeatMs, due: false })
    timer.act()
  }

  const isBusy = (): boolean =>
    scheduler.count() > 0 ||
    !store.idle ||
    storeModel.turns.values().some(({ state }) => state === 'running') ||
    // Whoever follows a turn in a running process learns its end.
    callers.followings.some(({ ended, processRun }) => !ended && processRun?.alive) ||
    places.some((processRun) => processRun && (processRun.draining || processRun.turns.running > 0))

  /** Checks that a healthy process renews the leases of its turns, however long a model takes. */
  async function checkRenewals(): Promise<void> {
    while (places.some((processRun) => processRun?.draining)) await simulation.healthyRound()
    for (let rounds = 0; rounds < maxHealthyRounds; rounds++) await simulation.healthyRound()
    const fences = new Map([...storeModel.turns.values()].filter(({ state }) => state === 'running').map((turn) => [turn, turn.fence]))
    for (let rounds = 0; rounds < maxHealthyRounds; rounds++) await simulation.healthyRound()
    for (const [{ requestId, state, fence }, before] of fences)
      if (state === 'running' && fence !== before) throw new Broken('renewals', `${requestId} was taken from a process that was well`)
  }

  const simulation = {
    storeModel,
    callers,
    store,
    upstream,
    counts,
    places: places.length,
    later,
    as,
    lifeAt: (place: number): ProcessRun | undefined => places[place],
    /** False if the process is dead. */
    isUp: (place: number): boolean => places[place] !== undefined,
    async start(place: number) {
      start(place)
      await settleDown()
    },
    async kill(place: number) {
      const processRun = places[place]!
      counts.kills++
      end(processRun)
      store.died(processRun)
      await settleDown()
    },
    freeze: (place: number): void => void (places[place]!.frozen = true),
    async thaw(place: number) {
      await as(places[place], () => thaw(places[place]!))
    },
    async drain(place: number, limitMs: number) {
      const processRun = places[place]!
      processRun.draining = true
      await as(processRun, () => void processRun.turns.drain(limitMs).then(() => (processRun.closed = true)))
    },
    /** Advances the time by a number of milliseconds; timers that are due may then fire. */
    move,
    /** Moves the wall clock of one process and, on an embedded store, that of its store. */
    skew(place: number, ms: number): void {
      places[place]!.skewMs += ms
      if (mode === 'embedded') storeSkewMs += ms
    },
    now: (): Moment => moment(),
    async steps(count: number) {
      for (let left = count; left > 0 && (await step()); left--);
    },
    /** Stops all faults and runs until nothing is in progress. */
    async heal() {
      healed = true
      store.failCommits(0)
      for (const [place, processRun] of places.entries()) {
        if (!processRun) await simulation.start(place)
        else if (processRun.frozen) await simulation.thaw(place)
        if (processRun) processRun.storeFaults = []
      }
      if (upstream.holdAll()) await checkRenewals()
      upstream.heal()
      await settleDown()
      await simulation.quiet()
    },
    /** A window may end between two responses to a message that must be equal, so there is no limit then. */
    async withoutLimits() {
      const processRun = places[0]!
      await simulation.as(processRun, () => void processRun.store.write.changeAgent({ id: agentId, spendLimits: [] }))
      while (await step());
    },
    async quiet() {
      for (let waited = 0; isBusy(); waited += healthyMs) {
        if (waited > maxQuietMs) throw new Broken('liveness', `something still runs after ${waited / 1000} s without a fault`)
        await simulation.healthyRound()
      }
    },
    /** Runs all pending events and then lets some time pass. */
    async healthyRound() {
      while (await step());
      // Restart processes that have finished draining.
      for (const place of places.keys()) if (!places[place]) await simulation.start(place)
      if (isBusy()) move(healthyMs)
    },
    /** True one time in four, because checking the invariants costs as much as a schedule. */
    isLookedAt: () => chance.chance(0.25),
    async verify() {
      await store.verify()
      if (trouble[0]) throw trouble[0]
    },
    commandEnded: () => commandEnded(simulation),
    close() {
      moveTime(undefined)
      store.close()
    },
  }
  return simulation
}
