/** The stored form of a trace: what is encoded is decoded, and nothing makes it larger than its limit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { causeKinds } from '../../src/cause-kinds.ts'
import { TraceRecorder } from '../../src/agent/trace-recorder.ts'
import { decodeTrace, encodeTrace, maxTraceBytes } from '../../src/agent/trace.ts'
import type { Trace, TracedModelCall } from '../../src/agent/trace.ts'
import type { EncodedTrace } from '../../src/store/turn-records.ts'
import { plainTokens } from '../support/token-kinds.ts'

const bytesOf = (encoded: EncodedTrace): Buffer => Buffer.from(encoded as string)

const ms = fc.nat(200_000)
const text = fc.string({ unit: 'grapheme', maxLength: 300 })
const call = fc.record({ id: text, name: text, arguments: text })
const error = fc.record({
  kind: fc.constantFrom('unavailable', 'refused', 'too_long', 'stopped', 'internal'),
  causeKind: fc.option(fc.constantFrom(...causeKinds)),
  message: text,
})
const answer = fc.record({
  usage: fc.record({
    promptTokens: fc.nat(),
    cachedPromptTokens: fc.nat(),
    cacheWriteTokens: fc.nat(),
    completionTokens: fc.nat(),
    reasoningTokens: fc.nat(),
  }),
  usageEstimated: fc.boolean(),
  finishReason: fc.constantFrom('stop', 'length', 'tool_calls', 'other', 'refused', 'filtered'),
})
const modelCall: fc.Arbitrary<TracedModelCall> = fc.record({
  step: fc.nat(40),
  number: fc.nat(9),
  startMs: ms,
  firstTextMs: fc.option(ms),
  ms: fc.option(ms),
  historyMessages: fc.nat(99),
  answer: fc.option(answer),
  error: fc.option(error),
  text: fc.option(text),
  asked: fc.option(fc.array(call, { minLength: 1 })),
  skipped: fc.array(fc.record({ what: text, count: fc.nat() }), { maxLength: 3 }),
}) as fc.Arbitrary<TracedModelCall>
const passage = fc.record({
  documentId: text,
  title: text,
  section: text,
  text,
  used: fc.boolean(),
  score: fc.integer({ min: 0, max: 100_000 }).map((score) => score / 1000),
})
const trace: fc.Arbitrary<Trace> = fc.record({
  attempt: fc.integer({ min: 1, max: 3 }),
  waitMs: ms,
  endMs: ms,
  cut: fc.boolean(),
  firstHold: fc.bigInt(0n, 2n ** 63n - 1n),
  lastHold: fc.bigInt(0n, 2n ** 63n - 1n),
  retrieval: fc.option(fc.record({ startMs: ms, ms, passages: fc.array(passage, { maxLength: 6 }) })),
  modelCalls: fc.array(modelCall, { maxLength: 6 }),
  toolCalls: fc.array(
    fc.record({
      step: fc.nat(40),
      part: fc.nat(99),
      startMs: ms,
      ms: fc.option(ms),
      result: fc.option(fc.record({ text, isError: fc.boolean() })),
    }),
    { maxLength: 6 },
  ),
})

void test('trace.stored: what is encoded is decoded, short and compressed', () => {
  let compressed = 0
  fc.assert(
    fc.property(trace, (given) => {
      const encoded = encodeTrace(given)
      if (typeof encoded !== 'string') compressed++
      assert.deepEqual(decodeTrace(bytesOf(encoded)), structuredClone(given))
    }),
  )
  assert.ok(compressed > 0)
})

const simple: Trace = {
  attempt: 1,
  waitMs: 1,
  endMs: 20,
  firstHold: 1000n,
  lastHold: 1000n,
  cut: false,
  toolCalls: [],
  retrieval: { startMs: 0, ms: 1, passages: [] },
  modelCalls: [
    {
      step: 1,
      number: 1,
      startMs: 1,
      firstTextMs: 5,
      ms: 18,
      historyMessages: 4,
      error: null,
      text: null,
      asked: null,
      skipped: [],
      answer: { usage: plainTokens(412, 18), usageEstimated: false, finishReason: 'stop' },
    },
  ],
}

void test('trace.stored: the trace of a simple turn is short text', () => {
  const encoded = encodeTrace(simple)
  assert.equal(typeof encoded, 'string')
  assert.ok(encoded.length < 100, `${encoded.length} bytes`)
})

// Control characters take six bytes in JSON, and the others three.
for (const letter of ['a', '\u0001', '語', '\u{1f939}'])
  void test(`trace.stored: a trace has a maximum size: ${JSON.stringify(letter)}`, () => {
    const long = letter.repeat(1_000_000)
    const failed = { ...simple.modelCalls[0]!, answer: null, error: { kind: 'refused' as const, causeKind: null, message: 'no' } }
    const source = { documentId: 'doc_1', title: long, section: long, score: 1, used: true }
    const large: Trace = {
      ...simple,
      modelCalls: [{ ...failed, text: long, asked: Array.from({ length: 1000 }, () => ({ id: long, name: long, arguments: long })) }],
      toolCalls: [{ step: 1, part: 1, startMs: 1, ms: 1, result: { text: long, isError: false } }],
      retrieval: { startMs: 0, ms: 1, passages: Array.from({ length: 50 }, () => ({ ...source, text: long })) },
    }
    const encoded = bytesOf(encodeTrace(large))
    assert.ok(encoded.length <= maxTraceBytes, `${encoded.length} bytes`)
    const decoded = decodeTrace(encoded)!
    assert.equal(decoded.cut, true)
    assert.deepEqual(decoded.modelCalls[0]!.error, failed.error, 'what explains the failure stays')
    assert.ok(decoded.modelCalls[0]!.text!.length > 10_000)
    assert.equal(decoded.retrieval!.passages.length, 50)
    assert.doesNotMatch(JSON.stringify([decoded.modelCalls, decoded.retrieval]), /\\ud[89a-f]/, 'no half of a character')
  })

void test('trace.stored: a trace of a newer release is not read', () => {
  assert.equal(decodeTrace(Buffer.from('[2,{"anything":true}]')), undefined)
})

const step = (text_: string) => ({
  step: 1,
  text: text_,
  toolCalls: [{ id: 'a', name: 'look', arguments: '{}' }],
  usageEstimated: false,
  usage: plainTokens(1, 1),
  bound: { promptTokens: 1, completionTokens: 1 },
})

void test('trace.stored: what the journal or the reply has is not in the trace; what neither has, is', () => {
  const recorded = (journaled: boolean, hasReply: boolean): Trace => {
    const recorder = new TraceRecorder({ attempt: 1, hold: 5n }, 1.4)
    recorder.callingModel(1, 2)
    recorder.textArrived()
    recorder.modelAnswered(step('Let me see.'), { finishReason: 'tool_calls' })
    if (journaled) recorder.journaled([{ step: 1, part: 0, kind: 'model', payload: '' }])
    recorder.callingTool(1, 1)({ text: 'it is free', isError: false, ms: 1, citations: [] })
    if (journaled) recorder.journaled([{ step: 1, part: 1, kind: 'tool_finished', payload: '' }])
    return recorder.trace(7n, hasReply)
  }
  const asked = [{ id: 'a', name: 'look', arguments: '{}' }]
  const unstored = ({ modelCalls: [call_], toolCalls: [made] }: Trace) => [call_!.text, call_!.asked, made!.result?.text]
  assert.deepEqual(unstored(recorded(true, false)), [null, null, undefined])
  assert.deepEqual(unstored(recorded(false, false)), ['Let me see.', asked, 'it is free'])
  assert.deepEqual(unstored(recorded(false, true)), [null, asked, 'it is free'])
  assert.deepEqual([recorded(true, true).firstHold, recorded(true, true).lastHold, recorded(true, true).waitMs], [5n, 7n, 1])
})

void test('trace.stored: a call that was stopped while it waited for a retry was not made', () => {
  const recorder = new TraceRecorder({ attempt: 1, hold: 0n }, 0)
  recorder.callingModel(1, 0)
  recorder.modelFailed(new Error('first'))
  recorder.callingModel(1, 0, 60_000)
  recorder.modelFailed(new Error('stopped'), { stopped: true })
  assert.deepEqual(
    recorder.trace(0n, false).modelCalls.map(({ number, error: failure }) => [number, failure]),
    [[1, { kind: 'internal', causeKind: null, message: 'first' }]],
  )
})
