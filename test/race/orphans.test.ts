/**
 * A process that is killed in the middle of a turn, beside one that is frozen. The database's clock is slowed down, so that no lease ends by
 * itself while the test runs: 12 s of it take 20 minutes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fleet, noFleet } from '../support/fleet.ts'
import { gate } from '../support/model-server.ts'
import { withClient } from '../support/postgres-server.ts'
import { until } from '../support/until.ts'

void test(
  'turn.orphans fault.kill-mid-stream: postgres: another process answers the turn of a killed one before its lease ends, and leaves the turns of others alone',
  { skip: noFleet() },
  async (t) => {
    const fleet = await Fleet.begin(t, { count: 3 })
    const clock = (): Promise<number> => fleet.rows('select now_ms() as now').then(([row]) => Number(row!['now']))
    await withClient(fleet.databaseUrl, async (client) => {
      const { rows } = await client.query('select now_ms() as now')
      await client.query(`create or replace function now_ms() returns bigint language sql volatile as
        'select ${rows[0].now} + floor((extract(epoch from clock_timestamp()) * 1000 - ${rows[0].now}) / 100)::bigint'`)
    })
    const [killed, running] = [gate(), gate()]
    fleet.model.when('killed', ['one ', killed, 'two'])
    fleet.model.when('running', ['one ', running, 'two'])
    const [atKilled, atRunning] = [fleet.sent('killed'), fleet.sent('running', { user: 'user-2' })]
    const lost = fleet.try(atKilled, 0)
    const answered = fleet.try(atRunning, 2)
    await Promise.all([killed.reached, running.reached])
    // A lease that was set in the very millisecond of a death may be that of a process which has already seen it, so it is not ended.
    const admittedAt = await clock()
    await until('the clock has moved on', async () => (await clock()) > admittedAt)
    await fleet.kill(0)
    const killedAt = performance.now()
    assert.notEqual((await lost).kind, 'reply')
    killed.open()
    const reply = await fleet.send(atKilled, { choose: () => 1 })
    t.diagnostic(`answered ${Math.round(performance.now() - killedAt)} ms after the kill`)
    running.open()
    assert.equal((await answered).kind, 'reply')
    await fleet.checkReplies([reply])
    assert.deepEqual(await fleet.rows('select attempt from turns order by attempt'), [{ attempt: '1' }, { attempt: '2' }])
  },
)
