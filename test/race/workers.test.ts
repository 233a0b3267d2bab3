/**
 * TURNKEEP_WORKERS: several processes on one port of one machine, with a real PostgreSQL. All of them answer, the callers of a worker that
 * dies still get their replies, each worker reports the figures of all, and they end together.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { Agent, request } from 'node:http'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { parseExposition } from '../support/exposition.ts'
import { Fleet, noFleet } from '../support/fleet.ts'
import { until } from '../support/until.ts'
import { gate } from '../support/model-server.ts'
import type { ServerProcess } from '../support/server-process.ts'
import { adminToken } from '../support/test-app.ts'
import type { Caller } from '../support/test-app.ts'

const skip = noFleet()
const three = [1, 2, 3]

/** Starts one server with three workers; none of them outlives the test. */
async function begin(t: TestContext, env: Record<string, string> = {}): Promise<{ fleet: Fleet; server: ServerProcess }> {
  const servers: ServerProcess[] = []
  // Registered before the fleet's own cleanup, which waits until no process has the server's log open.
  t.after(() => {
    for (const pid of servers.flatMap((server) => [...pids(server).values()])) if (runs(pid)) process.kill(pid, 'SIGKILL')
  })
  const fleet = await Fleet.begin(t, { env: { TURNKEEP_WORKERS: '3', TURNKEEP_DRAIN_SECONDS: '20', ...env } })
  const server = fleet.servers[0]!
  servers.push(server)
  return { fleet, server }
}

/** Process IDs by worker; for a replaced worker, the newest one. */
function pids({ log }: ServerProcess): Map<number, number> {
  const ready = log.filter(({ msg }) => msg === 'worker ready')
  return new Map(ready.map(({ worker, pid }) => [Number(worker), Number(pid)]))
}

/** A worker that has ended and has not been reaped yet is not running. Its process ID may be reused. */
function runs(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=,args=', '-p', String(pid)], { encoding: 'utf8' })
  return /^[^Z].* --worker /.test(stdout)
}

type Answer = { status: number; requestId: string; text: string }

/** Sends a request on the connection of `agent`, or on a separate connection without it. */
function ask(url: string, path: string, { agent, token = adminToken, post }: { agent?: Agent; token?: string; post?: object } = {}) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }
  return new Promise<Answer>((resolve, reject) => {
    const asked = request(new URL(path, url), { agent: agent ?? false, headers, method: post ? 'POST' : 'GET' }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('end', () => resolve({ status: response.statusCode!, requestId: String(response.headers['x-request-id']), text }))
    })
    asked.on('error', reject).end(post && JSON.stringify(post))
  })
}

/** Reads the worker from the access log, which is written up to 250 ms later. */
async function workerOf(server: ServerProcess, requestId: string): Promise<number> {
  const line = () => server.log.find((one) => one['msg'] === 'request' && one['request_id'] === requestId)
  await until(`the log of ${requestId}`, () => line() !== undefined)
  return Number(line()!['worker'])
}

/** Opens one connection to each worker and keeps it open. */
async function connectionsOf(t: TestContext, server: ServerProcess): Promise<Map<number, Agent>> {
  const found = new Map<number, Agent>()
  await until('a connection to each worker', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.after(() => agent.destroy())
    const { requestId } = await ask(server.url, '/healthz', { agent })
    found.set(await workerOf(server, requestId), agent)
    return three.every((worker) => found.has(worker))
  })
  return found
}

async function figures(url: string): Promise<Map<string, number>> {
  const { status, text } = await ask(url, '/metrics')
  assert.equal(status, 200, text)
  return parseExposition(text).values
}

const completed = 'turnkeep_turns_total{outcome="completed",code="none"}'

