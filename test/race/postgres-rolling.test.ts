/** Each process is drained and replaced behind a load balancer while streams run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBalancer } from '../support/balancer.ts'
import { Fleet, noFleet } from '../support/fleet.ts'
import { until } from '../support/until.ts'
import { speakSlowly } from '../support/slow-model.ts'

void test(
  'fault.sigterm stream.established: three processes replaced one by one while fifty streams run: each completes in the process that started it',
  { skip: noFleet() },
  async (t) => {
    const fleet = await Fleet.begin(t, { count: 3 })
    speakSlowly(fleet.model, () => 500 + Math.random() * 2500)
    const balancer = await startBalancer()
    t.after(() => balancer.close())
    const route = (): void => balancer.route(fleet.alive.map((place) => fleet.servers[place]!.url))
    route()
    const load = fleet.load({ callers: 50, restMs: 1000, choose: () => balancer.url })
    const drains: number[] = []
    for (const place of [0, 1, 2]) {
      const answered = load.reported.length
      await until('load', () => load.reported.length > answered + 50)
      // Acts like a health check that has seen /readyz fail: the balancer sends nothing new there, and open connections stay.
      const old = fleet.leave(place)
      route()
      const from = performance.now()
      assert.equal(await old.stop(), 0)
      drains.push(Math.round(performance.now() - from))
      await fleet.start(place)
      route()
    }
    const reported = await load.stop()
    const met = new Set(reported.flatMap((one) => one.met))
    assert.ok(!met.has('cut'), 'an answer that began was finished')
    assert.equal(fleet.model.calls.length, reported.length, 'no turn ran twice')
    await fleet.checkReplies(reported, { everywhere: false })
    t.diagnostic(`${reported.length} keys; drained in ${drains.join(', ')} ms; callers met ${[...met].join(', ') || 'nothing but replies'}`)
  },
)
