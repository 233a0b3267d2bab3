/** Reasoning that a server wrote into the text: removed wherever the pieces are split. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { VisibleText } from '../../src/agent/models/apis/visible-text.ts'

function answerOf(pieces: string[]): string {
  let answer = ''
  const block = new VisibleText({ onText: (text) => (answer += text), onReset: () => (answer = ''), holds: false })
  for (const piece of pieces) block.push(piece)
  block.end()
  return answer
}

void test('tools.private: a leading think block is never sent, and nothing else is removed', () => {
  assert.equal(answerOf(['<think>secret</think>\n\nHello']), 'Hello')
  assert.equal(answerOf([' \n<think></think>Hello']), 'Hello')
  assert.equal(answerOf(['Use <think>x</think> tags']), 'Use <think>x</think> tags')
  assert.equal(answerOf(['<thin']), '<thin')
  assert.equal(answerOf(['  indented']), '  indented')
  assert.equal(answerOf(['<think>never closed']), '')
  assert.equal(answerOf([' ', '\n<', 'thi', 'nk>secret</think>Hello']), 'Hello')
  assert.equal(answerOf([' ', '\n<', ' think>']), ' \n< think>')
  assert.equal(answerOf([' ', '\n', '<thi']), ' \n<thi')
})

void test('tools.private: a think block is found with any split of the stream', () => {
  const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\u00a0'), maxLength: 5 })
  const parts = fc.record({ space, reasoning: fc.string().filter((text) => !text.includes('<')), answer: fc.string({ minLength: 1 }) })
  fc.assert(
    fc.property(parts, fc.array(fc.nat(8), { maxLength: 40 }), fc.boolean(), ({ space, reasoning, answer }, cuts, thinks) => {
      const text = thinks ? `${space}<think>${reasoning}</think>${answer}` : `${space}x${answer}`
      const pieces: string[] = []
      let rest = text
      for (const length of cuts) {
        pieces.push(rest.slice(0, length))
        rest = rest.slice(length)
      }
      pieces.push(rest)
      assert.equal(answerOf(pieces), thinks ? answer.trimStart() : text)
    }),
  )
})

void test('tools.private: white space costs its length, before, inside and after a think block, in however many pieces it arrives', () => {
  const pieces = [' '.repeat(1_000_000), ...Array<string>(50_000).fill(' ')]
  for (const [before, after] of [
    ['', 'answer'],
    ['<think>', '</think>answer'],
    ['<think>x</think>', 'answer'],
  ] as const) {
    const from = process.cpuUsage()
    assert.equal(answerOf([before, ...pieces, after]).trimStart(), 'answer')
    const { user, system } = process.cpuUsage(from)
    assert.ok((user + system) / 1000 < 1000, `${(user + system) / 1000} ms of CPU`)
  }
})
