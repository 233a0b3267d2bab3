/** What is logged when a store is unavailable. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { createStoreWarnings } from '../../src/turn/store-warnings.ts'

void test('each kind of store error is logged immediately and then every ten seconds with its count, and its end once', () => {
  const lines: Record<string, unknown>[] = []
  let now = 0
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) })
  const warnings = createStoreWarnings(log, () => now)
  warnings.over()
  for (now = 0; now < 10_500; now += 100) warnings.warn('cannot keep', 'gone')
  warnings.warn('cannot admit', 'gone')
  warnings.over()
  warnings.over()
  warnings.warn('cannot keep', 'gone again')
  assert.deepEqual(
    lines.map(({ msg, times }) => [msg, times]),
    [
      ['cannot keep', 1],
      ['cannot keep', 100],
      ['cannot admit', 1],
      ['store available again', undefined],
      ['cannot keep', 1],
    ],
  )
})
