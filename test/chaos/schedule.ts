/**
 * Plans what happens to the servers of a chaos run before it starts: first every kind of fault and every failpoint once, in random order,
 * and then random faults until the time is used up. Pure: the same seed and options give the same plan. Touches no process.
 *
 * A plan has two lanes. Within a lane faults follow each other, so at most two overlap: `lives` ends processes, `beside` disturbs the
 * stores and services they depend on. The pause before a fault is random too; a quiet pause applies to both lanes.
 */
import { failpointNames, failpointStores, misplacedFailpoint, failpointDrops } from '../../src/failpoints.ts'
import type { FailpointName } from '../../src/failpoints.ts'
import { createRandom } from './random.ts'
import type { Random } from './random.ts'

export type StoreKind = 'sqlite' | 'postgres'
export type Lane = 'lives' | 'beside'

export type ChaosOptions = {
  seed: number
  minutes: number
  store: StoreKind
  /** The number of servers; one on SQLite. */
  processes: number
  callers: number
  /** The kinds of fault that may occur. */
  faults: FaultName[]
}

type Kind = {
  lane: Lane
  /** Names from docs/fault-matrix.md. */
  faults: string[]
  stores: StoreKind[]
  /** The weight with which it is drawn, compared with the others of its lane. */
  weight: number
  ways: string[]
  lastsMs: [number, number]
  /** A kind that takes long is only used in runs that are long enough for it. */
  minMinutes?: number
}

const both: StoreKind[] = ['sqlite', 'postgres']
const one: StoreKind[] = ['sqlite']
const shared: StoreKind[] = ['postgres']
const atOnce: [number, number] = [0, 0]
// A lease is 12 s.
const pastTheLease: [number, number] = [12_500, 14_500]

const table = {
  kill: {
    lane: 'lives',
    faults: [
      'fault.kill-before-admission',
      'fault.kill-before-model',
      'fault.kill-mid-stream',
      'fault.kill-before-settlement',
      'fault.kill-after-settlement',
      'fault.kill-in-recovery',
      'fault.power-cut',
    ],
    stores: both,
    weight: 60,
    ways: ['running', 'starting'],
    lastsMs: [0, 1200],
  },
  failpoint: {
    lane: 'lives',
    faults: [
      'fault.kill-before-admission',
      'fault.kill-before-model',
      'fault.kill-mid-stream',
      'fault.kill-before-settlement',
      'fault.kill-after-settlement',
      'fault.kill-in-recovery',
      'fault.concurrent-recovery',
      'fault.postgres-connection-lost',
      'fault.commit-reply-lost',
    ],
    stores: both,
    weight: 28,
    ways: ['armed'],
    lastsMs: [6000, 6000],
  },
  drain: {
    lane: 'lives',
    faults: ['fault.sigterm', 'fault.sigterm-past-drain'],
    stores: both,
    weight: 7,
    ways: ['once', 'once', 'twice'],
    lastsMs: [550, 1500],
  },
  crash: {
    lane: 'lives',
    faults: ['fault.process-crash'],
    stores: both,
    weight: 5,
    ways: ['exception', 'rejection', 'memory'],
    lastsMs: atOnce,
  },
  stop: {
    lane: 'beside',
    faults: ['fault.frozen-process', 'fault.concurrent-recovery'],
    stores: both,
    weight: 1,
    ways: ['signal'],
    lastsMs: pastTheLease,
  },
  block: {
    lane: 'beside',
    faults: ['fault.event-loop-blocked'],
    stores: both,
    weight: 1,
    ways: ['loop'],
    lastsMs: pastTheLease,
    minMinutes: 3,
  },
  clock: {
    lane: 'beside',
    faults: ['fault.clock-jump'],
    stores: both,
    weight: 24,
    ways: ['forward', 'back', 'to and fro'],
    lastsMs: [1000, 6000],
  },
  disk: { lane: 'beside', faults: ['fault.sqlite-disk-full'], stores: one, weight: 24, ways: ['full'], lastsMs: [500, 3000] },
  terminate: {
    lane: 'beside',
    faults: ['fault.postgres-connection-lost'],
    stores: shared,
    weight: 40,
    ways: ['one', 'all'],
    lastsMs: atOnce,
  },
  'pg-restart': {
    lane: 'beside',
    faults: ['fault.postgres-restart'],
    stores: shared,
    weight: 10,
    ways: ['fast', 'immediate', 'kill9'],
    lastsMs: [0, 1500],
  },
  'pg-away': {
    lane: 'beside',
    faults: ['fault.postgres-unreachable'],
    stores: shared,
    weight: 6,
    ways: ['silent', 'reset', 'refused'],
    lastsMs: [2000, 15_000],
  },
  'lost-commit': {
    lane: 'beside',
    faults: ['fault.commit-reply-lost'],
    stores: shared,
    weight: 30,
    ways: ['rst', 'fin'],
    lastsMs: [0, 500],
  },
  'pg-slow': {
    lane: 'beside',
    faults: ['fault.postgres-unreachable'],
    stores: shared,
    weight: 5,
    ways: ['latency'],
    lastsMs: [1000, 5000],
  },
  'redis-kill': {
    lane: 'beside',
    faults: ['fault.redis-down', 'fault.redis-restarted', 'fault.redis-lost-mid-turn'],
    stores: shared,
    weight: 16,
    ways: ['kill'],
    lastsMs: [200, 2000],
  },
  'redis-freeze': {
    lane: 'beside',
    faults: ['fault.redis-slow', 'fault.redis-lost-mid-turn'],
    stores: shared,
    weight: 16,
    ways: ['signal'],
    lastsMs: [500, 3000],
  },
  'redis-pause': {
    lane: 'beside',
    faults: ['fault.redis-slow', 'fault.redis-lost-mid-turn'],
    stores: shared,
    weight: 16,
    ways: ['writes'],
    lastsMs: [500, 3000],
  },
  'redis-flush': { lane: 'beside', faults: ['fault.redis-restarted'], stores: shared, weight: 30, ways: ['flush'], lastsMs: atOnce },
  'redis-full': {
    lane: 'beside',
    faults: ['fault.redis-refuses-writes'],
    stores: shared,
    weight: 16,
    ways: ['memory'],
    lastsMs: [500, 3000],
  },
  backup: { lane: 'beside', faults: ['fault.maintenance-under-load'], stores: both, weight: 6, ways: ['command'], lastsMs: atOnce },
  verify: { lane: 'beside', faults: ['fault.maintenance-under-load'], stores: both, weight: 12, ways: ['command'], lastsMs: atOnce },
} satisfies Record<string, Kind>

