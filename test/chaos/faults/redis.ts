/** Faults of the rate windows' Redis: killed, frozen, holding writes back, emptied, full. While it cannot count, nothing may be answered with 2xx. */
import type { Redis } from 'ioredis'
import { withRedis } from '../../support/redis-server.ts'
import type { Make } from './making.ts'
import type { FaultName } from '../schedule.ts'
import type { World } from '../world.ts'

const redisOf = (world: World) => world.shared!.redis
const ask = <Result>(world: World, use: (client: Redis) => Promise<Result>): Promise<Result> => withRedis(redisOf(world).url, use)

const kill: Make = async ({ world }) => {
  await redisOf(world).kill9()
  return () => redisOf(world).restart()
}

const freeze: Make = ({ world }) => {
  redisOf(world).pause()
  return () => redisOf(world).resume()
}

// Longer than any fault; it is ended before.
const forLongMs = '600000'

const pause: Make = async ({ world }) => {
  await ask(world, (client) => client.call('CLIENT', 'PAUSE', forLongMs, 'WRITE'))
  return () => ask(world, (client) => client.call('CLIENT', 'UNPAUSE'))
}

const flush: Make = async ({ world }) => {
  await ask(world, (client) => client.flushall())
  return undefined
}

const full: Make = async ({ world }) => {
  await ask(world, (client) => client.config('SET', 'maxmemory', '1'))
  return () => ask(world, (client) => client.config('SET', 'maxmemory', '0'))
}

export const redisFaults = {
  'redis-kill': kill,
  'redis-freeze': freeze,
  'redis-pause': pause,
  'redis-flush': flush,
  'redis-full': full,
} satisfies Partial<Record<FaultName, Make>>
