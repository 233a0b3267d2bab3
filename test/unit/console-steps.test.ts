/** How the console groups a turn's journal into steps and calls. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatherSteps } from '../../packages/console/src/show/gather-steps.ts'

type Line = Parameters<typeof gatherSteps>[0][number]

const at = { run: 1, step: 1, created_at: '2026-01-01T00:00:00.000Z' }
const usage = {
  prompt_tokens: 10,
  completion_tokens: 2,
  prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
  estimated: false,
}
const model: Line = {
  ...at,
  part: 0,
  kind: 'model',
  payload: {
    text: '',
    tool_calls: ['look', 'book', 'fail', 'wait'].map((name) => ({ name, arguments: '{}' })),
    usage,
  },
}
const call = (name: string, reported: { result: string | null; is_error: boolean | null; ms: number | null }): Line['payload'] => ({
  name,
  step: 1,
  arguments: '{}',
  price_usd: null,
  ...reported,
})

void test('console: a call is done, an error, of unknown outcome, or only requested', () => {
  const lines: Line[] = [
    model,
    { ...at, part: 1, kind: 'tool_finished', payload: call('look', { result: 'seen', is_error: false, ms: 12 }) },
    { ...at, part: 2, kind: 'tool_started', payload: call('book', { result: null, is_error: null, ms: null }) },
    { ...at, part: 3, kind: 'tool_started', payload: call('fail', { result: null, is_error: null, ms: null }) },
    { ...at, part: 3, kind: 'tool_finished', payload: call('fail', { result: 'no', is_error: true, ms: 3 }) },
  ]
  const [step, ...more] = gatherSteps(lines)
  assert.equal(more.length, 0)
  assert.deepEqual(step?.model?.usage, usage)
  assert.deepEqual(
    step?.calls.map(({ name, outcome, result, ms }) => [name, outcome, result, ms]),
    [
      ['look', 'done', 'seen', 12],
      ['book', 'unknown', null, null],
      ['fail', 'error', 'no', 3],
      ['wait', 'asked', null, null],
    ],
  )
})

void test('console: the first steps of two runs are two steps, and a call whose model part was deleted is still shown', () => {
  const lines: Line[] = [model, { ...at, run: 2, part: 1, kind: 'tool_started', payload: null }]
  assert.deepEqual(
    gatherSteps(lines).map(({ run, model: answer, calls }) => [run, answer !== null, calls.length, calls[0]?.outcome]),
    [
      [1, true, 4, 'asked'],
      [2, false, 1, 'unknown'],
    ],
  )
})