void test('workers: kill -9 of one while turns run: each caller gets the one reply, and the worker is replaced', { skip }, async (t) => {
  const { fleet, server } = await begin(t)
  const held = gate()
  const asked = new Set<string>()
  // The first call of each message waits in its process; retries are answered.
  fleet.model.when(/./, ({ lastUserMessage }) => {
    const again = asked.has(lastUserMessage)
    asked.add(lastUserMessage)
    return again ? ['Hel', 'lo'] : ['Hel', held, 'lo']
  })
  const all = Array.from({ length: 30 }, (_, index) => {
    const transport = index % 2 ? 'chat' : 'stream'
    return fleet.send(fleet.sent(`message ${index}`, { user: `user ${index}`, transport }))
  })
  await fleet.model.waitForCalls(30)
  const victim = pids(server).get(2)!
  process.kill(victim, 'SIGKILL')
  await until('a worker in its place', () => pids(server).get(2) !== victim)
  await until('a turn of the dead one that another one drives', () => asked.size === 30 && fleet.model.calls.length > 30)
  held.open()
  const reported = await Promise.all(all)
  const broken = reported.filter(({ met }) => met.includes('broken'))
  assert.ok(broken.length > 0 && broken.length < 30, `${broken.length} of 30 callers were cut off`)
  await fleet.checkReplies(reported)
  const end = server.log.find(({ msg }) => msg === 'worker exited, restarting it')
  assert.deepEqual([end!['worker'], end!['signal'], end!['level']], [2, 'SIGKILL', 'error'])
  assert.equal(await server.stop(), 0)
})

void test('workers: all answer on one port; their figures are one sum, and no counter falls when one of them dies', { skip }, async (t) => {
  const { fleet, server } = await begin(t, { TURNKEEP_MAX_TURNS: '7' })
  assert.equal(new Set(pids(server).values()).size, 3)
  // No signal opens a debugger in one of them.
  if (process.platform === 'linux')
    for (const pid of pids(server).values()) assert.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), /--disable-sigusr1/)
  // From the log, where each line names its process.
  await connectionsOf(t, server)
  assert.equal(server.stdout.filter((line) => line === 'Turnkeep is ready.').length, 1)
  await Promise.all(Array.from({ length: 24 }, (_, index) => fleet.send(fleet.sent('hello', { user: `user ${index}` }))))
  // Each on a separate connection, so that all of them are reached.
  for (let scrape = 0; scrape < 9; scrape++) {
    const values = await figures(server.url)
    assert.deepEqual(
      [completed, 'turnkeep_workers', 'turnkeep_turns_running_limit', 'turnkeep_dependency_up{dependency="store"}'].map((name) =>
        values.get(name),
      ),
      [24, 3, 21, 1],
    )
    assert.equal(values.get('turnkeep_turn_duration_seconds_count'), 24)
    assert.equal([...values.keys()].filter((series) => series.startsWith('turnkeep_build_info')).length, 1)
  }
  for (const worker of three) {
    process.kill(pids(server).get(worker)!, 'SIGKILL')
    await until('its restart', async () => {
      const values = await figures(server.url).catch(() => undefined)
      if (values) assert.equal(values.get(completed), 24)
      return values?.get('turnkeep_worker_restarts_total') === worker && values.get('turnkeep_workers') === 3
    })
  }
  assert.equal(await server.stop(), 0)
})

void test(
  'workers: a revoked key is refused by each within a second, also without a notification; a disabled agent immediately',
  { skip },
  async (t) => {
    const { fleet, server } = await begin(t)
    const connections = await connectionsOf(t, server)
    const statuses = ({ agentId, apiKey }: Caller, message: string): Promise<number[]> =>
      Promise.all(
        [...connections].map(async ([worker, agent]) => {
          const post = { external_user_id: `user ${worker}`, message }
          return (await ask(server.url, `/v1/agents/${agentId}/chat`, { agent, token: apiKey, post })).status
        }),
      )
    const { caller } = fleet
    assert.deepEqual(await statuses(caller, 'before'), [200, 200, 200])
    await fleet.client().made('PATCH', `/agents/${caller.agentId}`, { enabled: false })
    assert.deepEqual(await statuses(caller, 'disabled'), [403, 403, 403])
    await fleet.client().made('PATCH', `/agents/${caller.agentId}`, { enabled: true })

    const other = await fleet.client().makeCaller()
    const [key] = (await fleet.client().made('GET', `/agents/${caller.agentId}/keys`))['data'] as { id: string }[]
    for (const [whose, revoke] of [
      [caller, () => fleet.client().made('DELETE', `/keys/${key!.id}`)],
      // As if the notification of the revocation were lost.
      [other, () => fleet.rows('update api_keys set revoked_at = now_ms() where agent_id = $1', [other.agentId])],
    ] as const) {
      assert.deepEqual(await statuses(whose, 'again'), [200, 200, 200])
      await revoke()
      await pass(1_000)
      assert.deepEqual(await statuses(whose, 'after'), [401, 401, 401])
    }
    assert.equal(await server.stop(), 0)
  },
)

