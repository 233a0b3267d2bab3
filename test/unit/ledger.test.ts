/** Arithmetic with amounts: rounding, bounds, and amounts that are written and read unchanged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { available, boundCost, charge, clearedBy, cost, formatUsd, maxAmount, parseUsd } from '../../src/ledger/ledger.ts'
import { calculatePrice, formatExactUsd } from '../../src/ledger/price-calculation.ts'
import { plainPrice, plainTokens } from '../support/token-kinds.ts'

const amounts = fc.bigInt({ min: -maxAmount, max: maxAmount })
/** Kinds that are possible: each part is at most what is left of its total. */
const tokens = fc
  .tuple(fc.nat(1_000_000), fc.nat(1_000_000), fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }))
  .map(([promptTokens, completionTokens, one, other]) => {
    const cachedPromptTokens = Math.floor(promptTokens * one)
    const cacheWriteTokens = Math.floor((promptTokens - cachedPromptTokens) * other)
    return { promptTokens, cachedPromptTokens, cacheWriteTokens, completionTokens, reasoningTokens: Math.floor(completionTokens * other) }
  })
const perMillion = fc.bigInt({ min: 0n, max: 1_000_000_000_000n })
const prices = fc.record({
  promptPerMillion: perMillion,
  completionPerMillion: perMillion,
  cachedPromptPerMillion: fc.option(perMillion),
  cacheWritePerMillion: fc.option(perMillion),
})
const toolCalls = fc.bigInt({ min: 0n, max: 10n ** 12n })

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
  assert.equal(cost(plainTokens(1, 0), plainPrice(1n, 0n)), 1n)
  assert.equal(cost(plainTokens(0, 0), plainPrice(1n, 1n)), 0n)
  fc.assert(
    fc.property(tokens, prices, (count, price) => {
      const { promptPerMillion } = price
      const { cachedPromptTokens, cacheWriteTokens } = count
      const exact =
        BigInt(count.promptTokens - cachedPromptTokens - cacheWriteTokens) * promptPerMillion +
        BigInt(cachedPromptTokens) * (price.cachedPromptPerMillion ?? promptPerMillion) +
        BigInt(cacheWriteTokens) * (price.cacheWritePerMillion ?? promptPerMillion) +
        BigInt(count.completionTokens) * price.completionPerMillion
      const rounded = cost(count, price) * 1_000_000n
      assert.ok(rounded >= exact && rounded - exact < 1_000_000n)
    }),
  )
})

void test('billing.once: a charge is never above its hold, and charge and write-off add up to the cost', () => {
  fc.assert(
    fc.property(tokens, toolCalls, prices, fc.bigInt({ min: 0n, max: 10n ** 15n }), (count, calls, price, hold) => {
      const { charged, writtenOff } = charge(count, calls, price, hold)
      assert.ok(charged <= hold && charged >= 0n && writtenOff >= 0n)
      assert.equal(charged + writtenOff, cost(count, price) + calls)
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

void test('billing.hold: the bound covers the same tokens of any kinds, because it is at the dearest price of a prompt token', () => {
  fc.assert(fc.property(tokens, prices, (count, price) => assert.ok(boundCost(count, price) >= cost(count, price))))
})

void test('billing.token-kinds: a price that is not set is the prompt price, and never zero', () => {
  const price = { ...plainPrice(3_000_000n, 5_000_000n), cacheWritePerMillion: 4_000_000n }
  const count = { ...plainTokens(10, 2), cachedPromptTokens: 4, cacheWriteTokens: 1, reasoningTokens: 2 }
  assert.equal(cost(count, price), 5n * 3n + 4n * 3n + 1n * 4n + 2n * 5n)
  assert.equal(cost(count, { ...price, cachedPromptPerMillion: 0n }), 5n * 3n + 1n * 4n + 2n * 5n)
})

void test('billing.token-kinds: the lines of a price calculation and its rounding add up to the cost, and the cost to charge and write-off', () => {
  fc.assert(
    fc.property(tokens, toolCalls, prices, fc.bigInt({ min: 0n, max: 10n ** 15n }), (count, calls, price, hold) => {
      const { charged, writtenOff } = charge(count, calls, price, hold)
      const calculation = calculatePrice({ tokens: count, price, toolCalls: calls, charged, writtenOff })
      const sum = calculation.lines.reduce((total, { exact }) => total + exact, 0n)
      assert.equal(sum + calculation.rounding, calculation.cost * 1_000_000n)
      assert.ok(calculation.rounding >= 0n && calculation.rounding < 1_000_000n)
      assert.equal(calculation.charged + calculation.writtenOff, calculation.cost)
    }),
  )
})

void test('billing.token-kinds: an exact amount has 8 to 14 decimal places, without more zeros', () => {
  assert.equal(formatExactUsd(0n), '0.00000000')
  assert.equal(formatExactUsd(1n), '0.00000000000001')
  assert.equal(formatExactUsd(150_000_000_000_000n), '1.50000000')
  assert.equal(formatExactUsd(38_701_250_000n), '0.0003870125')
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
