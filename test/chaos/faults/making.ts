/** What every kind of fault is given to make itself with, and what it answers. */
import { setTimeout as pass } from 'node:timers/promises'
import type { Random } from '../random.ts'
import type { PlannedFault } from '../schedule.ts'
import type { LogWatch } from '../log-watch.ts'
import type { Testbed } from '../testbed.ts'

export type Heal = () => unknown

export type Making = {
  testbed: Testbed
  fault: PlannedFault
  /** Comes behind it in the same lane, so that the life which follows can be begun for it. */
  next: PlannedFault | undefined
  random: Random
  logWatch: LogWatch
  /** The run's time is over, and what takes long ends early. */
  signal: AbortSignal
}

export type Make = (making: Making) => Promise<Heal | undefined> | Heal | undefined

/** Shorter where the run's time is over. */
export const rest = (ms: number, signal: AbortSignal): Promise<void> => pass(ms, undefined, { signal }).catch(() => undefined)
