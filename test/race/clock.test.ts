/**
 * The wall clock of a process jumps an hour forward and back while its turns run. Leases, expiry and windows use the database's clock on
 * the shared store, and a monotonic one on the embedded store: no turn runs twice, and none is claimed from a live process.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { makeClock, noClock } from '../chaos/clock.ts'
import type { Clock } from '../chaos/clock.ts'
import { Fleet, noFleet } from '../support/fleet.ts'
import { until } from '../support/until.ts'
import { ProcessRuns } from '../support/process-runs.ts'
import { gate } from '../support/model-server.ts'
import { read } from '../support/test-app.ts'

const hour = 3600
/** An hour forward, back to before the start, and a small step back like that of an NTP client. */
const jumps = [hour, -hour, -hour - 5]

async function makeOwnClock(t: TestContext): Promise<Clock> {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-clock-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return makeClock(join(folder, 'clock'))
}

/** Sets the clock and waits until the process itself reads the new time. */
async function jump(clock: Clock, url: string, seconds: number): Promise<void> {
  clock.set(seconds)
  await until(`a clock ${seconds} s off`, async () => {
    const { headers } = await fetch(`${url}/healthz`)
    return Math.abs(Date.parse(headers.get('date')!) - Date.now() - seconds * 1000) < 60_000
  })
}

const resetOf = (headers: Headers): number => Number(headers.get('x-ratelimit-reset'))

const replayOf = (
  fleet: Fleet,
  place: number,
  { message, user, idempotencyKey }: { message: string; user: string; idempotencyKey: string },
) => fleet.client(place).chatRequest({ external_user_id: user, message }, { idempotencyKey })

