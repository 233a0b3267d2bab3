/** Lengths in code points are those of JavaScript's own iterator, which copies the text. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { codePoints, isLongerThan } from '../../src/code-points.ts'

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: fc.constantFrom('a', 'é', '\ud83d', '\ude00', '😀') }))

void test('order.validation: a text has as many code points as its iterator returns, also with unpaired surrogates', () => {
  fc.assert(
    fc.property(anyText, fc.nat(12), (text, limit) => {
      const { length } = [...text]
      assert.equal(codePoints(text), length)
      assert.equal(isLongerThan(text, limit), length > limit)
    }),
  )
})
