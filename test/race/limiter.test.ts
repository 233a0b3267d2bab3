/**
 * The Redis of the rate windows is killed, frozen, flushed, full, read-only, loading or locked. Uses the real server over real sockets and
 * a separate real Redis. The duration of a refusal is logged and not asserted, because the machine may be busy.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { createRedisWindow } from '../../src/access/redis-window.ts'
import { gate } from '../support/model-server.ts'
import { noRedis, noRedisServer, makeRedis, startRedis, withRedis } from '../support/redis-server.ts'
import type { RedisServer } from '../support/redis-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer, TestApp, TestAppOptions } from '../support/test-app.ts'
import { until } from '../support/until.ts'

const skip = noRedisServer()
const rateHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
// A refusal takes at most 250 ms; this leaves a margin for a busy machine.
const generousMs = 10_000

/** Starts an app that is connected to a separate Redis for its windows. */
async function begin(t: TestContext, { lines = [], ...options }: TestAppOptions & { lines?: string[] } = {}) {
  const redis = await startRedis({ lines })
  t.after(() => redis.stop())
  const app = await startTestApp({ ...options, env: { REDIS_URL: redis.url } })
  t.after(() => app.close())
  await until('the limiter works', async () => (await limiterOf(app)) === 'ok')
  return { redis, app }
}

/** Asserts that both transports and the listing are refused, no model is called and nothing is stored. */
async function refuses(t: TestContext, app: TestApp, why: string): Promise<void> {
  const [calls, turns] = [app.model.calls.length, await turnsOf(app)]
  const times: number[] = []
  const timed = async (ask: () => Promise<Answer>): Promise<void> => {
    const from = performance.now()
    const { status, json, headers } = await ask()
    times.push(Math.round(performance.now() - from))
    assert.deepEqual([status, json.error?.code, headers.get('retry-after')], [503, 'api_rate_limit_unavailable', '5'], why)
    for (const name of rateHeaders) assert.equal(headers.get(name), null)
    assert.ok(times.at(-1)! < generousMs, `${times.at(-1)} ms`)
  }
  const idempotencyKey = randomUUID()
  await timed(() => app.chat('refused', { idempotencyKey }))
  await timed(() => app.stream('refused', { idempotencyKey }))
  await timed(() => listing(app))
  assert.equal(app.model.calls.length, calls, 'no model call')
  assert.equal(await turnsOf(app), turns, 'no row')
  assert.equal(await limiterOf(app), 'unavailable')
  t.diagnostic(`${why}: refused in ${times.join(', ')} ms`)
}

async function limiterOf(app: TestApp): Promise<string> {
  const readiness = (await (await fetch(`${app.url}/readyz`)).json()) as { limiter: string }
  return readiness.limiter
}

async function turnsOf(app: TestApp): Promise<number> {
  return (await app.made('GET', '/turns?limit=100')).data.length
}

async function listing(app: TestApp): Promise<Answer> {
  const url = `${app.url}/v1/agents/${app.caller.agentId}/conversations?external_user_id=user-1`
  const response = await fetch(url, { headers: { authorization: `Bearer ${app.caller.apiKey}` } })
  return { status: response.status, headers: response.headers, text: '', json: (await response.json()) as Answer['json'] }
}

/**
 * Asserts that requests are accepted again without a restart, soon and permanently, and that a refused request runs with its key as if it
 * had never been sent.
 */
async function answersAgain(app: TestApp): Promise<void> {
  const calls = app.model.calls.length
  await until('a list is read', async () => (await listing(app)).status === 200)
  await until('a message is accepted', async () => (await app.chat('again')).status === 200)
  assert.equal(app.model.calls.length, calls + 1)
  await app.verify()
}

const command =
  (redis: RedisServer) =>
  <Result>(use: (client: Redis) => Promise<Result>): Promise<Result> =>
    withRedis(redis.url, use)