export type FaultName = keyof typeof table
export const kinds: Record<FaultName, Kind> = table
export const isFaultName = (name: string): name is FaultName => Object.hasOwn(table, name)

/** The kinds that a run of these options can have. */
export function kindsFor({ store, minutes }: Pick<ChaosOptions, 'store' | 'minutes'>): FaultName[] {
  return Object.keys(table)
    .filter(isFaultName)
    .filter((name) => kinds[name].stores.includes(store) && minutes >= (kinds[name].minMinutes ?? 0))
}

export type ArmedPoint = { name: FailpointName; action: 'kill' | 'throw' | 'drop' | `delay:${number}`; atHit: number }

export type PlannedFault = {
  id: number
  lane: Lane
  name: FaultName
  way: string
  /** The pause before it. */
  restMs: number
  /** During the pause, the other lane pauses too. */
  quiet: boolean
  /** The server, if it affects a single process. */
  supervised: number
  lastsMs: number
  /** For `failpoint` only. */
  points: ArmedPoint[]
}

/** In the form `name=action@n` of TURNKEEP_FAILPOINTS. */
export const specOf = (points: ArmedPoint[]): string => points.map(({ name, action, atHit }) => `${name}=${action}@${atHit}`).join(';')

/** Failpoints that are only reached during a drain. Key uses are written once a minute and at the end. */
export const isOfDrain = (name: FailpointName): boolean => /^(drain|give-up|touch-keys)\./.test(name)

/** The time that a start takes at least on any machine: a plan must not be finished before its time. */
const minStartMs = 300

export function planSchedule(options: ChaosOptions, points = pointsOf(options.store)): PlannedFault[] {
  const random = createRandom(options.seed).fork('schedule')
  const processRuns = planLane('lives', options, random.fork('lives'), points)
  const beside = planLane('beside', options, random.fork('beside'), [])
  return [...processRuns, ...beside].map((fault, id) => ({ ...fault, id }))
}

/** Every failpoint that this store has. */
export function pointsOf(store: StoreKind): FailpointName[] {
  return Object.keys(failpointNames)
    .filter(isFailpointName)
    .filter((name) => (failpointStores[name] ?? store) === store)
    .toSorted()
}

const isFailpointName = (name: string): name is FailpointName => Object.hasOwn(failpointNames, name)

