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

// Long enough for a model to answer and a tool to be called on a busy machine, if both have been called before.
const flushMs = 600

const isPending = async (promise: Promise<unknown>): Promise<boolean> =>
  (await Promise.race([promise.then(() => false), wait(flushMs / 2, true)])) === true

for (const transport of ['chat', 'stream'] as const) {
  void test(`turn.durable-first stream.established: during the flush of an admission, the model answers on ${transport}; the caller has no header, and no tool is called`, async (t) => {
    const tools = await startToolServer()
    t.after(() => tools.close())
    const env = { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address, TURNKEEP_FAILPOINTS: `admit.early=delay:${flushMs}` }
    await using app = await startTestApp({ env, agent: { tools: threeTools(tools) } })
    app.model.when('hello', ['Let me look. ', call('look', { day: 'Monday' })])
    app.model.when(
      ({ messages }) => messages.some(({ role }) => role === 'tool'),
      () => 'It is free.',
    )
    assert.equal((await app.chat('hello')).status, 200)
    const path = transport === 'chat' ? 'chat' : 'chat/stream'
    const response = app.chatRequest({ external_user_id: 'user-1', message: 'hello' }, { idempotencyKey: randomUUID(), path })
    const during = (await app.model.waitForCalls(3))[2]!
    assert.equal(await during.ended, 'answered')
    assert.ok(await isPending(response), 'no header')
    assert.equal(tools.calls.length, 1, 'no tool, not even one without side effects')
    assert.match(await (await response).text(), /It is free\./)
    assert.deepEqual([tools.calls.length, app.model.calls.length], [2, 4])
    assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 2)
    await app.verify()
  })
}

void test('turn.durable-first: an admission that is rolled back after its model was called is admitted again: one reply, one charge', async () => {
  await using app = await startTestApp({ env: { TURNKEEP_FAILPOINTS: `admit.early=delay:${flushMs}@2; admit.early=throw@2` } })
  app.model.when('hello', ['one ', 'two'])
  assert.equal((await app.chat('hello')).status, 200)
  const { status, json } = await app.chat('hello')
  assert.deepEqual([status, json.message?.content], [200, 'one two'])
  assert.equal(app.model.calls.length, 3)
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 2)
  assert.equal((await app.messages()).length, 4)
  await app.verify()
})

void test('turn.durable-first: an admission that is not stored aborts its model call: an error, nothing stored or held, and the same key is free', async () => {
  const failpoints = `admit.early=delay:${flushMs}@2; admit.early=throw@2; admit.before-commit=throw@3`
  await using app = await startTestApp({ env: { TURNKEEP_FAILPOINTS: failpoints } })
  assert.equal((await app.chat('before', { user: 'user-0' })).status, 200)
  const held = gate()
  app.model.script(['one ', held, 'two'])
  const idempotencyKey = randomUUID()
  const refused = await app.stream('hello', { idempotencyKey })
  assert.deepEqual([refused.status, refused.json.error?.code], [500, 'internal_error'])
  assert.equal(await app.model.calls[1]!.ended, 'aborted')
  assert.equal((await app.query('select 1 from turns')).length, 1)
  assert.equal((await app.owner()).held_usd, '0.00000000')
  held.open()
  assert.equal((await app.chat('hello', { idempotencyKey })).status, 200)
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 2)
  await app.verify()
})
