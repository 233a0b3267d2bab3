/** What a message becomes before the full-text index sees it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { agentTerm, indexedText, matchExpression } from '../../src/store/cold/terms.ts'
import { anyText } from '../support/any-text.ts'

const termsOf = (text: string): string[] =>
  (matchExpression('agt_01abc', text) ?? '').split('{title text} : ')[1]?.slice(1, -1).split(' OR ') ?? []

void test('knowledge: an expression is the agent and quoted words, pairs in scripts without spaces, without doubles and stop words', () => {
  assert.equal(matchExpression('agt_01abc', 'What is C++, and is it "C"?'), 'agent : "agt01abc" AND {title text} : ("c")')
  assert.deepEqual(termsOf("O'Brien's été AND 2nd"), ['"o"', '"brien"', '"été"', '"2nd"'])
  assert.deepEqual(termsOf('申请退款 iPhone退了 款'), ['"申 请"', '"请 退"', '"退 款"', '"iphone"', '"退 了"', '"款"'])
  assert.deepEqual(termsOf('what is this'), ['"what"', '"is"', '"this"'])
  assert.equal(matchExpression('agt_01abc', '?!… 💶 \u0000"'), undefined)
})

void test('knowledge: whatever a message holds, its terms are at most 64, short, and hold no quote', () => {
  assert.equal(termsOf(Array.from({ length: 10_000 }, (_, n) => `word${n}`).join(' ')).length, 64)
  assert.equal(matchExpression('agt_01abc', 'x'.repeat(32_000)), undefined)
  fc.assert(
    fc.property(anyText(100), (text) => {
      const terms = termsOf(text)
      assert.ok(terms.length <= 64)
      for (const term of terms) assert.match(term, /^"[^"\0]{1,64}"$/)
    }),
  )
})

void test('knowledge: only characters of scripts without spaces are set apart in the index', () => {
  assert.equal(indexedText("plain text, O'Brien, été"), "plain text, O'Brien, été")
  assert.equal(indexedText('a退款b'), 'a 退  款 b')
  assert.equal(agentTerm('agt_01abc'), 'agt01abc')
})
