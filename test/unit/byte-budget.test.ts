/** Which bytes a budget allows. Responses that are not read and large request bodies have one each. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ByteBudget } from '../../src/http/edge/byte-budget.ts'

void test('overload.bodies overload.unread: one and all have a limit, and who holds nothing gets something', () => {
  const budget = new ByteBudget(100, 250)
  budget.add('a', 60)
  assert.ok(budget.allows('a', 40))
  assert.ok(!budget.allows('a', 41))
  budget.add('b', 100)
  budget.add('c', 90)
  assert.ok(!budget.allows('a', 1))
  assert.ok(budget.allows('d', 1000))
  budget.add('b', -100)
  assert.ok(budget.allows('a', 40))
})

void test('overload.bodies: what grows may grow while it is the only one, whatever the others hold', () => {
  const budget = new ByteBudget(100, 100)
  budget.add('others', 100)
  budget.add('a', 60)
  assert.ok(budget.allows('a', 60, 60))
  assert.ok(!budget.allows('a', 1, 30))
})

void test('overload.bodies overload.unread: after everything was given back, the budget is as new', () => {
  const amounts = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(1000)))
  fc.assert(
    fc.property(amounts, (taken) => {
      const budget = new ByteBudget(1000, 2000)
      for (const [who, bytes] of taken) budget.add(who, bytes)
      for (const [who, bytes] of taken.toReversed()) budget.add(who, -bytes)
      budget.add('a', 1)
      assert.ok(budget.allows('a', 999))
      budget.add('b', 1000)
      assert.ok(budget.allows('a', 999))
      assert.ok(!budget.allows('a', 1000))
    }),
  )
})
