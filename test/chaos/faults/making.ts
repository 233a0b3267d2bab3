/** What every kind of fault receives, and what it returns. */
import { setTimeout as pass } from 'node:timers/promises'
import type { Random } from '../random.ts'
import type { PlannedFault } from '../schedule.ts'
import type { LogWatch } from '../log-watch.ts'
import type { Testbed } from '../testbed.ts'

export type Heal = () => unknown

export type Making = {
  testbed: Testbed
  fault: PlannedFault
  /** The next fault in the same lane, so that the following process run can be started for it. */
  next: PlannedFault | undefined
  random: Random
  logWatch: LogWatch
  /** The time of the run is over, and long faults end early. */
  signal: AbortSignal
}

export type Make = (making: Making) => Promise<Heal | undefined> | Heal | undefined

/** Shorter if the time of the run is over. */
export const rest = (ms: number, signal: AbortSignal): Promise<void> => pass(ms, undefined, { signal }).catch(() => undefined)
