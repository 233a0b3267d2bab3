/**
 * Faults of one server: killed, armed with failpoints, drained, crashed by a bug, stopped or blocked past its lease, its clock moved, its disk full.
 * Each takes the place it works at for itself, so that no other fault disturbs it.
 */
import { writeFileSync } from 'node:fs'
import type { Make, Making } from './making.ts'
import { rest } from './making.ts'
import type { NextLife, Place } from '../place.ts'
import { isOfDrain } from '../schedule.ts'
import type { FaultName, PlannedFault } from '../schedule.ts'

/** A server that listens at the planned place, or at the next one where another fault is at work there. It is this fault's own until `free`. */
async function takePlace({ world: { places }, fault }: Making): Promise<Place> {
  for (;;) {
    const inOrder = [...places.slice(fault.place), ...places.slice(0, fault.place)]
    const place = inOrder.find(({ reserved }) => !reserved)
    if (place) {
      place.reserved = true
      await place.listening()
      return place
    }
    await rest(20, new AbortController().signal)
  }
}

/** For what ends a life: the next fault's failpoints are in the life that follows. */
function ender(work: (making: Making, place: Place) => Promise<void>): Make {
  return async (making) => {
    const armed = placeArmedFor(making)
    const place = armed ?? (await takePlace(making))
    place.reserved = true
    try {
      await work(making, place)
    } finally {
      place.reserved = false
    }
    return undefined
  }
}

/** Where the fault before it has already begun a life with these points. */
const placeArmedFor = ({ world, fault }: Making): Place | undefined =>
  fault.points.length === 0 ? undefined : world.places.find(({ armedLife, reserved }) => armedLife?.armed === fault.points && !reserved)

function prepareNext({ next }: Making, place: Place): void {
  if (next?.name === 'failpoint' && next.place === place.number) place.prepare(nextLife(next))
}

/** At a limit of 0 every turn under way is given up. */
function nextLife({ points }: PlannedFault): NextLife {
  if (!points.some(({ name }) => isOfDrain(name))) return { points }
  return { points, drainSeconds: points.some(({ name }) => name.includes('give-up')) ? 0 : 1 }
}

const kill = ender(async (making, place) => {
  const { way, lastsMs } = making.fault
  if (way === 'starting') {
    await place.kill()
    // Once more, somewhere in the start that follows.
    await rest(lastsMs, making.signal)
  }
  prepareNext(making, place)
  await place.kill()
})

// A life that was refused by a store that is away comes back with the same points.
const beginsWithinMs = 20_000

/** A life in which the planned points act; it goes on where none of them ends it. */
const failpoint = ender(async (making, place) => {
  const { fault, signal } = making
  let life = place.armedLife
  if (life?.armed !== fault.points) {
    const before = place.life
    place.prepare(nextLife(fault))
    await place.kill()
    life = await place.after(before)
  }
  const begins = AbortSignal.any([signal, AbortSignal.timeout(beginsWithinMs)])
  while (!(await Promise.race([life.listening, whenAborted(begins)])) && life.acted.size === 0 && !begins.aborted)
    life = await place.after(life)
  prepareNext(making, place)
  if (!life.listens) return
  if (fault.points.some(({ name }) => isOfDrain(name))) {
    // Until turns are under way.
    await rest(drainedAfterMs, signal)
    if (!life.end) await place.drain()
    return
  }
  const limit = AbortSignal.any([signal, AbortSignal.timeout(fault.lastsMs)])
  while (!limit.aborted && !life.end && fault.points.some(({ name }) => !life.acted.has(name)))
    await Promise.race([life.news(), life.ended, whenAborted(limit)])
})

const drainedAfterMs = 700

function whenAborted(signal: AbortSignal): Promise<false> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(false)
    else signal.addEventListener('abort', () => resolve(false), { once: true })
  })
}

const drain = ender(async (making, place) => {
  prepareNext(making, place)
  // A second signal counts from half a second on.
  await place.drain(making.fault.way === 'twice' ? making.fault.lastsMs : undefined)
})

// An order is obeyed at once, but a heap has to be filled.
const diesWithinMs = 60_000

const crash = ender(async (making, place) => {
  const { world, fault, troubles } = making
  prepareNext(making, place)
  writeFileSync(world.ordersOf(place.number), fault.way)
  const life = place.order({ ends: true })
  await Promise.race([life.ended, rest(diesWithinMs, new AbortController().signal)])
  if (life.end) return
  troubles.add('process', `place ${place.number}: a process lives on after ${fault.way} that nobody catches`)
  await place.kill()
})

const stop: Make = async (making) => {
  const place = await takePlace(making)
  const { life } = place
  const { history } = making.world
  const tell = (what: 'stopped' | 'continued'): void =>
    history.write({ kind: 'process', at: history.now(), place: place.number, what, why: 'stop' })
  place.signal('SIGSTOP')
  tell('stopped')
  return () => {
    if (!life.end) place.signal('SIGCONT')
    tell('continued')
    place.reserved = false
  }
}

/** A loop that is busy beyond its lease: what it holds is claimed elsewhere, and nothing of it counts twice. */
const block: Make = async (making) => {
  const place = await takePlace(making)
  writeFileSync(making.world.ordersOf(place.number), `block ${making.fault.lastsMs}`)
  place.order({ ends: false })
  return () => {
    place.reserved = false
  }
}

const hour = 3600

const clock: Make = async ({ world, fault, random, signal }) => {
  const moved = world.clock!
  const offset = random.int(hour / 60, hour)
  if (fault.way === 'to and fro') {
    for (let jumps = 0; jumps < 3 && !signal.aborted; jumps++) {
      moved.set((jumps % 2 === 0 ? 1 : -1) * offset)
      await rest(fault.lastsMs / 3, signal)
    }
  } else moved.set(fault.way === 'forward' ? offset : -offset)
  return () => moved.set(0)
}

const disk: Make = ({ world }) => {
  world.disk!.fill()
  return () => world.disk!.free()
}

export const processFaults = { kill, failpoint, drain, crash, stop, block, clock, disk } satisfies Partial<Record<FaultName, Make>>
