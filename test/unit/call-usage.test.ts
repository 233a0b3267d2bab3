/** Usage of calls that end early: in each dialect, after any prefix of the stream, with usage in any event. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Asked } from '../../src/agent/call-usage.ts'
import { AnthropicAnswer } from '../../src/agent/models/apis/anthropic-answer.ts'
import { ChatAnswer } from '../../src/agent/models/apis/chat-answer.ts'
import type { AnswerOptions, CollectedAnswer } from '../../src/agent/models/apis/collected-answer.ts'
import { GeminiAnswer } from '../../src/agent/models/apis/gemini-answer.ts'
import { ResponsesAnswer } from '../../src/agent/models/apis/responses-answer.ts'
import type { ModelStep, ModelUsage } from '../../src/agent/models/model.ts'
import type { Dialect } from '../../src/agent/models/transport/answer-body.ts'
import { Steps } from '../../src/agent/steps.ts'
import { answerKinds } from '../support/dialect-answers.ts'
import type { AnswerKind } from '../support/dialect-answers.ts'
import { textEvent, usageFields } from '../support/usage-events.ts'

type Json = Record<string, unknown>
type Reader = Dialect & { readonly answer: CollectedAnswer; step(): ModelStep }

const readers: Record<AnswerKind, (options: AnswerOptions) => Reader> = {
  anthropic: (options) => new AnthropicAnswer(options),
  google: (options) => new GeminiAnswer(options),
  openai: (options) => new ResponsesAnswer(options),
  'openai-compatible': (options) => new ChatAnswer(options),
}

const asked: Asked = { prompt: [{ role: 'user', content: 'x'.repeat(400) }], toolTokens: 0, maxOutputTokens: 1000 }
const counts = (usage: ModelUsage) => [usage.promptTokens, usage.cachedPromptTokens, usage.completionTokens]

function start(kind: AnswerKind): { steps: Steps; read: (event: Json) => void; reader: Reader } {
  const steps = new Steps([], 0)
  const reader = readers[kind]({
    onText: (text) => void steps.append(text),
    onGenerated: (bytes) => steps.noteGenerated(bytes),
    secret: '',
    request: { maxOutputTokens: asked.maxOutputTokens, tools: [] },
  })
  steps.readReports(() => reader.answer.usage.soFar())
  return { steps, reader, read: (event) => reader.data(JSON.stringify(event), '') }
}

const pieces = 6
const piece = 'twelve bytes'

for (const kind of answerKinds) {
  void test(`turn.cancel billing.token-kinds: after any prefix of a stream (${kind}), reported tokens are the charge and the rest is estimated`, () => {
    for (let prefix = 1; prefix <= pieces; prefix++)
      for (let reported = 0; reported <= pieces; reported++)
        for (const counted of [true, false]) {
          const { steps, read } = start(kind)
          for (let n = 1; n <= prefix; n++) {
            const completion = counted ? 10 + n : undefined
            read(textEvent(kind, piece, n === reported ? { prompt: 150, cached: 60, completion } : undefined))
          }
          const usage = steps.endEarly(asked)
          const isReported = reported > 0 && reported <= prefix
          const completion = isReported && counted ? 10 + reported + 3 * (prefix - reported) : 3 * prefix
          const where = `prefix ${prefix}, usage in ${reported}, with completion tokens: ${counted}`
          assert.deepEqual(counts(usage), isReported ? [150, 60, completion] : [100, 0, 3 * prefix], where)
          assert.equal(steps.usageEstimated, !(isReported && counted && reported === prefix), where)
        }
  })
}

void test('turn.cancel: the first event of Anthropic has the prompt, of which a part was cached', () => {
  const { steps, read } = start('anthropic')
  const usage = { input_tokens: 60, cache_read_input_tokens: 80, cache_creation_input_tokens: 10, output_tokens: 1 }
  read({ type: 'message_start', message: { content: [], usage } })
  assert.deepEqual(counts(steps.endEarly(asked)), [150, 80, 0], 'before any text')
  read({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'four' } })
})

void test('turn.cancel: zeros, invalid counts and impossible kinds are not believed, and what was reported stays within the limit of the call', () => {
  const end = (usage: Json): [Steps, ModelUsage] => {
    const { steps, read } = start('openai-compatible')
    read({ choices: [{ index: 0, delta: { content: piece } }], usage })
    return [steps, steps.endEarly(asked)]
  }
  for (const usage of [
    { prompt_tokens: 0, completion_tokens: 0 },
    { prompt_tokens: -5, completion_tokens: 'many' },
    { prompt_tokens: null },
  ])
    assert.deepEqual(counts(end(usage)[1]), [100, 0, 3])
  const [impossible, usage] = end({ prompt_tokens: 150, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 151 } })
  assert.deepEqual([counts(usage), impossible.usageEstimated], [[150, 0, 9], true])
  const [absurd, limited] = end({ prompt_tokens: 1e9, completion_tokens: 1e9, prompt_tokens_details: { cached_tokens: 1e8 } })
  assert.deepEqual([counts(limited), absurd.usageEstimated], [[2 * 208 + 4096, 0, 1000], true])
})

void test('turn.cancel billing.unpaid: failed attempts count as unpaid, and the text of the last one is charged without them', () => {
  const { steps, read } = start('openai-compatible')
  const after = (completion: number) => ({ prompt: 150, cached: 60, completion })
  read({ choices: [{ index: 0, delta: { reasoning: piece } }], usage: usageFields('openai-compatible', after(7)) })
  steps.failAttempt()
  const again = readers['openai-compatible']({
    onText: (text) => void steps.append(text),
    onGenerated: (bytes) => steps.noteGenerated(bytes),
    secret: '',
    request: { maxOutputTokens: 1000, tools: [] },
  })
  steps.readReports(() => again.answer.usage.soFar())
  again.data(JSON.stringify(textEvent('openai-compatible', piece, after(5))), '')
  assert.deepEqual(counts(steps.endEarly(asked)), [150, 60, 12], 'unpaid, with the prompt counted once')
  assert.deepEqual([counts(steps.generated.usage), steps.generated.usageEstimated], [[150, 60, 5], false], 'charged')
})

void test('billing.usage-missing: of a complete reply with one total, that total counts, and the other is estimated', () => {
  const { steps, read, reader } = start('openai-compatible')
  read({ choices: [{ index: 0, delta: { content: piece }, finish_reason: 'stop' }], usage: { prompt_tokens: 150 } })
  const step = steps.add(reader.step(), asked)
  assert.deepEqual([counts(step.usage), step.usageEstimated], [[150, 0, 3], true])
})
