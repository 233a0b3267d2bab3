/** The console's calculations with amounts: parsing input, and when a balance is low. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readAmount, writeAmount } from '../../packages/console/src/api/amounts.ts'
import { lowOf, formatLow } from '../../packages/console/src/api/low.ts'
import { formatUsd, maxAmount, parseUsd } from '../../src/ledger/ledger.ts'

void test('console: an amount is parsed and formatted as in the ledger, with or without a sign', () => {
  assert.equal(readAmount(' +10.5 '), 1_050_000_000n)
  assert.equal(readAmount('-0.00000001'), -1n)
  assert.equal(readAmount('−2'), -200_000_000n)
  assert.equal(readAmount(writeAmount(maxAmount)), maxAmount)
  for (const text of ['', '+', '1,5', '1.', '.5', '1.123456789', '1e3', '$5', '1000000001', '--1'])
    assert.equal(readAmount(text), undefined)
  fc.assert(
    fc.property(fc.bigInt({ min: -maxAmount, max: maxAmount }), (amount) => {
      assert.equal(writeAmount(amount), formatUsd(amount))
      assert.equal(readAmount(writeAmount(amount)), parseUsd(formatUsd(amount)))
    }),
  )
})

const usd = (text: string): bigint => readAmount(text)!
const said = (available: string, spent?: string): string | null => {
  const low = lowOf(usd(available), spent === undefined ? undefined : usd(spent))
  return low && formatLow(low)
}

void test('console: a balance is low below one dollar, or below three days at the cost of the last seven', () => {
  assert.equal(said('1.00'), null)
  assert.equal(said('1.00', '0'), null)
  assert.equal(said('0.99999999'), 'Low: less than $1.00')
  assert.equal(said('0.99', '0'), 'Low: less than $1.00')
  assert.equal(said('0.50', '0.70'), 'Low: less than $1.00, about 5 days left')
  assert.equal(said('0', '7'), 'No available balance')
  assert.equal(said('30.00', '70.00'), null)
  assert.equal(said('29.99', '70.00'), 'Low: about 3 days left')
  assert.equal(said('14.00', '70.00'), 'Low: about 1 day left')
  assert.equal(said('9.99', '70.00'), 'Low: less than a day left')
  assert.equal(said('0.99', '700.00'), 'Low: less than $1.00, less than a day left')
})