void test('workers: a signal drains all of them, each running turn is answered, and no process is left', { skip }, async (t) => {
  const { fleet, server } = await begin(t)
  const held = gate()
  fleet.model.when(/./, ['Hel', held, 'lo'])
  const replies = Array.from({ length: 12 }, (_, index) => fleet.client().chat('hello', { user: `user ${index}` }))
  await fleet.model.waitForCalls(12)
  const all = [...pids(server).values()]
  // Sent to all processes, as a service manager does.
  for (const pid of [server.child.pid!, ...all]) process.kill(pid, 'SIGTERM')
  await until('all of them drain', () => server.log.filter(({ msg }) => String(msg).startsWith('draining')).length === 4)
  held.open()
  for (const reply of replies) assert.equal((await reply).status, 200)
  assert.deepEqual(await fleet.leave(0).exited, { code: 0, signal: null })
  assert.deepEqual(all.filter(runs), [])
  assert.equal(server.log.filter(({ msg }) => String(msg).includes('restarting it')).length, 0)
  await fleet.verify()
})

void test('workers: without their supervisor they finish their turns and end', { skip }, async (t) => {
  const { fleet, server } = await begin(t)
  const held = gate()
  fleet.model.when(/./, ['Hel', held, 'lo'])
  const reply = fleet.client().chat('hello')
  await fleet.model.waitForCalls(1)
  const all = [...pids(server).values()]
  fleet.leave(0).child.kill('SIGKILL')
  await until('all but the one with the turn to end', () => all.filter(runs).length === 1)
  held.open()
  assert.equal((await reply).status, 200)
  await until('the last one to end', () => !all.some(runs))
  await fleet.verify()
})

void test('workers: a second signal ends all of them immediately', { skip }, async (t) => {
  const { fleet, server } = await begin(t)
  fleet.model.when(/./, ['Hel', gate(), 'lo'])
  const reply = fleet
    .client()
    .chat('hello')
    .catch(() => undefined)
  await fleet.model.waitForCalls(1)
  const all = [...pids(server).values()]
  const { child, exited } = fleet.leave(0)
  child.kill('SIGINT')
  // Sent repeatedly until it takes effect; the process decides how soon.
  const again = setInterval(() => child.kill('SIGINT'), 100)
  assert.deepEqual(await exited, { code: 1, signal: null })
  clearInterval(again)
  await until('all of them to end', () => !all.some(runs))
  assert.equal(await reply, undefined)
})

void test(
  'workers: one that drains by itself is replaced; one that cannot restart stops no other, and is retried until it can',
  { skip },
  async (t) => {
    const { fleet, server } = await begin(t)
    const leaving = pids(server).get(1)!
    process.kill(leaving, 'SIGTERM')
    await until('a worker in its place', () => pids(server).get(1) !== leaving)
    assert.equal((await figures(server.url)).get('turnkeep_workers'), 3)

    const checksums = (text: string) => fleet.rows(`update migrations set checksum = ${text}`)
    const before = pids(server).get(3)!
    await checksums(`'x' || checksum`)
    process.kill(before, 'SIGKILL')
    await until('a start that fails', () => server.log.some(({ msg }) => msg === 'worker failed to start'))
    const reported = await fleet.send(fleet.sent('hello'))
    assert.equal(reported.status, 200)
    assert.equal((await figures(server.url)).get('turnkeep_workers'), 2)
    await checksums('substr(checksum, 2)')
    await until('a worker in its place', () => pids(server).get(3) !== before)
    assert.equal(await server.stop(), 0)
  },
)
