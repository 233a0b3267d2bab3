/**
 * Too few file descriptors, a model host without an address, and database connections that are all busy. The process survives, what cannot
 * be served is refused, and requests are accepted again afterwards.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { endSessions, Fleet, noFleet } from '../support/fleet.ts'
import { until } from '../support/until.ts'
import { gate } from '../support/model-server.ts'
import { withClient } from '../support/postgres-server.ts'

const skip = noFleet()
// A refusal by a timeout takes one to three seconds; this leaves a margin for a busy machine.
const generousMs = 30_000

void test(
  'fault.connection-storm: a storm of connections with few file descriptors: the process survives, running turns end, and requests are accepted afterwards',
  { skip: skip || noLimits() },
  async (t) => {
    const fleet = await Fleet.begin(t)
    const { url, child } = fleet.servers[0]!
    const descriptors = (): number => readdirSync(`/proc/${child.pid}/fd`).length
    const held = gate()
    fleet.model.when('hello', ['one ', held, 'two'])
    const running = fleet.try(fleet.sent('hello', { transport: 'stream' }), 0)
    await held.reached
    // Above all descriptors that are open now, so that the storm reaches the limit.
    const limit = descriptors() + 20
    execFileSync('prlimit', ['--pid', String(child.pid), `--nofile=${limit}:${limit}`])

    const { comesBack } = await endSessions(fleet, { away: true })
    const { hostname, port } = new URL(url)
    const storm: Socket[] = []
    t.after(() => storm.forEach((socket) => socket.destroy()))
    let refused = 0
    const send = (): void => {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => undefined)
      socket.on('close', () => (refused += 1))
      storm.push(socket)
    }
    for (let count = 0; count < 400; count++) send()
    await until('the limit', () => {
      // Closed connections are opened again, so that no descriptor stays free for long.
      for (const socket of storm) if (socket.destroyed && storm.length < 2000) send()
      return descriptors() >= limit - 1 && refused > 0
    })
    await comesBack()
    held.open()
    // The database is reachable but there is no descriptor for it: the result waits in memory.
    await until('a session that cannot be made', () => fleet.servers[0]!.log.some(({ cause }) => String(cause).includes('EMFILE')))
    assert.deepEqual([child.exitCode, child.signalCode], [null, null])
    t.diagnostic(`${storm.length} connections at a limit of ${limit} descriptors: ${refused} were closed by the server`)

    for (const socket of storm) socket.destroy()
    const ended = await running
    assert.equal(ended.kind, 'reply', JSON.stringify(ended))
    const reported = await fleet.send(fleet.sent('after the storm', { user: 'user-2' }))
    await fleet.checkReplies([reported])
    assert.equal(fleet.model.calls.length, 2)
    assert.deepEqual([child.exitCode, child.signalCode], [null, null])
  },
)

/** Returns why the limit of a running process cannot be set here, or false if it can. */
function noLimits(): string | false {
  try {
    execFileSync('prlimit', ['--pid', String(process.pid)], { stdio: 'ignore' })
    return false
  } catch {
    return 'prlimit and /proc are of Linux (util-linux)'
  }
}

for (const transport of ['chat', 'stream'] as const) {
  void test(
    `fault.model-host-unresolved: a model host that has no address, on ${transport}: 503, nothing charged or held, and the same key runs later`,
    { skip },
    async (t) => {
      const fleet = await Fleet.begin(t)
      const admin = fleet.client()
      // RFC 2606: a name that never resolves to an address.
      const provider = await admin.made('POST', '/providers', {
        name: 'gone',
        kind: 'openai-compatible',
        base_url: 'http://model.invalid:8080/v1',
        api_key: 'model-key',
      })
      const agent = await admin.makeAgent(fleet.caller.ownerId, { model: 'gone/test-model' })
      const key = await admin.made('POST', `/agents/${agent.id}/keys`, { permission: 'full' })
      fleet.caller = { ...fleet.caller, agentId: agent.id, apiKey: key.api_key }
      const sent = fleet.sent('hello', { transport })
      const status = transport === 'chat' ? 503 : 200
      assert.deepEqual(await fleet.try(sent, 0), { kind: 'error', status, code: 'service_unavailable' })
      const stored = await fleet.rows('select state, hold, charged from turns')
      assert.deepEqual(stored, [{ state: 'released', hold: '0', charged: null }])
      assert.deepEqual(await fleet.rows(`select 1 from ledger where kind = 'charge'`), [])
      await fleet.verify()
      await admin.made('PATCH', `/providers/${provider.id}`, { base_url: fleet.model.baseUrl, api_key: 'model-key' })
      await fleet.checkReplies([await fleet.send(sent)])
    },
  )
}

void test('fault.pool-exhausted: keys cannot be looked up: refused in time, running turns settle', { skip }, async (t) => {
  const fleet = await Fleet.begin(t)
  const held = gate()
  fleet.model.when('hello', ['one ', held, 'two'])
  const running = fleet.try(fleet.sent('hello'), 0)
  await held.reached
  await withClient(fleet.databaseUrl, async (blocker) => {
    await blocker.query('begin; lock table api_keys in access exclusive mode')
    const from = performance.now()
    // A key is looked up again after at most a second, and each lookup blocks.
    let refusedAfter: number | undefined
    while (refusedAfter === undefined) {
      assert.ok(performance.now() - from < generousMs, 'nothing was refused')
      const askedAt = performance.now()
      const outcome = await fleet.try(fleet.sent('refused', { user: 'refused' }), 0)
      if (outcome.kind === 'error') {
        assert.deepEqual([outcome.status, outcome.code], [503, 'service_unavailable'])
        refusedAfter = Math.round(performance.now() - askedAt)
      }
    }
    held.open()
    assert.equal((await running).kind, 'reply')
    const waited = fleet.servers[0]!.log.some(({ msg }) => msg === 'could not store the result of a turn, retrying')
    assert.ok(!waited, 'settled at once, on a connection that is kept for it')
    t.diagnostic(`refused after ${refusedAfter} ms`)
    await blocker.query('rollback')
  })
  await fleet.checkReplies([await fleet.send(fleet.sent('afterwards', { user: 'user-2' }))])
})
