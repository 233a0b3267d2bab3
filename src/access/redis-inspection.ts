/**
 * Inspects the Redis or Valkey server that holds the rate windows, for `turnkeep doctor`. Uses no unit of any API key's window and never
 * shows the password.
 */
import { pino } from 'pino'
import { Redis } from 'ioredis'
import { addressOf, createRedisWindow } from './redis-window.ts'

export type RedisFound = {
  /** For example `Valkey 8.0.1`; undefined if this user may not read the server's information. */
  server: string | undefined
  /** The eviction policy; undefined if this user may not read it or if memory has no limit. */
  whenFull: string | undefined
  /** The median duration of a command that spends a unit, in milliseconds. */
  spendMs: number
}

const spends = 5

/** Rejects with the reason of the rate window if the server cannot hold windows now. */
export async function inspectRedis(url: string): Promise<RedisFound> {
  const window = await createRedisWindow({ url, log: pino({ level: 'silent' }) })
  try {
    const times: number[] = []
    for (let spend = 0; spend < spends; spend++) {
      const askedAt = performance.now()
      await window.ping()
      times.push(performance.now() - askedAt)
    }
    return { ...(await readInfo(url)), spendMs: times.toSorted((a, b) => a - b)[Math.floor(spends / 2)]! }
  } finally {
    await window.close()
  }
}

async function readInfo(url: string): Promise<Pick<RedisFound, 'server' | 'whenFull'>> {
  const redis = new Redis({
    ...addressOf(url),
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    commandTimeout: 1_000,
  })
  redis.on('error', () => undefined)
  try {
    await redis.connect()
    const info = `${await redis.info('server')}\r\n${await redis.info('memory')}`
    const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
    const valkey = field('valkey_version')
    const version = valkey ?? field('redis_version')
    return {
      server: version && `${valkey ? 'Valkey' : 'Redis'} ${version}`,
      whenFull: field('maxmemory') === '0' ? undefined : field('maxmemory_policy'),
    }
  } catch {
    // A user without permission for INFO is a valid setup. The rate window itself works.
    return { server: undefined, whenFull: undefined }
  } finally {
    redis.disconnect()
  }
}
