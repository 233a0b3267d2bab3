/** The conversation history in the prompt: a conversation can always continue, however small its model's context window is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

const tooLong = {
  status: 400,
  body: { error: { message: 'maximum context length is 4096 tokens', type: 'invalid_request_error', code: 'context_length_exceeded' } },
}

/** Sends this many messages, each answered, and returns how many messages of history each later model call had. */
async function talk(app: TestApp, exchanges: number): Promise<() => number[]> {
  for (let n = 1; n <= exchanges; n++) assert.equal((await app.chat(`message ${n}`)).status, 200)
  const before = app.model.calls.length
  return () => app.model.calls.slice(before).map(({ messages }) => messages.length - 2)
}

void test('history.fits: when a model rejects the prompt as too long, it is called again with the newer half of the exchanges, repeatedly', async () => {
  await using app = await startTestApp()
  const asked = await talk(app, 7)
  app.model.when(({ messages }) => messages.length > 4, tooLong)
  const { status, json } = await app.chat('and now?')
  assert.equal(status, 200, JSON.stringify(json))
  assert.deepEqual(asked(), [14, 6, 2])
  const kept = app.model.calls
    .at(-1)!
    .messages.slice(1)
    .map(({ content }) => content)
  assert.deepEqual(kept, ['message 7', 'You said: message 7', 'and now?'], 'the newest')
  assert.equal((await app.chat('and then?')).status, 200)
  assert.equal((await app.messages()).length, 18, 'nothing of the conversation is lost')
  await app.verify()
})

void test('history.fits: when even an empty history is too long, the request is refused; the conversation continues once its model accepts it', async () => {
  await using app = await startTestApp()
  const asked = await talk(app, 3)
  app.model.script(tooLong, tooLong, tooLong)
  const refused = await app.chat('and now?')
  assert.deepEqual([refused.status, refused.json.error.code], [500, 'internal_error'])
  assert.deepEqual(asked(), [6, 2, 0])
  assert.equal((await app.made('GET', `/turns/${refused.json.error.request_id}`)).state, 'released')
  assert.equal((await app.chat('and now?')).status, 200)
  await app.verify()
})

void test('history.fits: halving is not a retry: a failing model still gets its usual number of calls', async () => {
  await using app = await startTestApp()
  const asked = await talk(app, 2)
  app.model.script({ status: 503 }, tooLong, { status: 503 }, { status: 503 })
  const { status } = await app.chat('and now?')
  assert.equal(status, 200)
  assert.deepEqual(asked(), [4, 4, 2, 2, 2])
  await app.verify()
})
