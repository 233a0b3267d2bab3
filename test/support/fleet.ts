/**
 * Several real servers on one PostgreSQL and one Redis, a model server that keeps running when they end, and callers who retry with the
 * same key at any process until they have their reply. Every process that it starts ends with the test. It hides no retry: the result
 * contains what a caller received before.
 *
 *     const fleet = await Fleet.begin(t, { count: 3 })
 *     const outcome = await fleet.send(fleet.sent('hello'))      // retries until the outcome is final, at any running server
 *     await fleet.kill(1); await fleet.start(1)
 *     await fleet.checkReplies([outcome])                        // one reply per key, the same at every process, one charge, every invariant
 */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { verify } from '../../src/store/queries/invariants.ts'
import { readPostgresSnapshot } from '../../src/store/postgres/postgres.ts'
import { startModelServer } from './model-server.ts'
import type { ModelServer } from './model-server.ts'
import { makeDatabase, noPostgres, withClient } from './postgres-server.ts'
import { makeRedis, noRedis } from './redis-server.ts'
import { startServer } from './server-process.ts'
import type { ServerProcess } from './server-process.ts'
import { adminToken, parseEvents, read, TestClient } from './test-app.ts'
import type { Caller } from './test-app.ts'
import { until } from './until.ts'

/** Why a fleet is not possible here, or false. For the `skip` option of a test. */
export const noFleet = (): string | false => noPostgres() || noRedis()

export type FleetOptions = {
  /** The number of servers; one by default. */
  count?: number
  /** The database of this test; by default its own in the PostgreSQL of the run. */
  databaseUrl?: string
  /** The URL that the servers use, if it differs from that of the test. */
  serversReachItAt?: string
  /** More settings of every server. */
  env?: Record<string, string>
}

export type Sent = { message: string; user: string; idempotencyKey: string; transport: 'chat' | 'stream' }

/** The outcome of a request, and what its caller received before. */
export type Outcome = {
  sent: Sent
  /** The reply as JSON text, the same on both transports; undefined if the outcome is an error. */
  reply: string | undefined
  status: number
  code: string | undefined
  /** The results of the earlier attempts, in order: an error code, `broken` or `cut`. */
  met: string[]
  at: number
}

export type LoadOptions = {
  callers: number
  /** The longest pause between a response and the next message. */
  restMs?: number
  /** Distinguishes the messages of two loads. */
  name?: string
  choose?: (sent: Sent) => Where
}

export type Load = {
  /** Until now. */
  reported: Outcome[]
  /** Sends nothing new. Resolves with all results when the last request has its outcome. Rejects if a caller found something wrong. */
  stop(): Promise<Outcome[]>
}

/** `broken`: no response started; `cut`: one started and did not end. */
type Try = { kind: 'reply'; reply: string } | { kind: 'error'; status: number; code: string } | { kind: 'broken' } | { kind: 'cut' }
/** A server's place, or the URL of a proxy in front of them. */
type Where = number | string | undefined

// The error codes after which the specification tells a caller to retry with the same key.
const comeBack = new Set([
  'service_unavailable',
  'idempotency_in_progress',
  'conversation_busy',
  'api_rate_limit_unavailable',
  'broken',
  'cut',
])
// Callers of a test wait for less time than Retry-After.
const pauseMs = 200

export class Fleet {
  readonly model: ModelServer
  /** The store as this test reads it. It changes with the database. */
  databaseUrl: string
  readonly #env: Record<string, string>
  /** Indexed by place; undefined while no server is running there. */
  readonly servers: (ServerProcess | undefined)[] = []
  #closed = false
  readonly #starting: Promise<ServerProcess>[] = []
  caller!: Caller

  private constructor(model: ModelServer, databaseUrl: string, env: Record<string, string>) {
    this.model = model
    this.databaseUrl = databaseUrl
    this.#env = env
  }

