/** The journal's payloads: what one process writes another reads, also from an older release. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finishedEntry, modelEntry, readJournal, startedEntry } from '../../src/agent/journal.ts'
import type { Step } from '../../src/agent/journal.ts'
import { Steps } from '../../src/agent/steps.ts'
import type { Asked } from '../../src/agent/call-usage.ts'
import { plainTokens } from '../support/token-kinds.ts'

const asked: Asked = { prompt: [{ role: 'user', content: '12345678' }], toolTokens: 100, maxOutputTokens: 200 }
const usage = plainTokens(10, 2)
const step = (number: number, rest: Partial<Step> = {}): Step => ({
  step: number,
  text: '',
  toolCalls: [
    { id: 'a', name: 'book', arguments: '{}' },
    { id: 'b', name: 'look', arguments: '{' },
  ],
  usage,
  usageEstimated: false,
  bound: { promptTokens: 50, completionTokens: 100 },
  ...rest,
})
const result = { text: 'done', isError: false, ms: 7, citations: [{ documentId: 'doc_1', title: 'T', section: 'S' }] }

void test('tools.journal: steps are read with the calls that have finished, and nothing else', () => {
  const first = step(1, { text: 'Let me see.', continuation: { thoughts: ['sealed'] } })
  const second = step(2)
  const [one] = readJournal([
    modelEntry(first),
    startedEntry(first, 1),
    finishedEntry(first, 1, result),
    finishedEntry(first, 2, { ...result, isError: true }),
  ])
  assert.deepEqual(one, {
    ...first,
    toolCalls: [
      { ...first.toolCalls[0], result },
      { ...first.toolCalls[1], result: { ...result, isError: true } },
    ],
  })
  const [, open] = readJournal([modelEntry(first), modelEntry(second), startedEntry(second, 1), finishedEntry(second, 2, result)])
  assert.equal(open!.toolCalls[0]!.result, undefined)
  assert.deepEqual(open!.toolCalls[1]!.result, result)
})

void test('tools.journal: continuing counts steps, tokens, calls and text of all steps, and returns the continuation', () => {
  const first = step(1, { text: 'One.', continuation: 'sealed' })
  const steps = new Steps(
    [modelEntry(first), finishedEntry(first, 1, result), finishedEntry(first, 2, result), modelEntry(step(2, { text: 'Two.' }))],
    0,
  )
  assert.equal(steps.text, 'One.\n\nTwo.')
  assert.equal(steps.append('Three.'), '\n\nThree.')
  assert.deepEqual(steps.usage, plainTokens(20, 4))
  assert.equal(steps.callsBefore(steps.last!), 2)
  assert.deepEqual(steps.citations, [result.citations[0], result.citations[0]])
  const [said, reported] = steps.messages()
  assert.deepEqual(said, { role: 'assistant', content: 'One.', toolCalls: first.toolCalls, continuation: 'sealed' })
  assert.deepEqual(reported, { role: 'tool', toolCallId: 'a', content: 'done' })
  const next = steps.add({ text: 'Three.', toolCalls: [], finishReason: 'stop', usage }, asked)
  assert.equal(next.step, 3)
  assert.deepEqual(next.bound, { promptTokens: 8 + 4 + 100, completionTokens: 200 })
  assert.deepEqual(steps.bound, { promptTokens: 50 + 50 + 112, completionTokens: 400 })
})

void test('tools.journal: a step of a release before tools had its results beside its calls', () => {
  const payload = JSON.stringify({
    text: '',
    toolCalls: [{ id: 'a', name: 'x', arguments: '{}', result: 'Error: no tool' }],
    usage,
    usageEstimated: true,
  })
  const [one] = readJournal([{ step: 1, part: 0, kind: 'model', payload }])
  assert.deepEqual(one!.toolCalls[0]!.result, { text: 'Error: no tool', isError: true, ms: 0, citations: [] })
  assert.deepEqual(one!.bound, { promptTokens: 0, completionTokens: 0 })
})

void test("text.well-formed: a model's calls are cleaned before they are journaled or sent back", () => {
  const steps = new Steps([], 0)
  const { toolCalls } = steps.add(
    { text: '', toolCalls: [{ id: 'a\0', name: 'lo\ud800ok', arguments: '{"a":"\0\udc00"}' }], finishReason: 'tool_calls', usage },
    asked,
  )
  assert.deepEqual(toolCalls, [{ id: 'a', name: 'lo\ufffdok', arguments: '{"a":"\ufffd"}' }])
})
