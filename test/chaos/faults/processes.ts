/**
 * Faults of one server: killed, armed with failpoints, drained, crashed by a bug, stopped or blocked past its lease, its clock moved, its
 * disk full. Each reserves its place, so that no other fault interferes.
 */
import { writeFileSync } from 'node:fs'
import type { Make, Making } from './making.ts'
import { rest } from './making.ts'
import type { NextProcessRun, SupervisedServer } from '../supervised-server.ts'
import { isOfDrain } from '../schedule.ts'
import type { FaultName, PlannedFault } from '../schedule.ts'

/** A running server at the planned place, or at the next one if another fault uses it. It is reserved until `free`. */
async function takePlace({ testbed: { supervisedServers }, fault }: Making): Promise<SupervisedServer> {
  for (;;) {
    const inOrder = [...supervisedServers.slice(fault.supervised), ...supervisedServers.slice(0, fault.supervised)]
    const supervised = inOrder.find(({ reserved }) => !reserved)
    if (supervised) {
      supervised.reserved = true
      await supervised.listening()
      return supervised
    }
    await rest(20, new AbortController().signal)
  }
}

/** For faults that end a process run: the failpoints of the next fault are set in the following run. */
function ender(work: (making: Making, supervised: SupervisedServer) => Promise<void>): Make {
  return async (making) => {
    const armed = placeArmedFor(making)
    const supervised = armed ?? (await takePlace(making))
    supervised.reserved = true
    try {
      await work(making, supervised)
    } finally {
      supervised.reserved = false
    }
    return undefined
  }
}

/** True if the previous fault has already started a process run with these failpoints. */
const placeArmedFor = ({ testbed, fault }: Making): SupervisedServer | undefined =>
  fault.points.length === 0
    ? undefined
    : testbed.supervisedServers.find(({ armedLife, reserved }) => armedLife?.armed === fault.points && !reserved)

function prepareNext({ next }: Making, supervised: SupervisedServer): void {
  if (next?.name === 'failpoint' && next.supervised === supervised.number) supervised.prepare(nextLife(next))
}

/** With a limit of 0 every running turn is released. */
function nextLife({ points }: PlannedFault): NextProcessRun {
  if (!points.some(({ name }) => isOfDrain(name))) return { points }
  return { points, drainSeconds: points.some(({ name }) => name.includes('give-up')) ? 0 : 1 }
}

const kill = ender(async (making, supervised) => {
  const { way, lastsMs } = making.fault
  if (way === 'starting') {
    await supervised.kill()
    // Once more, somewhere in the following start.
    await rest(lastsMs, making.signal)
  }
  prepareNext(making, supervised)
  await supervised.kill()
})

// A start that was refused because the store is unavailable is repeated with the same failpoints.
const beginsWithinMs = 20_000

/** A process run in which the planned failpoints act. It continues if none of them ends it. */
const failpoint = ender(async (making, supervised) => {
  const { fault, signal } = making
  let processRun = supervised.armedLife
  if (processRun?.armed !== fault.points) {
    const before = supervised.processRun
    supervised.prepare(nextLife(fault))
    await supervised.kill()
    processRun = await supervised.after(before)
  }
  const begins = AbortSignal.any([signal, AbortSignal.timeout(beginsWithinMs)])
  while (!(await Promise.race([processRun.listening, whenAborted(begins)])) && processRun.acted.size === 0 && !begins.aborted)
    processRun = await supervised.after(processRun)
  prepareNext(making, supervised)
  if (!processRun.listens) return
  if (fault.points.some(({ name }) => isOfDrain(name))) {
    // Until turns are running.
    await rest(drainedAfterMs, signal)
    if (!processRun.end) await supervised.drain()
    return
  }
  const limit = AbortSignal.any([signal, AbortSignal.timeout(fault.lastsMs)])
  while (!limit.aborted && !processRun.end && fault.points.some(({ name }) => !processRun.acted.has(name)))
    await Promise.race([processRun.news(), processRun.ended, whenAborted(limit)])
})

const drainedAfterMs = 700

function whenAborted(signal: AbortSignal): Promise<false> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(false)
    else signal.addEventListener('abort', () => resolve(false), { once: true })
  })
}

const drain = ender(async (making, supervised) => {
  prepareNext(making, supervised)
  // A second signal counts from half a second on.
  await supervised.drain(making.fault.way === 'twice' ? making.fault.lastsMs : undefined)
})

// A command is executed immediately, but filling a heap takes time.
const diesWithinMs = 60_000

const crash = ender(async (making, supervised) => {
  const { testbed, fault, logWatch } = making
  prepareNext(making, supervised)
  writeFileSync(testbed.ordersOf(supervised.number), fault.way)
  const processRun = supervised.order({ ends: true })
  await Promise.race([processRun.ended, rest(diesWithinMs, new AbortController().signal)])
  if (processRun.end) return
  logWatch.add('process', `place ${supervised.number}: a process keeps running after an uncaught ${fault.way}`)
  await supervised.kill()
})

const stop: Make = async (making) => {
  const supervised = await takePlace(making)
  const { processRun } = supervised
  const { history } = making.testbed
  const tell = (what: 'stopped' | 'continued'): void =>
    history.write({ kind: 'process', at: history.now(), supervised: supervised.number, what, why: 'stop' })
  supervised.signal('SIGSTOP')
  tell('stopped')
  return () => {
    if (!processRun.end) supervised.signal('SIGCONT')
    tell('continued')
    supervised.reserved = false
  }
}

/** An event loop that is blocked past its lease: its turns are claimed elsewhere, and none of its writes counts twice. */
const block: Make = async (making) => {
  const supervised = await takePlace(making)
  writeFileSync(making.testbed.ordersOf(supervised.number), `block ${making.fault.lastsMs}`)
  supervised.order({ ends: false })
  return () => {
    supervised.reserved = false
  }
}

const hour = 3600

const clock: Make = async ({ testbed, fault, random, signal }) => {
  const moved = testbed.clock!
  const offset = random.int(hour / 60, hour)
  if (fault.way === 'to and fro') {
    for (let jumps = 0; jumps < 3 && !signal.aborted; jumps++) {
      moved.set((jumps % 2 === 0 ? 1 : -1) * offset)
      await rest(fault.lastsMs / 3, signal)
    }
  } else moved.set(fault.way === 'forward' ? offset : -offset)
  return () => moved.set(0)
}

const disk: Make = ({ testbed }) => {
  testbed.disk!.fill()
  return () => testbed.disk!.free()
}

export const processFaults = { kill, failpoint, drain, crash, stop, block, clock, disk } satisfies Partial<Record<FaultName, Make>>