void test(
  'fault.rate-limit-storm rate.spend: two processes near the limit: exactly the limit is accepted',
  { skip: noRedis() },
  async (t) => {
    const { url, drop } = await makeRedis()
    t.after(drop)
    const log = pino({ level: 'silent' })
    const windows = await Promise.all([1, 2].map(() => createRedisWindow({ url, log, deadlineMs: 30_000 })))
    t.after(() => Promise.all(windows.map((window) => window.close())))
    const keys = Array.from({ length: 5 }, (_, n) => `key_${n}`)
    const requests = Array.from({ length: 40 }, () => keys).flat()
    const ask = (apiKeyId: string, n: number) => windows[n % 2]!.spend({ apiKeyId, limit: 120, windowSeconds: 600 })
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, () => requests)
        .flat()
        .map(async (key, n) => ({ key, ...(await ask(key, n)) })),
    )
    for (const key of keys) {
      const own = outcomes.filter((outcome) => outcome.key === key)
      const accepted = own.filter(({ kind }) => kind === 'allowed')
      assert.deepEqual([own.length, accepted.length], [400, 120])
      const rests = new Set(accepted.map((outcome) => outcome.kind === 'allowed' && outcome.figures.remaining))
      assert.equal(rests.size, 120, 'no two responses had the same remaining count')
      assert.equal(own.filter(({ kind }) => kind === 'exceeded').length, 280)
    }
  },
)

void test(
  'fault.redis-down rate.fail-closed: Redis is killed: refused immediately, accepted again without a restart',
  { skip },
  async (t) => {
    const { redis, app } = await begin(t)
    for (let times = 0; times < 2; times++) {
      await redis.kill9()
      await refuses(t, app, 'Redis killed')
      await refuses(t, app, 'Redis still gone')
      await redis.restart()
      await answersAgain(app)
    }
  },
)

void test(
  'fault.redis-down rate.fail-closed: a start without Redis: refused, and accepted when Redis is available',
  { skip },
  async (t) => {
    const redis = await startRedis()
    t.after(() => redis.stop())
    await redis.kill9()
    const app = await startTestApp({ env: { REDIS_URL: redis.url } })
    t.after(() => app.close())
    await refuses(t, app, 'Redis not there yet')
    await redis.restart()
    await answersAgain(app)
  },
)

void test('fault.redis-slow rate.fail-closed: Redis is frozen: refused in time, accepted when it resumes', { skip }, async (t) => {
  const { redis, app } = await begin(t)
  redis.pause()
  await refuses(t, app, 'SIGSTOP')
  await refuses(t, app, 'SIGSTOP, some time later')
  redis.resume()
  await answersAgain(app)
})

void test('fault.redis-slow rate.fail-closed: Redis sleeps, or delays writes: refused in time', { skip }, async (t) => {
  const { redis, app } = await begin(t, { lines: ['enable-debug-command local'] })
  const run = command(redis)
  const asleep = run((client) => client.call('DEBUG', 'SLEEP', '600')).catch(() => 'killed')
  await until('the limiter is unavailable', async () => (await limiterOf(app)) === 'unavailable')
  await refuses(t, app, 'DEBUG SLEEP')
  await redis.kill9()
  assert.equal(await asleep, 'killed')
  await redis.restart()
  await answersAgain(app)

  await run((client) => client.call('CLIENT', 'PAUSE', '600000', 'WRITE'))
  await refuses(t, app, 'CLIENT PAUSE WRITE')
  await run((client) => client.call('CLIENT', 'UNPAUSE'))
  await answersAgain(app)
})

void test(
  'fault.redis-restarted rate.window: Redis is flushed or restarted: the windows start again, and no 5xx after it',
  { skip },
  async (t) => {
    const { redis, app } = await begin(t, { key: { rate_limit: { limit: 2, window_seconds: 600 } } })
    const full = async (): Promise<void> => {
      await until('the limit is reached', async () => (await app.chat('fill')).status === 429)
      assert.equal((await app.chat('hello')).status, 429)
    }
    await full()
    await command(redis)((client) => client.flushall())
    const answer = await app.chat('hello')
    assert.deepEqual([answer.status, answer.headers.get('x-ratelimit-remaining')], [200, '1'], 'not one 5xx')
    await full()

    await redis.restart()
    await until('a message is accepted', async () => (await app.chat('hello')).status === 200)
    const left = await Promise.all(Array.from({ length: 20 }, () => app.chat('hello')))
    assert.deepEqual(left.filter(({ status }) => status >= 500).length, 0, 'never a 5xx once it is reached')
    await app.verify()
  },
)

