/** Which words of a passage the console highlights. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { highlight } from '../../packages/console/src/pages/knowledge/highlight.ts'
import { anyText } from '../support/any-text.ts'

const marked = (text: string, query: string): string[] =>
  highlight(text, query)
    .filter((piece) => piece.marked)
    .map((piece) => piece.text)

void test('console: the pieces of a highlighted text add up to the text, whatever it and the query contain', () => {
  fc.assert(
    fc.property(anyText(200), anyText(60), (text, query) => {
      assert.equal(
        highlight(text, query)
          .map((piece) => piece.text)
          .join(''),
        text,
      )
    }),
  )
})

const cases: { query: string; text: string; found: string[] }[] = [
  { query: 'How are returning orders paid?', text: 'Returns of an ORDER are paid back.', found: ['Returns', 'ORDER', 'paid'] },
  { query: 'policies', text: 'Our policy, their Policies.', found: ['policy', 'Policies'] },
  { query: 'resume', text: 'Send a résumé.', found: ['résumé'] },
  { query: 'api key', text: 'The API key; apiary, keyboard', found: ['API', 'key'] },
  { query: 'what is the', text: 'The what', found: ['The', 'what'] },
  { query: '退款', text: '关于退款政策。', found: ['退款'] },
  { query: '<b>.*', text: 'a <b> b', found: ['b', 'b'] },
  { query: '...', text: 'Nothing to find ...', found: [] },
]

for (const { query, text, found } of cases)
  void test(`console: "${query}" highlights ${found.length === 0 ? 'nothing' : found.join(', ')}`, () => {
    assert.deepEqual(marked(text, query), found)
  })
