/** How the console shows what is used of a spend limit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usedPercent } from '../../packages/console/src/show/limits/used-percent.ts'

const row = (limit: string, spent: string, held = '0.00000000', unpaid = '0.00000000') => ({
  scope: 'agent' as const,
  window: 'day' as const,
  key_id: null,
  external_user_id: null,
  starts_at: null,
  ends_at: null,
  limit_usd: limit,
  spent_usd: spent,
  held_usd: held,
  unpaid_usd: unpaid,
})

test('console: what is used of a limit is in whole percents, rounded down, and counts what is held and unpaid', () => {
  assert.equal(usedPercent(row('5.00000000', '0.00000000')), 0)
  assert.equal(usedPercent(row('5.00000000', '4.99999999')), 99)
  assert.equal(usedPercent(row('5.00000000', '3.00000000', '1.00000000', '1.00000000')), 100)
  assert.equal(usedPercent(row('1.00000000', '2.50000000')), 250, 'a limit that was lowered')
  assert.equal(usedPercent(row('0.00000000', '0.00000000')), 100)
  assert.equal(usedPercent(row('1000000000.00000000', '999999999.99999999')), 99)
})