// The tests run concurrently, because each of them mostly waits.
void describe('a clock that jumps', { concurrency: true }, () => {
  for (const windowIn of ['Redis', 'the database'] as const) {
    void test(
      `fault.clock-jump idempotency.lifetime rate.window: the clock of one of two processes jumps, windows in ${windowIn}: nothing runs twice, nothing expires`,
      { skip: noClock() || noFleet() },
      async (t) => {
        const clock = await makeOwnClock(t)
        const fleet = await Fleet.begin(t, windowIn === 'Redis' ? {} : { env: { REDIS_URL: '' } })
        const skewed = (await fleet.start(1, { env: clock.env })).url
        const before = await fleet.send(fleet.sent('before', { user: 'before' }), { choose: () => 1 })
        const held = gate()
        fleet.model.when('hello', ['one ', held, 'two'])
        const sent = [0, 1].map((place) => fleet.sent(`hello ${place}`, { user: `user ${place}`, transport: 'stream' }))
        const asked = sent.map((one, place) => fleet.send(one, { choose: () => place }))
        await fleet.model.waitForCalls(3)

        for (const seconds of jumps) {
          await jump(clock, skewed, seconds)
          const leases = async (): Promise<number[]> =>
            (await fleet.rows(`select lease_until from turns where state = 'running' order by message`)).map(({ lease_until: at }) =>
              Number(at),
            )
          const from = await leases()
          assert.equal(from.length, 2)
          // The leases of both are renewed to the same moment, by the database's clock, while the other process looks for orphans.
          await until('a renewal of each', async () => (await leases()).every((at, index) => at > from[index]!))
          const [a, b] = await leases()
          assert.ok(Math.abs(a! - b!) < 60_000, `leases end ${a} and ${b}`)
          // A record from a moment ago: by neither clock has it expired or does it lie in the future.
          for (const place of [0, 1]) assert.equal((await fleet.send(before.sent, { choose: () => place })).reply, before.reply)
          const resets = await Promise.all(
            [0, 1].map(async (place) => {
              const { status, headers } = await read(await replayOf(fleet, place, before.sent))
              assert.equal(status, 200)
              return resetOf(headers)
            }),
          )
          // If a window ends between the two requests, the second one is a new window, a minute later.
          for (const reset of resets) assert.ok(Math.abs(reset - Date.now() / 1000) <= 65, `Reset ${reset} with a clock ${seconds} s off`)
        }
        held.open()
        const reported = await Promise.all(asked)
        for (const { met } of reported) assert.deepEqual(met, [])
        const stored = await fleet.rows('select distinct attempt, fence from turns')
        assert.deepEqual(stored, [{ attempt: '1', fence: '1' }], 'nothing was claimed')
        await fleet.checkReplies([before, ...reported])
        assert.equal(fleet.model.calls.length, 3)
      },
    )
  }

  void test(
    'fault.clock-jump turn.states: the clock of the process that died was an hour ahead: its orphan is answered in time, once',
    { skip: noClock() || noFleet() },
    async (t) => {
      const clock = await makeOwnClock(t)
      const fleet = await Fleet.begin(t)
      const { url } = await fleet.start(1, { env: clock.env })
      await jump(clock, url, hour)
      fleet.model.script(['old ', gate(), 'never'], ['one ', 'two'])
      const sent = fleet.sent('hello')
      const asked = fleet.try(sent, 1)
      await fleet.model.waitForCalls(1)
      await fleet.kill(1)
      await asked
      const killedAt = performance.now()
      const reported = await fleet.send(sent)
      // At most 13 s after its last renewal, plus a margin for a busy machine; it must not be an hour.
      assert.ok(reported.at - killedAt < 60_000, `answered after ${reported.at - killedAt} ms`)
      await fleet.checkReplies([reported])
      assert.equal(fleet.model.calls.length, 2)
    },
  )

  void test(
    'fault.clock-jump turn.states: the clock of the single process on SQLite jumps: nothing runs twice, the conversation stays in order',
    { skip: noClock() },
    async (t) => {
      const clock = await makeOwnClock(t)
      const processRuns = await ProcessRuns.begin(t, '', { env: clock.env })
      const { client, model } = processRuns
      const said: string[] = []
      for (const seconds of jumps) {
        const held = gate()
        const message = `hello ${seconds}`
        model.when(message, ['one ', held, `two ${seconds}`])
        const idempotencyKey = randomUUID()
        const calls = model.calls.length
        const asked = client.stream(message, { idempotencyKey })
        await model.waitForCalls(calls + 1)
        await jump(clock, processRuns.server!.url, seconds)
        // At least two rounds of the timer: a lease that the jump had expired would be claimed by the first.
        const from = performance.now()
        await until('some rounds', () => performance.now() - from > 2500)
        held.open()
        const answer = (await asked).events.at(-1)!
        assert.deepEqual([answer.event, answer.data.message?.content], ['response.completed', `one two ${seconds}`])
        assert.equal(model.calls.length, calls + 1, 'the model was asked once')
        const replay = await client.chat(message, { idempotencyKey })
        assert.deepEqual([replay.status, replay.json], [200, answer.data])
        said.push(message, `one two ${seconds}`)
        // The next prompt contains the history in the order of the messages.
        assert.deepEqual(
          model.calls
            .at(-1)!
            .messages.slice(1)
            .map(({ content }) => content),
          said.slice(0, -1),
        )
        assert.deepEqual(
          (await client.messages()).map(({ content }) => content),
          said,
        )
      }
      assert.equal(await processRuns.charges(), jumps.length)

      // The process dies with a clock that is an hour behind, and restarts two hours later.
      const idempotencyKey = randomUUID()
      model.when('orphan', ['never ', gate()])
      const asked = client.stream('orphan', { idempotencyKey }).catch(() => undefined)
      await model.waitForCalls(jumps.length + 1)
      await processRuns.server!.kill()
      await asked
      model.when('orphan', 'answered')
      clock.set(hour)
      await processRuns.start()
      const answer = await processRuns.retry('orphan', { idempotencyKey })
      assert.deepEqual([answer.status, answer.json.message?.content], [200, 'answered'], answer.text)
      assert.equal(await processRuns.charges(), jumps.length + 1)
      assert.equal((await client.owner()).held_usd, '0.00000000')
      await processRuns.verify()
    },
  )
})
