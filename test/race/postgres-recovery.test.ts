/**
 * A process that was frozen for longer than its lease, two processes that claim the same orphan, and an older build beside a newer one. The
 * tests move the database's clock instead of waiting.
 */
import assert from 'node:assert/strict'
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Fleet, noFleet } from '../support/fleet.ts'
import { until } from '../support/until.ts'
import { gate } from '../support/model-server.ts'
import { clockOf } from '../support/own-postgres.ts'
import { withClient } from '../support/postgres-server.ts'

const skip = noFleet()
const root = fileURLToPath(new URL('../../', import.meta.url))

/** Makes all current leases expire. */
const leasesEnd = (fleet: Fleet): Promise<void> => clockOf(fleet.databaseUrl)(60_000)

/** Creates a copy of this build with one more migration, which adds a column to the turn path's tables. Returns the path of its program. */
async function makeNewerBuild(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-newer-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await cp(join(root, 'package.json'), join(folder, 'package.json'))
  for (const part of ['bin', 'src']) await cp(join(root, part), join(folder, part), { recursive: true })
  for (const part of ['node_modules', 'packages', 'docs']) await symlink(join(root, part), join(folder, part))
  const migration = "alter table turns add column colour text;\nalter table owners add column region text default 'north';\n"
  await writeFile(join(folder, 'src/store/postgres/migrations/9999-newer.sql'), migration)
  return join(folder, 'bin/turnkeep.js')
}

for (const { transport, wakes } of [
  { transport: 'chat', wakes: 'while another one runs it' },
  { transport: 'stream', wakes: 'when another one has answered it' },
] as const) {
  void test(
    `fault.frozen-process unavailable.unknown billing.once: a process frozen past its lease that wakes ${wakes}, on ${transport}: its settlement is fenced off`,
    { skip },
    async (t) => {
      const fleet = await Fleet.begin(t, { count: 2 })
      const [dead, living] = [gate(), gate()]
      fleet.model.script(['from ', dead, 'the dead'], ['from ', living, 'the living'])
      const sent = fleet.sent('hello', { transport })
      const atZombie = fleet.try(sent, 0)
      await dead.reached
      const zombie = fleet.servers[0]!.child
      zombie.kill('SIGSTOP')
      t.after(() => zombie.kill('SIGCONT'))
      await leasesEnd(fleet)
      const asked = fleet.send(sent, { choose: () => 1 })
      await living.reached
      if (wakes === 'when another one has answered it') {
        living.open()
        await asked
      }
      // The model has completed its answer before the process wakes up, so the process goes straight to its settlement.
      dead.open()
      await fleet.model.calls[0]!.ended
      zombie.kill('SIGCONT')
      assert.deepEqual(await atZombie, { kind: 'error', status: transport === 'chat' ? 503 : 200, code: 'service_unavailable' })
      living.open()
      const reported = await asked
      assert.equal(JSON.parse(reported.reply!).message.content, 'from the living')
      await fleet.checkReplies([reported])
      assert.equal(fleet.model.calls.length, 2)
    },
  )
}

void test(
  'fault.concurrent-recovery turn.states: two processes that see the same orphans: each is claimed once, and charged once',
  { skip },
  async (t) => {
    const fleet = await Fleet.begin(t)
    const held = gate()
    fleet.model.when(/orphan/, [held, 'never'])
    const sent = Array.from({ length: 12 }, (_, n) => fleet.sent(`orphan ${n}`, { user: `user-${n}` }))
    const asked = sent.map((one) => fleet.try(one, 0))
    await fleet.model.waitForCalls(sent.length)
    await fleet.kill(0)
    await Promise.all(asked)
    fleet.model.when(/orphan/, 'answered')

    // Every claim waits at a barrier until both have arrived; then both continue at the same moment.
    const parameters = 'which text, most integer, lease_ms bigint, running text[], claimer text'
    await fleet.rows(`alter function claim_v1(text, integer, bigint, text[], text) rename to claim_past_the_barrier`)
    await fleet.rows(`create function claim_v1(${parameters}) returns json language plpgsql as $$ begin
    perform pg_advisory_xact_lock_shared(1818);
    return claim_past_the_barrier(which, most, lease_ms, running, claimer);
  end $$`)
    await withClient(fleet.databaseUrl, async (barrier) => {
      await barrier.query('select pg_advisory_lock(1818)')
      await Promise.all([fleet.start(1), fleet.start(2)])
      await leasesEnd(fleet)
      await until('both claims', async () => (await fleet.rows(`select 1 from pg_locks where objid = 1818 and not granted`)).length === 2)
    })

    const reported = await Promise.all(sent.map((one) => fleet.send(one)))
    await fleet.checkReplies(reported)
    const claimed = await fleet.rows(`select attempt, fence, count(*) from turns group by attempt, fence`)
    assert.deepEqual(claimed, [{ attempt: '2', fence: '2', count: String(sent.length) }])
    assert.equal(fleet.model.calls.length, 2 * sent.length)
  },
)

void test(
  "fault.rolling-upgrade fault.maintenance-under-load: a newer build on the same database beside an older one: both answer, and replay each other's replies",
  { skip },
  async (t) => {
    const fleet = await Fleet.begin(t, { count: 1 })
    const newer = await makeNewerBuild(t)
    const load = fleet.load({ callers: 8, restMs: 500 })
    // Migrates the database while the older process continues to run.
    await fleet.start(1, { program: newer })
    const [{ added }] = (await fleet.rows(`select count(*) as added from migrations where name = '9999-newer.sql'`)) as [{ added: string }]
    assert.equal(added, '1')
    // An older process also starts, like one that is replaced in the middle of a rollout.
    await fleet.start(2)
    const reported = await load.stop()
    assert.deepEqual(fleet.alive, [0, 1, 2])
    const warned = fleet.servers[2]!.log.some(({ newer: names }) => String(names) === '9999-newer.sql')
    assert.ok(warned, 'the older one says that it works beside a newer one')
    await fleet.checkReplies(reported, { everywhere: false })
  },
)