  static async begin(t: TestContext, { count = 1, databaseUrl, serversReachItAt, env = {} }: FleetOptions = {}): Promise<Fleet> {
    const [own, redis, model] = await Promise.all([databaseUrl ? undefined : makeDatabase(), makeRedis(), startModelServer()])
    const url = databaseUrl ?? own!.url
    const fleet = new Fleet(model, url, {
      DATABASE_URL: serversReachItAt ?? url,
      REDIS_URL: redis.url,
      TURNKEEP_ADMIN_TOKEN: adminToken,
      TURNKEEP_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      ...env,
    })
    t.after(async () => {
      fleet.#closed = true
      const started = await Promise.allSettled(fleet.#starting)
      await Promise.all(started.map((start) => start.status === 'fulfilled' && start.value.kill()))
      await Promise.all([model.close(), redis.drop(), own?.drop()])
    })
    await Promise.all(Array.from({ length: count }, (_, place) => fleet.start(place)))
    await fleet.client().makeProvider(model)
    fleet.caller = await fleet.client().makeCaller({ balanceUsd: '1000' })
    if (!env['TURNKEEP_FAILPOINTS']) await fleet.#warmUp()
    return fleet
  }

  /** A server that has just started on a busy machine may refuse its first requests. These are refused in any case, and store nothing. */
  async #warmUp(): Promise<void> {
    const caller = await this.client().makeCaller({ balanceUsd: '0' })
    const refused = async (place: number): Promise<boolean> =>
      (await this.client(place).chatRequest({ external_user_id: 'first', message: 'first' }, { caller })).status === 402
    await Promise.all(this.alive.map((place) => until(`server ${place} answers`, () => refused(place))))
  }

  /** `program` is the bin/turnkeep.js of another build. */
  async start(place: number, { env = {}, program }: { env?: Record<string, string>; program?: string } = {}): Promise<ServerProcess> {
    const starting = startServer({ ...this.#env, ...env }, program)
    this.#starting.push(starting)
    return (this.servers[place] = await starting)
  }

  /** SIGKILL; resolves when the process has ended. */
  async kill(place: number): Promise<void> {
    const server = this.servers[place]
    this.servers[place] = undefined
    await server?.kill()
  }

  /** Requests are no longer sent to a process that a test ends itself. */
  leave(place: number): ServerProcess {
    const server = this.servers[place]!
    this.servers[place] = undefined
    return server
  }

  get alive(): number[] {
    return this.servers.flatMap((server, place) => (server ? [place] : []))
  }

  /** One server, or anything that listens at a URL. */
  client(at: number | string = this.alive[0]!): TestClient {
    const client = new TestClient(typeof at === 'string' ? at : this.servers[at]!.url)
    client.caller = this.caller
    return client
  }

  /** A request with its own key. */
  sent(message: string, { user = 'user-1', transport = 'chat' as Sent['transport'] } = {}): Sent {
    return { message, user, transport, idempotencyKey: randomUUID() }
  }

  /**
   * Sends one request with its key repeatedly until the outcome is final. `choose` names the place of each attempt; by default any running
   * server.
   */
  async send(sent: Sent, { choose = this.#any as () => Where, limitMs = 120_000 } = {}): Promise<Outcome> {
    const until = performance.now() + limitMs
    const met: string[] = []
    for (;;) {
      const outcome = await this.try(sent, choose())
      const at = performance.now()
      if (outcome.kind === 'reply') return { sent, reply: outcome.reply, status: 200, code: undefined, met, at }
      const code = outcome.kind === 'error' ? outcome.code : outcome.kind
      if (outcome.kind === 'error' && !comeBack.has(code)) return { sent, reply: undefined, status: outcome.status, code, met, at }
      met.push(code)
      assert.ok(!this.#closed, 'the test has ended')
      assert.ok(at < until, `no final answer in ${limitMs} ms to ${sent.message}: ${summary(met)}`)
      await pass(pauseMs)
    }
  }

  readonly #any = (): number | undefined => {
    const { alive } = this
    return alive[Math.floor(Math.random() * alive.length)]
  }

  /** Callers, each with its own user, who send the next message after the previous one was answered, on the two transports alternately. */
  load({ callers, restMs = 0, name = 'message', choose }: LoadOptions): Load {
    const reported: Outcome[] = []
    const stopped = new AbortController()
    const all = Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        for (let count = 0; !stopped.signal.aborted && !this.#closed; count++) {
          const sent = this.sent(`${name} ${count} of ${caller}`, { user: `${name} ${caller}`, transport: count % 2 ? 'chat' : 'stream' })
          reported.push(await this.send(sent, choose ? { choose: () => choose(sent) } : {}))
          await pass(Math.random() * restMs)
        }
      }),
    )
    // Reported to the caller of `stop`.
    all.catch(() => stopped.abort())
    return {
      reported,
      async stop() {
        stopped.abort()
        await all
        return reported
      },
    }
  }

