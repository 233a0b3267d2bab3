/**
 * Runs different schedules of the turn engine in each run, 20 in the fast tier and for a minute in the later ones. Whatever is killed,
 * frozen, drained, lost or delayed between any two events, every message is answered once, stored once and charged once. A failure prints
 * the arguments with which `npm run simulate` repeats it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explore } from './explore.ts'
import { realMs } from './moved-time.ts'

const seconds = 60
const isFast = (process.env['TEST_TIER'] ?? 'fast') === 'fast'
// A twentieth of what one slow core does in a minute.
const minSchedules = isFast ? 20 : 100
/** The events that the schedules are meant to produce; each happens many times in a minute. */
const mustHappen = [
  'a renewal is lost',
  'a settlement is lost',
  'a step is lost',
  'a released turn continues',
  'a released turn runs again',
  'an expired key is free again',
  'a lease is given up',
  'claim: attempt 3',
  'admission: replay',
  'erasure: erased',
  'a turn counts in a window',
  'admission: spend_limit_exceeded',
  'a hold exceeds a limit',
  'an early run is confirmed',
  'an early run is withdrawn',
]

void test('simulation: a minute of schedules keeps every promise', { timeout: 280_000 }, async (t) => {
  const seed = Math.floor(realMs() * 1000 + process.pid * 7919) % 2 ** 31
  const { failure, seen, ...figures } = await explore({ seconds, seed, ...(isFast ? { maxSchedules: 20 } : {}) })
  t.diagnostic(`seed ${seed}: ${JSON.stringify(figures)}`)
  assert.equal(
    failure,
    undefined,
    failure && `${failure.what}\n${failure.schedule}\nnpm run simulate -- --seed ${failure.seed} --path '${failure.path}'`,
  )
  assert.ok(figures.schedules >= minSchedules, `only ${figures.schedules} schedules`)
  if (!isFast && figures.schedules >= 10 * minSchedules)
    assert.deepEqual(
      mustHappen.filter((what) => !seen[what]),
      [],
      'these never came about',
    )
})

void test('the simulation does the same again from the same seed', async () => {
  const [first, second] = [
    await explore({ seconds: 60, seed: 1, maxSchedules: 20 }),
    await explore({ seconds: 60, seed: 1, maxSchedules: 20 }),
  ]
  assert.equal(first.schedules, 20)
  assert.deepEqual({ ...second, seconds: 0 }, { ...first, seconds: 0 })
})
