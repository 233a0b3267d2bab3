/**
 * Many turns with kill -9 at moments of the sender, on one store through many process runs, with an endpoint that fails in every way: the
 * set of event IDs that it got is the set of ends of turns, and what it got twice has the same ID and body. `WEBHOOK_TURNS` and
 * `WEBHOOK_KILLS` make it longer, and `SEED=n` repeats a run.
 */
import assert from 'node:assert/strict'
import { hash, randomInt, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { readSnapshot } from '../../src/store/sqlite/sqlite.ts'
import { Fleet, noFleet } from '../support/fleet.ts'
import type { ModelServer } from '../support/model-server.ts'
import { ProcessRuns } from '../support/process-runs.ts'
import { answer, mannerOf, usualShares } from '../support/receiver-manners.ts'
import type { ServerProcess } from '../support/server-process.ts'
import type { TestClient } from '../support/test-app.ts'
import { startReceiver } from '../support/webhook-receiver.ts'

const ofSender = ['claim-deliveries.before-commit', 'claim-deliveries.after-commit', 'webhook.before-send', 'webhook.after-send']
const others = ['end-attempts.before-commit', 'end-attempts.after-commit', 'settle.before-commit', 'settle.after-commit']
const points = [...ofSender, ...others]
const callers = 8
// A claim of a process that has died is due again after 30 s, an attempt that hangs ends after 20 s, and a failed one is repeated after 5 s.
const restMs = 120_000

/** The servers of one store. */
type Servers = {
  places: number
  model: ModelServer
  /** Of any server that runs, or undefined while none does. */
  client(): TestClient | undefined
  /** Kills the server, if it runs, and starts it again. Undefined if a failpoint ends it before it listens. */
  restart(place: number, failpoints: string): Promise<ServerProcess | undefined>
  rows(text: string): Promise<Record<string, unknown>[]>
  verify(): Promise<void>
}

export function testKills(store: 'sqlite' | 'postgres', { turns, kills }: { turns: number; kills: number }): void {
  const skip = store === 'postgres' ? noFleet() : false
  void test(
    `webhook.delivered webhook.once: kill -9 at moments of the sender on ${store}: every event is received, under one ID each`,
    { skip },
    async (t) => {
      const draw = drawFrom(t)
      await using receiver = await startReceiver({ remembers: false })
      const got = new Map<string, { attempts: number; bodies: Set<string> }>()
      receiver.on('/', ({ id, body }, response) => {
        const one = got.get(id) ?? { attempts: 0, bodies: new Set() }
        got.set(id, one)
        one.bodies.add(hash('sha256', body))
        answer(mannerOf(id, ++one.attempts, usualShares), response)
      })
      const redirected: string[] = []
      receiver.on('/elsewhere', ({ id }, response) => {
        redirected.push(id)
        response.writeHead(204).end()
      })
      const env = { TURNKEEP_ALLOW_PRIVATE_HOSTS: receiver.host }
      const servers = await (store === 'sqlite' ? oneProcess(t, env) : threeProcesses(t, env))
      servers.model.when(/./, ({ lastUserMessage }) => (lastUserMessage.includes('refuse') ? { status: 400 } : ['Hello.']))
      const webhook = await servers.client()!.made('POST', '/webhooks', { url: receiver.url('/'), events: ['*'] })

      const startedAt = performance.now()
      const load = startLoad(t, servers, turns)
      let died = 0
      for (let kill = 0; kill < kills; kill++) {
        while (load.sent() < (turns * kill) / kills && !load.ended()) await pass(20)
        const place = draw(servers.places)
        const server = await servers.restart(place, `${points[kill % points.length]}=kill@${1 + draw(servers.places === 1 ? 12 : 3)}`)
        // Until the point has ended the process, or for as long as there are turns to end.
        if (server) await Promise.race([server.exited, pass(5_000), load.done])
        if (!server || server.child.signalCode !== null) died++
        await servers.restart(place, '')
      }
      await load.done
      await settledOnce(servers)

      // A claim of a process that died counts as an attempt, so the second failure of some deliveries was the first one here, and their third
      // attempt is five minutes away.
      const waiting = await servers.rows("select event_id from deliveries where state = 'pending' and attempts > 1 and error is not null")
      for (const { event_id: id } of waiting) await servers.client()!.made('POST', `/webhooks/${webhook.id}/deliveries/${String(id)}/retry`)
      const pending = () => servers.rows("select event_id, attempts, status, error from deliveries where state <> 'delivered'")
      for (const until = performance.now() + restMs; (await pending()).length > 0; await pass(200))
        if (performance.now() > until) assert.deepEqual(await pending(), [])
      const events = (await servers.rows('select id from events')).map(({ id }) => String(id))
      const ended = await servers.rows("select state from turns where state <> 'running'")
      assert.equal(ended.length, turns)
      assert.deepEqual([...got.keys()].toSorted(), events.toSorted())
      for (const [id, { bodies }] of got) assert.equal(bodies.size, 1, id)
      assert.deepEqual(redirected, [])
      assert.ok(died > 0, 'no failpoint ended a process')
      await servers.verify()
      const attempts = [...got.values()].reduce((sum, one) => sum + one.attempts, 0)
      const again = [...got.values()].filter((one) => one.attempts > 1).length
      const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
      t.diagnostic(
        `${turns} turns, ${kills} restarts and ${died} kills at failpoints: ${events.length} events, ${attempts} requests, ${again} IDs more than once; ${minutes} minutes`,
      )
    },
  )
}

/** Every delivery has been attempted. */
async function settledOnce(servers: Servers): Promise<void> {
  const untried = "select count(*) as n from deliveries where state = 'pending' and error is null"
  for (const until = performance.now() + restMs; Number((await servers.rows(untried))[0]!['n']) > 0; await pass(200))
    assert.ok(performance.now() < until, 'a delivery was not attempted')
}

function drawFrom(t: TestContext): (below: number) => number {
  const seed = Number(process.env['SEED'] ?? randomInt(1_000_000))
  t.diagnostic(`SEED=${seed}`)
  let drawn = seed
  return (below) => {
    drawn = (Math.imul(drawn, 1_103_515_245) + 12_345) & 0x7fffffff
    return (drawn >> 8) % below
  }
}

/** Callers that repeat each turn until it is completed, released, or has failed because its processes died three times. */
function startLoad(t: TestContext, servers: Servers, turns: number): { done: Promise<unknown>; sent(): number; ended(): boolean } {
  let next = 0
  let ended = false
  const stopped = new AbortController()
  async function chat(): Promise<void> {
    while (next < turns && !stopped.signal.aborted) {
      const n = next++
      const refused = n % 20 === 19
      const key = randomUUID()
      const isFinal = (status: number): boolean => status === 200 || status === 500 || (status === 503 && refused)
      for (let status = 0; !stopped.signal.aborted && !isFinal(status);) {
        const asked = servers.client()?.chat(`${refused ? 'refuse' : 'message'} ${n}`, { idempotencyKey: key, user: `user-${n}` })
        status = (await asked?.catch(() => undefined))?.status ?? 0
        if (!isFinal(status)) await pass(50)
      }
    }
  }
  t.after(() => stopped.abort())
  const done = Promise.all(Array.from({ length: callers }, chat)).then(() => (ended = true))
  return { done, sent: () => next, ended: () => ended }
}

async function oneProcess(t: TestContext, env: Record<string, string>): Promise<Servers> {
  const processRuns = await ProcessRuns.begin(t, '', { env })
  return {
    places: 1,
    model: processRuns.model,
    client: () => processRuns.client,
    async restart(_, failpoints) {
      await processRuns.server!.kill()
      return processRuns.start(failpoints).then(
        () => processRuns.server,
        () => undefined,
      )
    },
    rows: (text) => readSnapshot(processRuns.folder, (sql) => sql.all(text)),
    verify: () => processRuns.verify(),
  }
}

async function threeProcesses(t: TestContext, env: Record<string, string>): Promise<Servers> {
  const fleet = await Fleet.begin(t, { count: 3, env })
  let asked = 0
  return {
    places: 3,
    model: fleet.model,
    client() {
      const { alive } = fleet
      return alive.length === 0 ? undefined : fleet.client(alive[asked++ % alive.length])
    },
    async restart(place, failpoints) {
      await fleet.kill(place)
      return fleet.start(place, { env: { TURNKEEP_FAILPOINTS: failpoints } }).catch(() => undefined)
    },
    rows: (text) => fleet.rows(text),
    verify: () => fleet.verify(),
  }
}
