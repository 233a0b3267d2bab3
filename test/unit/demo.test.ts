import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest, Passage } from '../../src/agent/models/model.ts'
import { createModels } from '../../src/agent/models/models.ts'
import { demoModel } from '../../src/agent/models/demo.ts'
import { estimatedTokens } from '../../src/agent/tokens.ts'
import { plainTokens } from '../support/token-kinds.ts'

const passage = (title: string, text: string, score = 1): Passage => ({ documentId: 'doc_1', title, section: '', text, score })
const returns = passage('Returns', 'Goods may be returned\nwithin 30 days.', 3)
const request = (changes: Partial<ModelRequest> = {}): ModelRequest => ({
  modelId: 'demo',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'How long may I return goods?' },
  ],
  tools: [],
  maxOutputTokens: 2048,
  temperature: null,
  passages: [returns],
  ...changes,
})
async function ask(changes: Partial<ModelRequest> = {}) {
  const pieces: string[] = []
  const step = await demoModel({ paceMs: 0 }).generate(request(changes), {
    signal: new AbortController().signal,
    onText: (text) => pieces.push(text),
  })
  assert.equal(pieces.join(''), step.text)
  return { step, pieces }
}

test('demo model: quotes the two best passages with their titles and says that it is a demo', async () => {
  const { step } = await ask({ passages: [returns, passage('Shipping', 'Three days.'), passage('Secret', 'Third best.')] })
  assert.match(step.text, /From "Returns":\n> Goods may be returned within 30 days\./)
  assert.match(step.text, /From "Shipping":\n> Three days\./)
  assert.doesNotMatch(step.text, /Third best/)
  assert.match(step.text, /not a language model/)
  assert.match(step.text, /npx --no-install turnkeep provider create/)
  assert.match(step.text, /in the console/)
})

test('demo model: says when no passage fits, and explains what to do next', async () => {
  const { step } = await ask({ passages: [] })
  assert.match(step.text, /Nothing in the knowledge base fits "How long may I return goods\?"/)
  assert.match(step.text, /not a language model/)
})

test('demo model: returns the same words, pieces and usage for the same request', async () => {
  assert.deepEqual(await ask(), await ask())
})

test('demo model: reports its usage and respects its output limit without splitting a character', async () => {
  const { step } = await ask()
  assert.deepEqual(step.usage, plainTokens(3 + 7, estimatedTokens(step.text)))
  assert.equal(step.finishReason, 'stop')

  const capped = await ask({ maxOutputTokens: 5, passages: [passage('Ä😀', '😀😀😀😀😀')] })
  assert.equal(capped.step.finishReason, 'length')
  assert.equal(capped.step.text, 'From "Ä😀":\n> ')
  assert.equal(capped.step.usage?.completionTokens, 5)
})

test('demo model: quotes a long passage in part and sends its pieces within a second', async () => {
  const { step, pieces } = await ask({ passages: [passage('Long', 'word '.repeat(5000)), passage('Solid', '😀'.repeat(5000))] })
  assert(step.text.length < 3000)
  assert(step.text.isWellFormed())
  assert(pieces.length <= 80)
})

test('demo model: stops at its signal with its reason, also at its usual pace', async () => {
  const models = createModels()
  const stopped = new AbortController()
  const reason = new Error('stop')
  const pieces: string[] = []
  const model = models.open({ kind: 'demo', baseUrl: null, apiKey: '' })
  const answer = model.generate(request(), {
    signal: stopped.signal,
    onText: (text) => {
      pieces.push(text)
      stopped.abort(reason)
    },
  })
  await assert.rejects(answer, (error) => error === reason)
  assert.equal(pieces.length, 1)
  await models.close()
})
