/**
 * A process that crashes while a turn runs, and one whose event loop is blocked for longer than its leases. Each turn is answered once and
 * charged once, and late writes are fenced off.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { Fleet, noFleet } from '../support/fleet.ts'
import { until } from '../support/until.ts'
import { ProcessRuns } from '../support/process-runs.ts'
import { gate } from '../support/model-server.ts'
import { clockOf } from '../support/own-postgres.ts'
import { startTestApp } from '../support/test-app.ts'

/** A module that every process with these settings loads first. It runs the fault when it gets the signal; the product has no such code. */
const atSignal = (fault: string): string => `--import=data:text/javascript,process.on('SIGUSR2',()=>{${encodeURIComponent(fault)}})`

const deaths = [
  { what: 'an uncaught exception', options: '', fault: `throw new Error('planted')`, ends: { code: 1, signal: null } },
  {
    what: 'an unhandled rejection',
    options: '',
    fault: `void Promise.reject(new Error('planted'))`,
    ends: { code: 1, signal: null },
  },
  {
    what: 'out of memory',
    options: '--max-old-space-size=100 ',
    fault: `const kept=[];for(;;)kept.push(new Array(10000).fill(kept.length))`,
    // V8 ends the process itself.
    ends: { code: null, signal: 'SIGABRT' },
  },
] as const

// In the ci tier, each crash runs on one of the two transports, alternating.
const isCi = process.env['TEST_TIER'] === 'ci'
const transports = ['chat', 'stream'] as const

for (const [at, { what, options, fault, ends }] of deaths.entries()) {
  for (const transport of isCi ? [transports[at % 2]!] : transports) {
    void test(`fault.process-crash billing.once: ${what} while a turn runs on ${transport}: the process ends, the restart answers, once`, async (t) => {
      const processRuns = await ProcessRuns.begin(t, '', { env: { NODE_OPTIONS: options + atSignal(fault) } })
      const idempotencyKey = randomUUID()
      processRuns.model.script(['old ', gate(), 'never'], ['one ', 'two'])
      const asked = processRuns.client[transport]('hello', { idempotencyKey }).then(
        ({ text }) => text.includes('completed'),
        () => false,
      )
      await processRuns.model.waitForCalls(1)
      processRuns.server!.child.kill('SIGUSR2')
      assert.deepEqual(await processRuns.server!.exited, ends)
      assert.equal(await asked, false, 'nothing was said to be complete')
      await processRuns.verify()
      await processRuns.startAndAnswer('hello', 'one two', idempotencyKey)
    })
  }
}

void test('fault.event-loop-blocked running_has_lease: a single process, blocked for longer than its leases: it renews before it looks for orphans', async () => {
  await using app = await startTestApp({ turnSettings: { leaseMs: 200, renewMs: 50, sweepMs: 50 } })
  const held = gate()
  app.model.script(['one ', held, 'two'])
  const asked = app.stream('hello')
  await held.reached
  const leaseOf = async (): Promise<unknown> => (await app.query('select lease_until from turns'))[0]!['lease_until']
  // An admission that took longer than the lease was claimed before, by its own process.
  const claimsOf = (): Promise<unknown> => app.query('select attempt, fence from turns')
  const [before, claimed] = [await leaseOf(), await claimsOf()]
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
  // The process handles the expired lease in its first round; wait for several more rounds.
  await until('a round of leases', async () => (await leaseOf()) !== before)
  for (let round = 0; round < 5; round++) await pass(50)
  assert.deepEqual(await claimsOf(), claimed, 'nothing was claimed')
  held.open()
  const { events } = await asked
  assert.equal(events.at(-1)!.event, 'response.completed')
  assert.equal(events.at(-1)!.data.message.content, 'one two')
  assert.equal(app.model.calls.length, 1, 'the model was asked once')
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 1)
  assert.equal((await app.owner()).held_usd, '0.00000000')
  await app.verify()
})

for (const { transport, wakes } of [
  { transport: 'chat', wakes: 'when another one has answered' },
  { transport: 'stream', wakes: 'while another one runs it' },
] as const) {
  void test(
    `fault.event-loop-blocked billing.once: one of two processes with a blocked loop that resumes ${wakes}, on ${transport}: fenced off, charged once`,
    { skip: noFleet() },
    async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'turnkeep-blocked-'))
      t.after(() => rm(folder, { recursive: true, force: true }))
      const end = join(folder, 'end')
      // The process only appears busy: its event loop is blocked, and only the file ends the block.
      const fault =
        `const fs=process.getBuiltinModule('node:fs');fs.writeSync(2,'{"msg":"blocked"}\\n');` +
        `const nothing=new Int32Array(new SharedArrayBuffer(4));while(!fs.existsSync(${JSON.stringify(end)}))Atomics.wait(nothing,0,0,20)`
      const fleet = await Fleet.begin(t, { count: 2, env: { NODE_OPTIONS: atSignal(fault) } })
      const [late, living] = [gate(), gate()]
      fleet.model.script(['from ', late, 'the blocked'], ['from ', living, 'the other'])
      const sent = fleet.sent('hello', { transport })
      const atBlocked = fleet.try(sent, 0)
      await late.reached
      const blocked = fleet.servers[0]!
      blocked.child.kill('SIGUSR2')
      t.after(() => blocked.child.kill('SIGKILL'))
      await until('the blocked loop', () => blocked.log.some(({ msg }) => msg === 'blocked'))
      // More than twenty seconds by the database's clock, which alone decides.
      await clockOf(fleet.databaseUrl)(60_000)
      const asked = fleet.send(sent, { choose: () => 1 })
      await living.reached
      if (wakes === 'when another one has answered') {
        living.open()
        await asked
      }
      late.open()
      await fleet.model.calls[0]!.ended
      await writeFile(end, '')
      assert.deepEqual(await atBlocked, { kind: 'error', status: transport === 'chat' ? 503 : 200, code: 'service_unavailable' })
      living.open()
      const reported = await asked
      assert.equal(JSON.parse(reported.reply!).message.content, 'from the other')
      await fleet.checkReplies([reported])
      assert.equal(fleet.model.calls.length, 2)
    },
  )
}
