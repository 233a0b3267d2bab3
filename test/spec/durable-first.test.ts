/**
 * `turn.durable-first` over HTTP: what a caller, a tool and the model see while an admission is written and not durable, and what is left
 * of it if it is not stored.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import { call, threeTools } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'

// Long enough for a model to answer, if it has been called before.
const flushMs = 600

const isPending = async (promise: Promise<unknown>, ms: number): Promise<boolean> =>
  (await Promise.race([promise.then(() => false), wait(ms, true)])) === true

for (const transport of ['chat', 'stream'] as const) {
  void test(`turn.durable-first stream.established: during the flush of an admission, the model answers on ${transport}; the caller has no header, and no tool is called`, async (t) => {
    const tools = await startToolServer()
    t.after(() => tools.close())
    const env = { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address, TURNKEEP_FAILPOINTS: `admit.early=delay:${flushMs}` }
    await using app = await startTestApp({ env, agent: { tools: threeTools(tools) }, earlyRuns: true })
    app.model.when('hello', ['Let me look. ', call('look', { day: 'Monday' })])
    app.model.when(
      ({ messages }) => messages.some(({ role }) => role === 'tool'),
      () => 'It is free.',
    )
    assert.equal((await app.chat('hello')).status, 200)
    const path = transport === 'chat' ? 'chat' : 'chat/stream'
    // The process learns that the admission is durable when the test has looked, however late that is.
    const { store } = app.app
    const admitMany = store.admitMany.bind(store)
    let flushed = gate()
    store.admitMany = async (...items) => {
      const outcomes = await admitMany(...items)
      await flushed.pass()
      return outcomes
    }
    let [messages, isEarly] = [1, false]
    // Beside another write of the process, an admission is not reported early, and not delayed.
    for (; messages < 8 && !isEarly; messages++) {
      flushed = gate()
      const called = tools.calls.length
      const answered = app.model.nextCall().then(({ ended }) => ended)
      const response = app.chatRequest({ external_user_id: 'user-1', message: 'hello' }, { idempotencyKey: randomUUID(), path })
      const first = await Promise.race([answered, flushed.reached.then(() => 'flushed')])
      isEarly = first !== 'flushed'
      if (isEarly) {
        assert.equal(first, 'answered', 'the model has answered')
        await flushed.reached
        assert.ok(await isPending(response, 100), 'no header')
        assert.equal(tools.calls.length, called, 'no tool, not even one without side effects')
      }
      flushed.open()
      assert.match(await (await response).text(), /It is free\./)
    }
    assert.ok(isEarly, 'never reported early')
    assert.deepEqual([tools.calls.length, app.model.calls.length], [messages, 2 * messages])
    assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, messages)
    await app.verify()
  })
}

void test('turn.durable-first: an admission that is rolled back after its model was called is admitted again: one reply, one charge', async () => {
  await using app = await startTestApp({ earlyRuns: true, env: { TURNKEEP_FAILPOINTS: `admit.early=delay:${flushMs}; admit.early=throw` } })
  app.model.when('hello', ['one ', 'two'])
  let messages = 0
  // Beside another write of the process, an admission is not reported early.
  for (; messages < 8 && app.model.calls.length === messages; messages++) {
    const { status, json } = await app.chat('hello')
    assert.deepEqual([status, json.message?.content], [200, 'one two'])
  }
  assert.equal(app.model.calls.length, messages + 1)
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, messages)
  assert.equal((await app.messages()).length, 2 * messages)
  await app.verify()
})
