/**
 * `rate.window` in Redis or Valkey, shared by all processes: one script opens the window, spends a unit, and returns the end of the window
 * by the server's clock. `rate.fail-closed`: a command is sent once over an existing connection, or not at all; it is never queued,
 * repeated or answered from memory. An outage never ends the process, and no log line contains the password. See
 * docs/decisions/0014-rate-windows.md.
 */
import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import { Redis } from 'ioredis'
import type { RedisOptions } from 'ioredis'
import type { Logger } from 'pino'
import { Late, within } from '../deadline.ts'
import { createThrottle } from '../observability/throttle.ts'
import { outcomeOf } from './rate-window.ts'
import type { RateWindow } from './rate-window.ts'

export type RedisWindowOptions = {
  /** redis, rediss, valkey or valkeys. The path is the number of the database. */
  url: string
  log: Logger
  /** The deadline of an answer. After it, the connection is closed. */
  deadlineMs?: number
  /** A monotonic clock in milliseconds, such as performance.now(). */
  monotonicMs?: () => number
}

/**
 * Returns whether the unit was accepted, the units spent, the end of the window, and the milliseconds until then. It always writes, so that
 * a server that cannot write (a replica, full memory) fails instead of deciding with outdated data.
 */
export const spendScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local limit, length = tonumber(ARGV[1]), ARGV[2] * 1000
local opened, spent = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)$')
opened, spent = tonumber(opened), tonumber(spent)
-- A clock that was set back makes no window longer.
if opened and opened > now then opened = now end
if not opened or now >= opened + length then opened, spent = now, 0 end
local fits = spent < limit
if fits then spent = spent + 1 end
local left = opened + length - now
redis.call('SET', KEYS[1], string.format('%.0f %.0f', opened, spent), 'PX', left)
return { fits and 1 or 0, spent, opened + length, left }`

const scriptId = createHash('sha1').update(spendScript).digest('hex')
const keyPrefix = 'turnkeep:window:'
// No API key has this ID.
const pingId = 'ping'
const connectWithinMs = 1_000
const greetWithinMs = 1_000
const minPauseMs = 50
const maxPauseMs = 1_000

/**
 * Resolves when the first attempt to connect has ended, successfully or not. So the first requests after a start are not refused if Redis
 * is available, and a start does not require Redis.
 */
export async function createRedisWindow({
  url,
  log,
  deadlineMs = 250,
  monotonicMs = () => performance.now(),
}: RedisWindowOptions): Promise<RateWindow> {
  const address = addressOf(url)
  const tried = Promise.withResolvers<void>()
  let trouble: string | undefined
  let reported = false
  const mayLog = createThrottle(monotonicMs)
  let failures = 0
  let closing = false
  let greeting: NodeJS.Timeout | undefined

  const redis = new Redis({
    ...address,
    connectionName: 'turnkeep',
    connectTimeout: connectWithinMs,
    disconnectTimeout: 100,
    enableOfflineQueue: false,
    // Without the zero, commands of a lost connection would neither be repeated nor ever be answered.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A server that is loading its data says so to each command. The client's own check may wait ten seconds longer than the loading takes.
    enableReadyCheck: false,
    disableClientInfo: true,
    // The client counts from its last connection, but a connection to a replica or with a wrong password does not work.
    retryStrategy: () => Math.min(maxPauseMs, minPauseMs * 2 ** failures++) * (0.5 + Math.random() / 2),
    // After a failover behind one address, the connection still leads to the previous primary.
    reconnectOnError: (error) => /READONLY|MASTERDOWN/.test(error.message),
  })

  redis.on('error', (error: Error) => {
    fails(error)
    // The client continues in database 0 if the requested one does not exist.
    if (redis.status === 'connect') redis.stream.destroy()
  })
  redis.on('connect', () => {
    const { stream } = redis
    greeting = setTimeout(() => stream.destroy(new Error(`no greeting within ${greetWithinMs} ms`)), greetWithinMs)
  })
  redis.on('ready', () => {
    clearTimeout(greeting)
    ask(pingId, 1, 1).then(
      () => tried.resolve(),
      () => tried.resolve(),
    )
  })
  redis.on('close', () => {
    clearTimeout(greeting)
    // An error that arrives first explains the disconnect.
    if (trouble === undefined) fails(new Error('the connection was closed'))
    tried.resolve()
  })

  function fails(error: NodeJS.ErrnoException): void {
    const said = error.message || error.code || 'no reason given'
    const reason = address.password ? said.replaceAll(address.password, '…') : said
    if (!reported && !closing && mayLog()) {
      log.warn({ reason }, 'rate limiter unavailable: Redis cannot be used; rejecting requests until it works again')
      reported = true
    }
    trouble = reason
  }

  function works(): void {
    failures = 0
    trouble = undefined
    if (reported) log.info('rate limiter available again')
    reported = false
  }

  /** Commands of one round of the event loop are sent in one write: a separate write costs twice as much as the rest of a command. */
  function gather(stream: typeof redis.stream): void {
    if (stream.writableCorked > 0) return
    stream.cork()
    setImmediate(() => stream.uncork())
  }

  async function evaluate(...args: [key: string, limit: number, windowSeconds: number]): Promise<unknown> {
    try {
      return await redis.evalsha(scriptId, 1, ...args)
    } catch (error) {
      // Nothing was executed: the server has restarted or its scripts were flushed.
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error
      return redis.eval(spendScript, 1, ...args)
    }
  }

  async function ask(apiKeyId: string, limit: number, windowSeconds: number) {
    const { stream } = redis
    if (redis.status !== 'ready' || !stream.writable) throw refusal()
    gather(stream)
    try {
      const answer = await within(deadlineMs, evaluate(keyPrefix + apiKeyId, limit, windowSeconds))
      works()
      return answer as [fits: 0 | 1, spent: number, endsAtMs: number, endsInMs: number]
    } catch (error) {
      // A frozen server would later execute commands that no caller waits for. A new connection works as soon as it resumes.
      if (error instanceof Late) stream.destroy()
      // Otherwise the connection was lost, and the reason is known.
      if (redis.status === 'ready') fails(error as Error)
      throw refusal()
    }
  }

  // Not the client's error, because its message contains the command.
  const refusal = (): Error => new Error(`the rate limiter cannot use Redis: ${trouble ?? 'not connected'}`)

  await tried.promise
  return {
    // mutant: limiter-that-falls-back-to-memory
    async spend({ apiKeyId, limit, windowSeconds }) {
      const [fits, spent, endsAtMs, endsInMs] = await ask(apiKeyId, limit, windowSeconds)
      return outcomeOf(fits === 1, { limit, spent, endsAtMs, endsInMs })
    },
    async ping() {
      await ask(pingId, 1, 1)
    },
    async close() {
      closing = true
      const { stream } = redis
      redis.disconnect()
      if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve))
    },
  }
}

/** Parsed here and not by the client, which would let the query of the URL override these settings. */
export function addressOf(text: string): RedisOptions {
  const url = new URL(text)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const secure = url.protocol === 'rediss:' || url.protocol === 'valkeys:'
  return {
    host,
    port: Number(url.port || 6379),
    db: Number(url.pathname.slice(1)),
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    ...(secure ? { tls: isIP(host) ? {} : { servername: host } } : {}),
  }
}
