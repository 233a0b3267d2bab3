/** What a command shows while it works: a line that changes on a terminal, plain lines now and then elsewhere. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { showProgress } from '../../src/cli/data/progress.ts'

function screen(isTTY: boolean) {
  let at = 0
  const written: string[] = []
  const progress = showProgress('rows', { isTTY, columns: 80, write: (text) => written.push(text) }, () => at)
  const tell = (ms: number, phase: string, done: number): void => {
    at = ms
    progress.tell({ phase, part: 'turns', done, of: 1_000 })
  }
  return { written, progress, tell }
}

void test('progress: on a terminal one line is redrawn, not too often, never wider than it, and cleared at the end', () => {
  const { written, progress, tell } = screen(true)
  tell(0, 'reading', 0)
  tell(10, 'reading', 5)
  tell(2_000, 'reading', 500)
  tell(2_010, 'copying', 0)
  progress.end()
  assert.equal(written.length, 4)
  assert.ok(written.every((text) => text.startsWith('\r') && text.endsWith('\u001b[K') && !text.includes('\n') && text.length <= 80 + 4))
  assert.match(written[1]!, /^\rreading █{12}░{12}\s+50 % {2}500 of 1,000 rows, 250 rows\/s {2}turns/)
  assert.match(written[2]!, /^\rcopying ░{24} +0 %/)
  assert.equal(written[3], '\r\u001b[K')
})

void test('progress: elsewhere a line for each phase and every few seconds, without cursor control', () => {
  const { written, progress, tell } = screen(false)
  tell(0, 'reading', 0)
  tell(1_000, 'reading', 100)
  tell(6_000, 'reading', 600)
  tell(6_001, 'copying', 0)
  progress.end()
  assert.deepEqual(written, [
    'reading   0 %  0 of 1,000 rows  turns\n',
    'reading  60 %  600 of 1,000 rows, 100 rows/s  turns\n',
    'copying   0 %  0 of 1,000 rows  turns\n',
  ])
})

void test('progress: when only the percentage is known, only that is shown', () => {
  const written: string[] = []
  const progress = showProgress(undefined, { write: (text) => written.push(text) }, () => 0)
  progress.tell({ phase: 'indexing', part: 'handbook.pdf', done: 40, of: 100 })
  assert.deepEqual(written, ['indexing  40 %  handbook.pdf\n'])
})
