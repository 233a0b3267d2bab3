/** Faults of Redis: killed, frozen, delaying writes, emptied, full. While it cannot count, no request may get a 2xx. */
import type { Redis } from 'ioredis'
import { withRedis } from '../../support/redis-server.ts'
import type { Make } from './making.ts'
import type { FaultName } from '../schedule.ts'
import type { Testbed } from '../testbed.ts'

const redisOf = (testbed: Testbed) => testbed.shared!.redis
const ask = <Result>(testbed: Testbed, use: (client: Redis) => Promise<Result>): Promise<Result> => withRedis(redisOf(testbed).url, use)

const kill: Make = async ({ testbed }) => {
  await redisOf(testbed).kill9()
  return () => redisOf(testbed).restart()
}

const freeze: Make = ({ testbed }) => {
  redisOf(testbed).pause()
  return () => redisOf(testbed).resume()
}

// Longer than any fault; it is ended before.
const forLongMs = '600000'

const pause: Make = async ({ testbed }) => {
  await ask(testbed, (client) => client.call('CLIENT', 'PAUSE', forLongMs, 'WRITE'))
  return () => ask(testbed, (client) => client.call('CLIENT', 'UNPAUSE'))
}

const flush: Make = async ({ testbed }) => {
  await ask(testbed, (client) => client.flushall())
  return undefined
}

const full: Make = async ({ testbed }) => {
  await ask(testbed, (client) => client.config('SET', 'maxmemory', '1'))
  return () => ask(testbed, (client) => client.config('SET', 'maxmemory', '0'))
}

export const redisFaults = {
  'redis-kill': kill,
  'redis-freeze': freeze,
  'redis-pause': pause,
  'redis-flush': flush,
  'redis-full': full,
} satisfies Partial<Record<FaultName, Make>>
