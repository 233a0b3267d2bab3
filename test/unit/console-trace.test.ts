/** How the console groups a trace: by attempt, and what each attempt did in the order of time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { groupByAttempt } from '../../packages/console/src/show/trace-attempts.ts'
import type { Span } from '../../packages/console/src/show/trace-attempts.ts'

const common = { run: 1, duration_ms: null }
const tool = (name: string, attempt: number | null, startMs: number | null): Span => ({
  ...common,
  type: 'tool_call',
  name,
  attempt,
  start_ms: startMs,
  recorded: 'journal',
  step: 1,
  part: 1,
  arguments: '{}',
  result: null,
  status: 'interrupted',
  journal: 'started',
})
const attempt = (number: number, end: 'process_died' | 'released'): Span => ({
  ...common,
  type: 'attempt',
  attempt: number,
  start_ms: null,
  end,
  cause_kind: null,
  cause: null,
})

test('console: a trace is grouped by attempt, in the order of time; a span without a time keeps its position', () => {
  const spans = [
    attempt(1, 'process_died'),
    tool('unknown', null, 5),
    tool('last', 2, 40),
    attempt(2, 'released'),
    tool('early', 2, 20),
    tool('next', 2, null),
  ]
  assert.deepEqual(
    groupByAttempt(spans).map(({ attempt: number, end, work }) => [
      number,
      end?.end,
      ...work.map((span) => span.type === 'tool_call' && span.name),
    ]),
    [
      [1, 'process_died'],
      [null, undefined, 'unknown'],
      [2, 'released', 'early', 'next', 'last'],
    ],
  )
})
