/** Arithmetic with amounts: rounding, bounds, and amounts that are written and read unchanged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { available, charge, clearedBy, cost, formatUsd, maxAmount, parseUsd } from '../../src/ledger/ledger.ts'

const amounts = fc.bigInt({ min: -maxAmount, max: maxAmount })
const tokens = fc.record({ promptTokens: fc.nat(1_000_000), completionTokens: fc.nat(1_000_000) })
const prices = fc.record({
  promptPerMillion: fc.bigInt({ min: 0n, max: 1_000_000_000_000n }),
  completionPerMillion: fc.bigInt({ min: 0n, max: 1_000_000_000_000n }),
})

void test('ledger: an amount is written with eight decimal places and read back unchanged', () => {
  assert.equal(formatUsd(1n), '0.00000001')
  assert.equal(formatUsd(-150_000_000n), '-1.50000000')
  fc.assert(
    fc.property(amounts, (amount) => {
      assert.match(formatUsd(amount), /^-?\d+\.\d{8}$/)
      assert.equal(parseUsd(formatUsd(amount)), amount)
    }),
  )
})

void test('ledger: invalid amounts are refused: more places, exponents, signs, spaces, too large', () => {
  for (const text of [
    '',
    '.',
    '1.',
    '.5',
    '+1',
    '1e3',
    ' 1',
    '1 ',
    '0x1',
    '1,5',
    '1.123456789',
    '10000000000',
    '1000000000.00000001',
    'NaN',
    '--1',
  ])
    assert.equal(parseUsd(text), undefined, text)
  assert.equal(parseUsd('0.5'), 50_000_000n)
  assert.equal(parseUsd('-0.00000001'), -1n)
  fc.assert(fc.property(fc.string(), (text) => assert.ok(parseUsd(text) === undefined || /^-?\d{1,10}(\.\d{1,8})?$/.test(text))))
})

void test('billing.once: a cost is rounded up once, never by a whole unit more', () => {
  assert.equal(cost({ promptTokens: 1, completionTokens: 0 }, { promptPerMillion: 1n, completionPerMillion: 0n }), 1n)
  assert.equal(cost({ promptTokens: 0, completionTokens: 0 }, { promptPerMillion: 1n, completionPerMillion: 1n }), 0n)
  fc.assert(
    fc.property(tokens, prices, (count, price) => {
      const exact = BigInt(count.promptTokens) * price.promptPerMillion + BigInt(count.completionTokens) * price.completionPerMillion
      const rounded = cost(count, price) * 1_000_000n
      assert.ok(rounded >= exact && rounded - exact < 1_000_000n)
    }),
  )
})

void test('billing.once: a charge is never above its hold, and charge and write-off add up to the cost', () => {
  fc.assert(
    fc.property(tokens, prices, fc.bigInt({ min: 0n, max: 10n ** 15n }), (count, price, hold) => {
      const { charged, writtenOff } = charge(count, price, hold)
      assert.ok(charged <= hold && charged >= 0n && writtenOff >= 0n)
      assert.equal(charged + writtenOff, cost(count, price))
    }),
  )
})

void test('billing.hold: the bound of a larger prompt is never smaller', () => {
  fc.assert(
    fc.property(tokens, fc.nat(1000), prices, (count, more, price) => {
      assert.ok(cost({ ...count, promptTokens: count.promptTokens + more }, price) >= cost(count, price))
    }),
  )
})

void test('billing.unpaid: a credit and an adjustment of the same amount leave unpaid usage as it was, unless less was unpaid', () => {
  const parts = fc.record({ unpaid: fc.bigInt({ min: 0n, max: maxAmount }), cleared: fc.bigInt({ min: 0n, max: maxAmount }) })
  fc.assert(
    fc.property(parts, fc.bigInt({ min: 1n, max: maxAmount }), (before, amount) => {
      const moved = clearedBy(amount, before)
      assert.ok(moved >= 0n && moved <= amount && moved <= before.unpaid)
      const after = { unpaid: before.unpaid - moved, cleared: before.cleared + moved }
      const back = clearedBy(-amount, after)
      assert.ok(back <= 0n && -back <= amount && -back <= after.cleared)
      assert.ok(-back >= moved, 'a refund reserves again at least what the credit cleared')
    }),
  )
})

void test('billing.unpaid: the available amount is the balance without what is held and what is unpaid, and never below zero', () => {
  assert.equal(available({ balance: 10n, held: 3n, unpaid: 2n }), 5n)
  assert.equal(available({ balance: 10n, held: 3n, unpaid: 8n }), 0n)
})
