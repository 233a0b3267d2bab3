/**
 * A model's text as a terminal shows it: terminal escapes are neutralized, every script stays readable, and the result does not depend on
 * how the text is split.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readable, whyNot } from '../../src/cli/chat/chat-words.ts'
import { Talk } from '../../src/cli/chat/talk.ts'
import { WordWrap } from '../../src/cli/chat/word-wrap.ts'
import type { AdminClient } from '../../src/cli/admin-api/client.ts'
import { escapeForTerminal } from '../../src/cli/terminal/table.ts'

const england = '\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'

test('terminal text: Persian, joined emoji and flags are shown unchanged', () => {
  for (const text of ['می\u200cخواهم', '👩\u200d💻', england, `two ${england}${england}`]) assert.equal(escapeForTerminal(text), text)
})

test('terminal text: characters that control the terminal, are invisible or reverse text are escaped', () => {
  for (const [text, shown] of [
    ['\u001b[31m', '\\u{1b}[31m'],
    ['\u009b31m', '\\u{9b}31m'],
    ['a\u202eb\u2066c', 'a\\u{202e}b\\u{2066}c'],
    ['a\rb', 'a\\u{d}b'],
    // Without a flag they are hidden text, and so is a sequence that does not end a flag.
    ['a\u{e0067}\u{e007f}', 'a\\u{e0067}\\u{e007f}'],
    ['\u{1f3f4}\u{e0067}\u{e0062}', '\u{1f3f4}\\u{e0067}\\u{e0062}'],
    ['\ud83d', '\\u{d83d}'],
  ] as const)
    assert.equal(readable(text), shown)
})

test('terminal text: a reply that is split between any two units is shown as if it had arrived whole', () => {
  for (const text of ['one\r\ntwo \u{1f600} three\r\n', `${england} x`, `wins: ${england}`, 'a\rb \ud83d', '漢字\u{1f600}漢字', 'ends\r']) {
    const whole = shown([text])
    for (let cut = 1; cut < text.length; cut++) assert.equal(shown([text.slice(0, cut), text.slice(cut)]), whole, `${cut}`)
    assert.equal(shown(text.split('')), whole)
  }
  assert.equal(shown(['one\r', '\ntwo']), 'one\ntwo\n')
  assert.equal(shown(['a\r']), 'a\\u{d}\n')
})

test('terminal text: error codes and request ids from the server are escaped, too', async () => {
  const talk = new Talk({} as unknown as AdminClient, { id: 'agt_x' }, 'ann')
  for (const code of ['internal_error', 'odd\u009b31m']) {
    const words = await whyNot({ kind: 'refused', code, message: 'm', requestId: 'r\u009b2J' }, talk)
    assert.match(words, /r\\u\{9b\}2J/)
    assert.ok(!words.includes('\u009b'))
  }
})

function shown(pieces: string[]): string {
  let written = ''
  const wrap = new WordWrap(
    () => 80,
    (piece) => (written += piece),
  )
  for (const piece of pieces) wrap.push(piece)
  wrap.end()
  return written
}
