/**
 * Three processes on one database, killed at seeded moments under load. Whatever happened to a caller's request, a retry with the same key
 * gets its one reply. `SEED=n` repeats the moments of a run; `KILLS=n` makes it longer.
 */
import assert from 'node:assert/strict'
import { hash, randomInt } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { Fleet, noFleet } from '../support/fleet.ts'
import { until } from '../support/until.ts'
import type { Sent } from '../support/fleet.ts'
import { speakSlowly } from '../support/slow-model.ts'

const skip = noFleet()

/** Seeded random numbers: at least 0 and below 1. */
function seededRandom(seed: number): () => number {
  let count = 0
  return () => hash('sha256', `${seed} ${count++}`, 'buffer').readUInt32BE() / 2 ** 32
}

/** Turns at their third attempt, and turns that may be claimed for a third attempt before the chosen process is dead. */
const thirdAttempts = `select 1 from turns where state = 'running' and (attempt = 3 or attempt = 2 and lease_until < now_ms() + 2000)`

void test(
  'fault.kill-before-model fault.kill-mid-stream fault.kill-before-settlement billing.once: kill -9 of one of three processes again and again under load: every key one reply',
  { skip },
  async (t) => {
    const seed = Number(process.env['SEED'] ?? randomInt(1_000_000))
    const kills = Number(process.env['KILLS'] ?? 20)
    t.diagnostic(`SEED=${seed}`)
    const random = seededRandom(seed)
    const fleet = await Fleet.begin(t, { count: 3 })
    speakSlowly(fleet.model, () => 500 + Math.random() * 2000)

    const underWay = new Map<Sent, number>()
    /** The requests that were running in a process when it was killed, with the time of the kill. */
    const hit = new Map<Sent, number>()
    const load = fleet.load({
      callers: 16,
      restMs: 1000,
      choose(sent) {
        const place = fleet.alive[Math.floor(Math.random() * fleet.alive.length)]
        if (place !== undefined) underWay.set(sent, place)
        return place
      },
    })
    for (let kill = 0; kill < kills; kill++) {
      await pass(500 + random() * 1100)
      await until('a process that can be killed', () => fleet.alive.length > 1)
      // A turn whose process was killed three times in a row fails, as `turn.states` says; crash.test.ts covers that.
      await until('no turn at its third attempt', async () => (await fleet.rows(thirdAttempts)).length === 0)
      const victim = fleet.alive[Math.floor(random() * fleet.alive.length)]!
      const killedAt = performance.now()
      for (const [sent, place] of underWay) if (place === victim && !hit.has(sent)) hit.set(sent, killedAt)
      await fleet.kill(victim)
      void fleet.start(victim)
    }
    const reported = await load.stop()
    await until('all three processes', () => fleet.alive.length === 3)
    await fleet.checkReplies(reported)
    const waits = reported
      .flatMap(({ sent, met, at }) => (met.length > 0 && at > (hit.get(sent) ?? at) ? [at - hit.get(sent)!] : []))
      .toSorted((a, b) => a - b)
    assert.ok(waits.length > 0, 'no kill hit a turn')
    const share = (part: number): number => Math.round(waits[Math.min(waits.length - 1, Math.floor(waits.length * part))]!)
    t.diagnostic(
      `${kills} kills, ${reported.length} keys, ${waits.length} of them hit; kill to reply: median ${share(0.5)} ms, longest ${share(1)} ms`,
    )
  },
)
