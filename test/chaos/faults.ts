/**
 * How each kind of fault of the plan is made and taken back. A kind answers how it is healed; one that is over by itself answers nothing. Never
 * decides what comes when, and never looks at what callers met.
 */
import { commands } from './faults/commands.ts'
import type { Make } from './faults/making.ts'
import { postgresFaults } from './faults/postgres.ts'
import { processFaults } from './faults/processes.ts'
import { redisFaults } from './faults/redis.ts'
import type { FaultName } from './schedule.ts'

export const make: Record<FaultName, Make> = { ...processFaults, ...postgresFaults, ...redisFaults, ...commands }
