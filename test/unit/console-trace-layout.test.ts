/** How the console places the spans of a trace on one time axis, and which of them it shows first. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Span, SpanOf } from '../../packages/console/src/show/trace-attempts.ts'
import { axisOf, chosenRow, placeOn, rowsOf } from '../../packages/console/src/show/trace-layout.ts'

const first = { run: 1, attempt: 1 }
const attempt = (given: Partial<SpanOf<'attempt'>> = {}): Span => ({
  ...first,
  type: 'attempt',
  start_ms: 0,
  duration_ms: 1_000,
  end: 'completed',
  cause_kind: null,
  cause: null,
  ...given,
})
const admission: Span = { ...first, type: 'admission', start_ms: -1, duration_ms: 1, held_usd: '0.01000000' }
const model = (given: Partial<SpanOf<'model_call'>> = {}): Span => ({
  ...first,
  type: 'model_call',
  start_ms: 0,
  duration_ms: 400,
  recorded: 'trace',
  step: 1,
  number: 1,
  provider: 'p',
  model: 'm',
  parameters: { temperature: null, max_output_tokens: 10 },
  messages: [],
  tools: [],
  time_to_first_text_ms: 100,
  usage: null,
  finish_reason: 'stop',
  skipped: [],
  text: 'hi',
  tool_calls: [],
  error: null,
  ...given,
})
const tool = (given: Partial<SpanOf<'tool_call'>> = {}): Span => ({
  ...first,
  type: 'tool_call',
  start_ms: 400,
  duration_ms: 200,
  recorded: 'trace',
  step: 1,
  part: 1,
  name: 'look',
  arguments: '{}',
  result: 'x',
  status: 'answered',
  journal: 'finished',
  price_usd: null,
  ...given,
})
const failed = { error: { kind: 'unavailable', cause_kind: 'provider_503', message: 'no' } } as const

describe('console: the rows of a trace', () => {
  test('are an attempt and its spans in the order of time, with IDs that stay when the trace grows', () => {
    const spans = [attempt(), admission, model(), tool(), tool({ part: 2 })]
    const ids = rowsOf(spans).map(({ id }) => id)
    assert.deepEqual(ids, ['1.1', '1.1.admission', '1.1.model.1', '1.1.tool.1.1', '1.1.tool.1.2'])
    assert.deepEqual(
      rowsOf([...spans, model({ step: 2, start_ms: 600 })]).map(({ id }) => id),
      [...ids, '1.1.model.2'],
    )
  })

  test('have different IDs, whatever the journal repeats', () => {
    const rows = rowsOf([tool({ attempt: null }), tool({ attempt: null }), model(), model({ number: null })])
    assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length)
  })

  test('what a cancel stopped is cancelled, and what anything else stopped has failed', () => {
    const stopped = model({ error: { kind: 'stopped', cause_kind: null, message: 'stopped' }, finish_reason: null })
    const statusesOf = (end: SpanOf<'attempt'>['end'], span: Span): string[] => rowsOf([attempt({ end }), span]).map(({ status }) => status)
    // With text, the turn has completed.
    for (const end of ['completed', 'cancelled'] as const) {
      assert.deepEqual(statusesOf(end, stopped), ['cancelled', 'cancelled'])
      assert.deepEqual(statusesOf(end, tool({ status: 'interrupted', result: null, duration_ms: null })), ['cancelled', 'cancelled'])
    }
    assert.deepEqual(statusesOf('cancelled', model(failed)), ['cancelled', 'failed'])
    assert.deepEqual(statusesOf('completed', model(failed)), ['ok', 'failed'])
    for (const end of ['failed', 'released', 'process_died'] as const) assert.deepEqual(statusesOf(end, stopped), ['failed', 'failed'])
  })

  test('a running span ends at the present, and one whose end is not known has none', () => {
    const running = [attempt({ end: 'running', duration_ms: 50 }), model({ duration_ms: null, finish_reason: null })]
    const [head, call] = rowsOf(running, 700)
    assert.deepEqual([head!.status, head!.endMs, call!.status, call!.endMs], ['running', 700, 'running', 700])
    const [, stopped] = rowsOf([attempt(), model({ duration_ms: null, finish_reason: null })])
    assert.deepEqual([stopped!.status, stopped!.endMs], ['unknown', null])
  })

  test('between an attempt whose process died and the next one is a gap', () => {
    const died = attempt({ start_ms: null, duration_ms: null, end: 'process_died' })
    const next = { attempt: 2, start_ms: 13_000 }
    const rows = rowsOf([died, tool({ recorded: 'journal' }), attempt({ ...next }), model({ ...next })])
    const gap = rows.find(({ kind }) => kind === 'gap')!
    assert.deepEqual([gap.name, gap.status, gap.startMs, gap.endMs], ['Process died', 'failed', 600, 13_000])
  })
})

describe('console: the axis of a trace', () => {
  test('starts at the admission, also if it started before its commit', () => {
    const rows = rowsOf([attempt(), admission])
    const axis = axisOf(rows)!
    assert.deepEqual([axis.startMs, axis.endMs, placeOn(axis, -1), placeOn(axis, 1_000)], [-1, 1_000, 0, 1])
    assert.deepEqual(axis.ticks[0], { ms: 0, at: 0 })
  })

  test('shortens a gap that is much longer than the work, so that the work stays visible', () => {
    const next = { run: 2, start_ms: 3_600_000 }
    const rows = rowsOf([attempt({ end: 'released' }), model(failed), attempt(next), model(next)])
    const axis = axisOf(rows)!
    assert.ok(placeOn(axis, 1_000) > 0.4, 'the first run')
    assert.ok(placeOn(axis, 3_600_000) < 0.6, 'the second run')
    assert.ok(axis.ticks.length < 12, `${axis.ticks.length} ticks`)
  })

  test('is null if no time is known', () => {
    assert.equal(axisOf(rowsOf([attempt({ attempt: 2, start_ms: null, duration_ms: null, end: 'process_died' })])), null)
  })

  test('two traces of different length have the same scale', () => {
    const [short, long] = [rowsOf([attempt({ duration_ms: 100 })]), rowsOf([attempt({ duration_ms: 4_000 })])]
    assert.equal(placeOn(axisOf(short, 4_000)!, 100), placeOn(axisOf(long, 4_000)!, 100))
  })

  test('never leaves its width and never goes backward, whatever the times', () => {
    const time = fc.integer({ min: -50, max: 10_000_000 })
    const spans = fc.array(
      fc.record({ run: fc.integer({ min: 1, max: 4 }), start_ms: fc.option(time), duration_ms: fc.option(fc.nat({ max: 100_000 })) }),
      { minLength: 1, maxLength: 12 },
    )
    fc.assert(
      fc.property(spans, fc.array(time, { maxLength: 20 }), (given, times) => {
        const rows = rowsOf(given.flatMap((own, step) => [attempt({ ...own, end: 'released' }), model({ ...own, step })]))
        const axis = axisOf(rows)
        if (!axis) return
        const places = times.toSorted((one, other) => one - other).map((ms) => placeOn(axis, ms))
        assert.ok(places.every((place, index) => place >= 0 && place <= 1 && (index === 0 || place >= places[index - 1]!)))
        assert.ok(axis.ticks.every(({ at }) => at >= 0 && at <= 1) && axis.ticks.length < 100)
      }),
    )
  })
})

describe('console: what is selected first in a trace', () => {
  test('is the failed span of a turn without a reply, otherwise the last model call, and the one in the address before both', () => {
    const retried = [model({ ...failed }), model({ number: 2, start_ms: 500 })]
    const ofFailed = rowsOf([attempt({ end: 'failed' }), model(), tool({ status: 'error' }), model({ step: 2, start_ms: 700 })])
    assert.equal(chosenRow(ofFailed, null)!.id, '1.1.tool.1.1')
    const completed = rowsOf([attempt(), ...retried, tool()])
    assert.equal(chosenRow(completed, null)!.id, '1.1.model.1.2')
    assert.equal(chosenRow(completed, '1.1')!.id, '1.1')
    assert.equal(chosenRow(completed, 'gone')!.id, '1.1.model.1.2')
  })
})