  /** `turn.durable-first`: each of these may have called the model during the flush of an admission that was not stored. */
  readonly #withoutResult = new Map<string, number>()

  /** One attempt. Fails the test if a process has ended that was not killed, or if the events of a stream are in the wrong order. */
  async try(sent: Sent, at: Where): Promise<Try> {
    const outcome = await this.#tryOnce(sent, at)
    const { message } = sent
    const mayBeLost = outcome.kind === 'error' ? outcome.code === 'service_unavailable' : outcome.kind !== 'reply'
    if (mayBeLost) this.#withoutResult.set(message, (this.#withoutResult.get(message) ?? 0) + 1)
    return outcome
  }

  /**
   * Asserts that the first server refuses the message soon with `service_unavailable`, and returns the milliseconds. On a busy machine the
   * limiter may be late before (`rate.fail-closed`), which is not the refusal that is tested.
   */
  async refusedSoon(sent: Sent, limitMs: number): Promise<number> {
    for (let tries = 0; ; tries++) {
      const from = performance.now()
      const outcome = await this.try(sent, 0)
      if (outcome.kind === 'error' && outcome.code === 'api_rate_limit_unavailable' && tries < 20) continue
      assert.deepEqual(outcome, { kind: 'error', status: 503, code: 'service_unavailable' })
      const took = Math.round(performance.now() - from)
      assert.ok(took < limitMs, `refused after ${took} ms`)
      return took
    }
  }

