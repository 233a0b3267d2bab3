/** How each kind of fault is injected and reverted. A kind returns how to revert it, or nothing if it ends by itself. */
import { commands } from './faults/commands.ts'
import type { Make } from './faults/making.ts'
import { postgresFaults } from './faults/postgres.ts'
import { processFaults } from './faults/processes.ts'
import { redisFaults } from './faults/redis.ts'
import type { FaultName } from './schedule.ts'

export const make: Record<FaultName, Make> = { ...processFaults, ...postgresFaults, ...redisFaults, ...commands }
