/** `clock`: the store's two clocks, and the offset by which tests move them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClock } from '../../src/store/sqlite/clock.ts'

void test('clock: leases use the monotonic clock; records use the wall clock, in whole milliseconds', (t) => {
  const clock = createClock(new SharedArrayBuffer(8))
  const lease = clock.leaseNow()
  const set = t.mock.method(Date, 'now', () => 1_000)
  assert.equal(clock.now(), 1_000)
  assert.ok(clock.leaseNow() >= lease, 'set back, a lease would be kept for ever')
  set.mock.mockImplementation(() => 9_000_000_000_000)
  assert.ok(clock.leaseNow() < lease + 60_000, 'set forward, every running turn would lose its lease')
})

void test('clock: a test moves both clocks of every thread', () => {
  const offset = new SharedArrayBuffer(8)
  const clock = createClock(offset)
  const [now, lease] = [clock.now(), clock.leaseNow()]
  new Float64Array(offset)[0] = 3_600_000.5
  assert.ok(clock.now() >= now + 3_600_000 && clock.leaseNow() >= lease + 3_600_000)
  assert.ok(Number.isInteger(clock.now()))
})