  async #tryOnce({ message, user, idempotencyKey, transport }: Sent, at: Where): Promise<Try> {
    const server = typeof at === 'number' ? this.servers[at] : undefined
    if (at === undefined || (typeof at === 'number' && !server)) return { kind: 'broken' }
    const ended = server?.child.exitCode ?? server?.child.signalCode ?? undefined
    assert.equal(ended, undefined, `process ${at} ended by itself`)
    const path = transport === 'chat' ? 'chat' : 'chat/stream'
    const response = await this.client(at)
      .chatRequest({ external_user_id: user, message }, { idempotencyKey, path })
      .catch(() => undefined)
    if (!response) return { kind: 'broken' }
    const answer = await read(response).catch(() => undefined)
    if (!answer) return { kind: 'cut' }
    if (answer.status !== 200)
      return { kind: 'error', status: answer.status, code: answer.json.error?.code ?? `a ${answer.status} without code` }
    if (transport === 'chat') return { kind: 'reply', reply: JSON.stringify(answer.json) }
    const events = parseEvents(answer.text)
    const [names, last] = [events.map(({ event }) => event), events.at(-1)!]
    assert.match(names.join(' '), /^response\.created( response\.output_text\.delta)* (response\.completed|error)$/, answer.text)
    if (last.event === 'error') return { kind: 'error', status: 200, code: last.data.code }
    const deltas = events.flatMap(({ event, data }) => (event === 'response.output_text.delta' ? [data.delta] : []))
    if (deltas.length > 0) assert.equal(deltas.join(''), last.data.message.content)
    return { kind: 'reply', reply: JSON.stringify(last.data) }
  }

  async rows(text: string, values: unknown[] = []): Promise<Record<string, string>[]> {
    return withClient(this.databaseUrl, async (client) => (await client.query(text, values)).rows)
  }

  /** Every invariant holds in the stored data. */
  async verify(): Promise<void> {
    const broken = (await readPostgresSnapshot(this.databaseUrl, verify)).filter(({ rows }) => rows.length > 0)
    assert.deepEqual(broken, [], 'an invariant is broken')
  }

  /**
   * Each request has one reply, with the same bytes from every process (or from one of them, alternately, if there are many). There are as
   * many charges as replies, and nothing is held. For none of them was the model called more often than its fence was raised, once for each
   * run and each claim, and once more for each attempt whose admission may have been lost.
   */
  async checkReplies(reported: Outcome[], { everywhere = true } = {}): Promise<void> {
    const ids = new Set<string>()
    for (const { sent, reply, status, code, met } of reported) {
      assert.equal(status, 200, `${sent.message}: ${code} after ${summary(met)}`)
      ids.add(JSON.parse(reply!).request_id)
    }
    assert.equal(ids.size, reported.length, 'a request id for each key')
    const { alive } = this
    const again = reported.flatMap((one, index) =>
      (everywhere ? alive : [alive[index % alive.length]!]).map((place) => ({ ...one, place })),
    )
    for (const few of inGroups(again, 16))
      await Promise.all(
        few.map(async ({ sent, reply, place }, index) => {
          const replay = await this.send({ ...sent, transport: index % 2 ? 'chat' : 'stream' }, { choose: () => place })
          assert.equal(replay.reply, reply, `${sent.message} on process ${place}`)
        }),
      )
    await this.verify()
    const stored = await this.rows(
      `select request_id, message, fence, state, (select count(*) from ledger l
      where l.request_id = t.request_id and l.kind = 'charge') as charges from turns t where request_id = any ($1)`,
      [[...ids]],
    )
    assert.equal(stored.length, reported.length)
    for (const { message, fence, state, charges } of stored) {
      assert.deepEqual([state, charges], ['completed', '1'], message)
      const calls = this.model.calls.filter(({ lastUserMessage }) => lastUserMessage === message).length
      const lost = this.#withoutResult.get(message!) ?? 0
      assert.ok(calls >= 1 && calls <= Number(fence) + lost, `${message}: ${calls} model calls under ${fence} fences, ${lost} lost`)
    }
    const [{ held }] = (await this.rows('select coalesce(sum(held), 0) as held from owners')) as [{ held: string }]
    assert.equal(held, '0')
  }
}

/** Ends all sessions of the database. With `away` it accepts no new ones until it is allowed again. */
export async function endSessions(fleet: Fleet, { away = false } = {}): Promise<{ comesBack(): Promise<void> }> {
  const server = new URL(fleet.databaseUrl)
  const name = server.pathname.slice(1)
  server.pathname = '/postgres'
  const allow = (is: boolean): Promise<unknown> =>
    withClient(server.href, (client) => client.query(`alter database ${name} allow_connections ${is}`))
  if (away) await allow(false)
  await withClient(server.href, (client) =>
    client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]),
  )
  return { comesBack: async () => void (await allow(true)) }
}

/** The earlier results, with repeated ones counted: `broken idempotency_in_progress×61`. */
function summary(met: string[]): string {
  const runs: { code: string; count: number }[] = []
  for (const code of met) {
    const last = runs.at(-1)
    if (last?.code === code) last.count += 1
    else runs.push({ code, count: 1 })
  }
  return runs.map(({ code, count }) => (count === 1 ? code : `${code}×${count}`)).join(' ') || 'nothing'
}

function inGroups<Item>(items: Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size))
}
