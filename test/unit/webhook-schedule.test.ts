/** When a failed delivery is sent again, for every attempt and every jitter. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { delayAfter } from '../../src/webhooks/schedule.ts'

const secondsAfter = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]

test('webhook.delivered: each delay is that of the schedule, a tenth more or less, and the tenth attempt is the last', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, random) => {
      const [delay, usual] = [delayAfter(attempt, random)!, secondsAfter[attempt - 1]! * 1000]
      assert.ok(Number.isInteger(delay) && delay >= usual * 0.9 - 1 && delay <= usual * 1.1 + 1, `${delay} ms after attempt ${attempt}`)
    }),
  )
  for (const [index, seconds] of secondsAfter.entries()) {
    assert.equal(delayAfter(index + 1, 0.5), seconds * 1000)
    assert.ok(delayAfter(index + 1, 0)! < delayAfter(index + 1, 1)!, 'deliveries that failed together come back at different times')
  }
  for (const attempt of [10, 11, 100]) assert.equal(delayAfter(attempt, 0.5), undefined)
})
