/** How the console writes a time as a distance from now. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeRelative } from '../../packages/console/src/show/relative-time.ts'

const now = Date.UTC(2026, 10, 26, 12)
const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]

for (const [offset, text] of [
  [0, 'just now'],
  [-59 * second, 'just now'],
  [20 * second, 'just now'],
  [45 * second, 'in a moment'],
  [-minute, '1 minute ago'],
  [-59 * minute - 59 * second, '59 minutes ago'],
  [-hour, '1 hour ago'],
  [-23 * hour, '23 hours ago'],
  [-6 * day, '6 days ago'],
  [3 * hour, 'in 3 hours'],
] as const)
  void test(`console: a time ${offset / 1_000} seconds from now is "${text}"`, () => {
    assert.equal(writeRelative(new Date(now + offset), now), text)
  })

void test('console: a time more than a week away is a date, with the year if it is another one', () => {
  assert.match(writeRelative(new Date(now - 10 * day), now), /16/)
  assert.doesNotMatch(writeRelative(new Date(now - 10 * day), now), /2026/)
  assert.match(writeRelative(new Date(now - 400 * day), now), /2025/)
})