function planLane(lane: Lane, options: ChaosOptions, random: Random, points: FailpointName[]): PlannedFault[] {
  const names = options.faults.filter((name) => kinds[name].lane === lane)
  if (names.length === 0) return []
  const visits = names.includes('failpoint') ? planVisits(points, random.fork('visits'), options) : []
  const rest = names.filter((name) => name !== 'failpoint')
  const plan = random.shuffle([...visits, ...rest.map((name) => draw(name, random, options))])
  let plannedMs = plan.reduce((sum, fault) => sum + minMs(fault), 0)
  while (plannedMs < options.minutes * 60_000) {
    const name = byWeight(names, random)
    const [first] =
      name === 'failpoint' ? planVisits(random.shuffle(points).slice(0, random.int(1, 3)), random, options, { killingShare: 0.9 }) : []
    // What does not act soon was already visited earlier, and the run should have many process runs.
    const fault = first ? { ...first, lastsMs: random.int(800, 2500) } : draw(name, random, options)
    plan.push(fault)
    plannedMs += minMs(fault)
  }
  return plan
}

const minMs = ({ restMs, lastsMs, lane, name }: PlannedFault): number =>
  restMs + (lane === 'lives' ? minStartMs : name === 'failpoint' ? 0 : lastsMs)

function byWeight(names: FaultName[], random: Random): FaultName {
  let left = random.int(
    1,
    names.reduce((sum, name) => sum + kinds[name].weight, 0),
  )
  return names.find((name) => (left -= kinds[name].weight) <= 0)!
}

function draw(name: FaultName, random: Random, { processes }: ChaosOptions): PlannedFault {
  const { lane, ways, lastsMs } = kinds[name]
  const quiet = lane === 'lives' && random.chance(1 / 24)
  // A quiet pause is long enough for a lease renewal, which comes after 4 s.
  const restMs = quiet ? random.int(4500, 7000) : lane === 'lives' ? random.int(50, 700) : random.int(200, 2000)
  return {
    id: 0,
    lane,
    name,
    way: random.pick(ways),
    restMs,
    quiet,
    supervised: random.int(0, processes - 1),
    lastsMs: random.int(...lastsMs),
    points: [],
  }
}

// Several points per process run, because a start takes longer than everything they do.
const fewestTogether = 4
export const maxTogether = 8

/**
 * Process runs in which each of these points acts once. At most one point per process run kills. Points that are only reached during a
 * drain are armed in process runs that are drained. `again`: they were armed without effect more than once, so nothing kills before them
 * now and they act at their first hit.
 */
export function planVisits(
  points: FailpointName[],
  random: Random,
  options: ChaosOptions,
  { again = false, killingShare = 0.4 } = {},
): PlannedFault[] {
  const groups: ArmedPoint[][] = []
  const [ofDrain, others] = [points.filter(isOfDrain), points.filter((name) => !isOfDrain(name))]
  for (const names of [random.shuffle(others), random.shuffle(ofDrain)]) {
    while (names.length > 0) {
      const together = names.splice(0, again ? maxTogether : random.int(fewestTogether, maxTogether))
      // A point that kills prevents the others from acting, so not every process run has one.
      const kills = random.chance(again ? 0 : killingShare) ? random.int(0, together.length - 1) : -1
      groups.push(together.map((name, at) => arm(name, random, { kills: at === kills, again, store: options.store })))
    }
  }
  return groups.map((group) => {
    const drawn = draw('failpoint', random, options)
    // The previous process run is ended for this one, so there was already a pause.
    return { ...drawn, points: group, restMs: drawn.quiet ? drawn.restMs : 0, lastsMs: again ? againForMs : drawn.lastsMs }
  })
}

// A lease renewal comes after 4 s, an erasure when a caller asks for one.
const againForMs = 15_000

function arm(
  name: FailpointName,
  random: Random,
  { kills, again, store }: { kills: boolean; again: boolean; store: StoreKind },
): ArmedPoint {
  const others = (['throw', 'drop', `delay:${random.int(20, 400)}`] as const).filter((action) => isAllowed(name, action, store))
  const drawn = random.pick(others)
  // A failing commit fails a whole batch, and half a minute draws few of them. So unless it kills, it always fails.
  const action = kills ? 'kill' : name.endsWith('.before-commit') && isAllowed(name, 'throw', store) ? 'throw' : drawn
  const mayBeLater = !again && isFrequent(name)
  return { name, action, atHit: mayBeLater ? random.pick([1, 1, 1, 2, 3]) : 1 }
}

/**
 * Points that every turn reaches, so a later hit comes soon. Others are reached once per process run, or when the operator makes a change.
 */
const isFrequent = (name: FailpointName): boolean => /^(limiter|admit|settle|model|stream|answer|reply)\./.test(name)

/** Not every point has a connection that can be dropped. */
function isAllowed(name: FailpointName, action: string, store: StoreKind): boolean {
  if (action === 'drop' && failpointDrops[name] === undefined) return false
  return misplacedFailpoint(`${name}=${action}`, store) === undefined
}