void test(
  'fault.redis-refuses-writes rate.fail-closed: Redis is full, a replica, or rejects the credentials: refused until it is over',
  { skip },
  async (t) => {
    const { redis, app } = await begin(t)
    const run = command(redis)
    await run((client) => client.config('SET', 'maxmemory', '1'))
    await refuses(t, app, 'OOM')
    await run((client) => client.config('SET', 'maxmemory', '0'))
    await answersAgain(app)

    await run((client) => client.replicaof('127.0.0.1', 1))
    await refuses(t, app, 'READONLY')
    await run((client) => client.replicaof('NO', 'ONE'))
    await answersAgain(app)

    await run((client) => client.acl('SETUSER', 'default', 'resetkeys', '~other:*'))
    await refuses(t, app, 'NOPERM')
    await run((client) => client.acl('SETUSER', 'default', '~*'))
    await answersAgain(app)

    const key = 'a password of the test'
    await run(async (client) => {
      await client.config('SET', 'requirepass', key)
      await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    })
    await refuses(t, app, 'NOAUTH')
    await withRedis(redis.url.replace('//', `//:${encodeURIComponent(key)}@`), (client) => client.config('SET', 'requirepass', ''))
    await answersAgain(app)
  },
)

void test('fault.redis-refuses-writes rate.fail-closed: Redis loads its data: refused until it has', { skip }, async (t) => {
  const { redis, app } = await begin(t, { lines: ['enable-debug-command local', 'loading-process-events-interval-bytes 1024'] })
  const run = command(redis)
  await run(async (client) => {
    await client.call('DEBUG', 'POPULATE', '30000')
    await client.save()
    await client.flushall()
    await client.config('SET', 'key-load-delay', '1000')
  })
  const log = pino({ level: 'silent' })
  const beside = await createRedisWindow({ url: redis.url, log, deadlineMs: 30_000 })
  t.after(() => beside.close())
  // Redis reads its file back as at a start, which takes half a minute unless the test speeds it up.
  const loaded = run((client) => client.call('DEBUG', 'RELOAD', 'NOSAVE'))
  await until('Redis is loading', async () => /LOADING/.test(await failureOf(beside.ping())))
  await refuses(t, app, 'LOADING')
  assert.match(await failureOf(beside.ping()), /LOADING/, 'all the while')
  const hurried = new Redis(redis.url, { enableReadyCheck: false })
  await hurried.config('SET', 'key-load-delay', '0')
  hurried.disconnect()
  await loaded
  await answersAgain(app)
})

const failureOf = (asked: Promise<void>): Promise<string> =>
  asked.then(
    () => '',
    (error: Error) => error.message,
  )

void test(
  'fault.redis-lost-mid-turn rate.fail-closed: Redis is killed during a turn: the turn is answered and charged',
  { skip },
  async (t) => {
    const { redis, app } = await begin(t)
    const held = gate()
    app.model.script(['Hel', held, 'lo'], ['Hel', held, 'lo'])
    const answer = app.chat('sync', { user: 'user-2' })
    const stream = app.stream('stream', { user: 'user-3' })
    await app.model.waitForCalls(2)
    await held.reached
    await redis.kill9()
    await refuses(t, app, 'Redis killed during two turns')
    held.open()
    assert.deepEqual([(await answer).status, (await answer).json.message.content], [200, 'Hello'])
    assert.equal((await stream).events.at(-1)?.event, 'response.completed')
    assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 2)
    await redis.restart()
    await answersAgain(app)
  },
)
